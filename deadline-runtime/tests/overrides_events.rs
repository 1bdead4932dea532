//! What is said of an override.
//!
//! In a binary of its own: a callsite that another test reaches first, on a thread where nobody listens, may be taken for one that
//! nobody wants.
#![allow(missing_docs, clippy::pedantic)]

#[path = "common/overridden.rs"]
mod overridden;
#[path = "http_support/mod.rs"]
mod support;

use deadline_runtime::Overrides;
use overridden::ended;

#[tokio::test(start_paused = true)]
async fn each_warning_is_said_once() {
    let (events, _guard) = support::Events::listen();
    let warnings = || {
        let mut said: Vec<String> = events
            .all()
            .iter()
            .filter(|event| event.get("message").starts_with("override: "))
            .map(|event| format!("{} written={}", event.get("message"), event.get("written")))
            .collect();
        said.sort_unstable();
        said
    };
    let overrides: Overrides = "load_profile=5s".parse().unwrap();
    for _ in 0..3 {
        let _ = ended(&overrides).await;
    }
    let said = warnings();
    assert_eq!(said.len(), 2, "{said:#?}");
    assert!(
        said[0].contains("longer than what its caller has left"),
        "{said:#?}"
    );
    assert!(said[1].contains("the sums checked by the compiler count what is written"));
    assert!(said[1].contains("written=450ms"), "{said:#?}");
    overrides.set("load_profile=100ms").unwrap();
    let _ = ended(&overrides).await;
    assert_eq!(warnings().len(), 3);
}
