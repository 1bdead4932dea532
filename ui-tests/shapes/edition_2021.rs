//! What is legal in edition 2021 and means something else in another.
use crate::support::{Failure, Log, Noisy, later, run, tick};
use deadline_runtime::deadline;

// shape: edition_2021_gen — `gen` as a name
#[deadline(budget = "1s")]
#[allow(keyword_idents_2024)]
async fn reserved_later(gen: u32) -> Result<u32, Failure> {
    Ok(later(gen).await)
}

// shape: edition_2021_if_let_scope — temporaries of an `if let` scrutinee live through the else block
twin!(if_let_ours, if_let_plain, (log: Log) {
    if let Some(1..=3) = later(log.noisy("scrutinee")).await.name.find('x') {
        log.note("then");
    } else {
        tick().await;
        log.note("else");
    }
});

// shape: edition_2021_tail — temporaries of a tail live longer than locals
twin!(tail_ours, tail_plain, (first: Noisy, log: Log) -> usize {
    let _local = log.noisy("local");
    tick().await;
    log.noisy("temporary").name.len() + first.name.len()
});

// shape: edition_2021_capture — `impl Trait` in a plain function captures no lifetime here, an async fn's does
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn captures(text: &str) -> impl Iterator<Item = char> + '_ {
    tick().await;
    text.chars()
}

// shape: edition_2021_never_fallback — a diverging expression whose type falls back to unit
#[deadline(budget = "1s")]
async fn never_fallback(fail: bool) -> Result<u32, Failure> {
    let n = if fail {
        return Err(Failure::Parse);
    } else {
        later(1).await
    };
    Ok(n)
}

#[test]
fn values() {
    same_drops!(|log| if_let_ours(log.clone()), |log| if_let_plain(
        log.clone()
    ));
    same_drops!(|log| tail_ours(log.noisy("1"), log.clone()), |log| {
        tail_plain(log.noisy("1"), log.clone())
    });
    run(async {
        assert_eq!(reserved_later(1).await, Ok(1));
        assert_eq!(captures("ab").await.count(), 2);
        assert_eq!(never_fallback(true).await, Err(Failure::Parse));
    });
}
