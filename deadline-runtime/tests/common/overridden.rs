//! A request with overrides, and one function in it that never ends by itself.

use std::future::pending;
use std::time::Duration;

use deadline_runtime::__rt::{Scoped, Spec};
use deadline_runtime::{Budget, Context, Millis, Overrides, Stopped};
use tokio::time::Instant;

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn root(overrides: &Overrides) -> Context {
    Context::builder("root")
        .budget(Budget::new(ms(1_000)))
        .overrides(overrides)
        .build()
}

/// Written with 450 ms, of which 100 are reserved.
pub(crate) async fn load_profile() -> Result<(), Stopped> {
    static SCOPE: Spec<Millis<450>> = Spec::new("load_profile").reserve(100);
    Scoped::<_, Millis<450>>::new(SCOPE.here(), async {
        pending::<Result<(), Stopped>>().await
    })
    .await
}

pub(crate) async fn ended(overrides: &Overrides) -> (Duration, Stopped) {
    let start = Instant::now();
    let stopped = root(overrides)
        .run(load_profile())
        .await
        .unwrap()
        .unwrap_err();
    (start.elapsed(), stopped)
}
