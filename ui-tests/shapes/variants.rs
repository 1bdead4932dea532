//! The same functions under each argument that changes how they are expanded: all drop as plain Rust does.
use crate::support::{Failure, Log, Noisy, later, run, tick};
use deadline_runtime::deadline;

/// One function per way of expanding it, and the plain one.
macro_rules! variants {
    ($name:ident, $($function:tt)*) => {
        mod $name {
            #![allow(dead_code)]
            #[allow(clippy::wildcard_imports)]
            use super::*;

            pub async fn plain $($function)*

            #[deadline(fallback = panic!("stopped"))]
            pub async fn without_budget $($function)*

            #[deadline(budget = "1s", keep_async, fallback = panic!("stopped"))]
            pub async fn kept $($function)*

            #[deadline(budget = "1s", boxed, fallback = panic!("stopped"))]
            pub async fn boxed $($function)*

            #[deadline(budget = "1s", cleanup = "10ms", fallback = panic!("stopped"))]
            pub async fn cleanup $($function)*

            #[deadline(budget = "1s", checkpoints = "off", fallback = panic!("stopped"))]
            pub async fn without_checkpoints $($function)*

            #[deadline(budget = "1s", bind = _cx, fallback = panic!("stopped"))]
            pub async fn bound $($function)*

            /// `#[instrument]` has a drop order of its own.
            #[tracing::instrument(skip_all)]
            pub async fn instrumented $($function)*

            #[deadline(budget = "1s", fallback = panic!("stopped"))]
            #[tracing::instrument(skip_all)]
            pub async fn instrument_below $($function)*

            #[tracing::instrument(skip_all)]
            #[deadline(budget = "1s", fallback = panic!("stopped"))]
            pub async fn instrument_above $($function)*
        }
    };
}

macro_rules! all_the_same {
    ($name:ident($($argument:expr),*) with $log:ident) => {
        all_the_same!(@ $name, $log, ($($argument),*), plain: without_budget kept boxed cleanup without_checkpoints bound);
        all_the_same!(@ $name, $log, ($($argument),*), instrumented: instrument_below instrument_above);
    };
    (@ $name:ident, $log:ident, $arguments:tt, $as:ident: $($variant:ident)*) => {
        $(same_drops!(|$log| $name::$variant $arguments, |$log| $name::$as $arguments);)*
    };
}

// shape: variants_named — named parameters, in every variant
variants!(named, (first: Noisy, second: Noisy) {
    tick().await;
    let _ = (&first, &second);
});

// shape: variants_blank — `_` among named parameters, in every variant
variants!(blank, (first: Noisy, _: Noisy, third: Noisy) {
    tick().await;
    let _ = (&first, &third);
});

// shape: variants_partial — half a pattern bound, in every variant
variants!(partial, ((first, _): (Noisy, Noisy), third: Noisy) {
    tick().await;
    let _ = (&first, &third);
});

// shape: variants_unused — unused parameters, in every variant
variants!(unused, (_first: Noisy, _second: Noisy) {
    tick().await;
});

// shape: variants_temporaries — temporaries of awaited expressions, statements and scrutinees, in every variant
variants!(temporaries, (log: Log) -> usize {
    later(&log.noisy("statement")).await;
    log.note("after statement");
    let length = later(&log.noisy("let")).await.name.len();
    log.note("after let");
    match later(&log.noisy("scrutinee")).await.name {
        "scrutinee" => log.note("in match"),
        "other" => log.note("in another"),
        _ => {}
    }
    log.note("after match");
    while later(log.noisy("condition")).await.name.is_empty() {}
    log.note("after while");
    length + log.noisy("tail").name.len()
});

// shape: variants_loop — values of a loop's rounds and an early return, in every variant
variants!(rounds, (log: Log, kept: Noisy) -> usize {
    for n in 0..3 {
        let _round = log.noisy("round");
        if n == 1 {
            return later(log.noisy("returned")).await.name.len();
        }
        tick().await;
    }
    kept.name.len()
});

#[test]
fn all_drop_the_same() {
    all_the_same!(named(log.noisy("1"), log.noisy("2")) with log);
    all_the_same!(blank(log.noisy("1"), log.noisy("2"), log.noisy("3")) with log);
    all_the_same!(partial((log.noisy("1"), log.noisy("2")), log.noisy("3")) with log);
    all_the_same!(unused(log.noisy("1"), log.noisy("2")) with log);
    all_the_same!(temporaries(log.clone()) with log);
    all_the_same!(rounds(log.clone(), log.noisy("kept")) with log);
}

// shape: cleanup_attributes — awaits under `cleanup` that carry attributes or are configured away
#[deadline(budget = "1s", cleanup = "10ms")]
async fn cleanup_attributes() -> Result<u32, Failure> {
    #[cfg(any())]
    let n = missing().await;
    #[cfg(not(any()))]
    let n = later(1).await;
    #[allow(unused_variables)]
    let unused = later(2).await;
    #[cfg(any())]
    missing().await;
    #[allow(unused_must_use)]
    later(Ok::<_, Failure>(3)).await;
    Ok(n)
}

// shape: cleanup_positions — awaits under `cleanup` in conditions, arguments, operators, ranges and macros
#[deadline(budget = "1s", cleanup = "10ms")]
async fn cleanup_positions(list: &[u32]) -> Result<u32, Failure> {
    let mut sum = later(1).await + list[later(1).await];
    if later(true).await && !later(false).await {
        sum += later(later(2).await).await;
    }
    let Some(n) = later(Some(1)).await else {
        return later(Err(Failure::Parse)).await;
    };
    for i in later(0).await..later(2).await {
        sum += i + n;
    }
    sum += match later(n).await {
        n if later(n).await == 1 => later(1).await,
        _ => 0,
    };
    let (a, b) = tokio::join!(later(1), later(later(1).await));
    let text = format!("{}", later(1).await);
    sum += 'label: {
        if sum > 0 {
            break 'label later(1).await;
        }
        0
    };
    Ok(sum + a + b + u32::from(text.is_empty()))
}

#[test]
fn values() {
    run(async {
        assert_eq!(cleanup_attributes().await, Ok(1));
        assert_eq!(cleanup_positions(&[0, 1]).await, Ok(11));
    });
}
