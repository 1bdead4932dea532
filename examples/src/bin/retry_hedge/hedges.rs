//! Trying beside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deadline_runtime::hedge::{Hedge, HedgeBudget, Latency};
use deadline_runtime::{AttemptCounts, Context, deadline};
use tokio::time::sleep;

use crate::error::ClientError;
use crate::scene::{Scene, about};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const QUOTE: Hedge = Hedge::idempotent("quote", ms(50)).min_attempt(ms(20));

/// Says when it is dropped.
struct Gone(Arc<AtomicBool>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[deadline(budget = "400ms")]
async fn quote(scene: Scene, gone: Arc<AtomicBool>) -> Result<Context, ClientError> {
    let told = scene.clone();
    QUOTE
        .run(|attempt| {
            scene.say(format_args!("attempt {} begins", attempt.number));
            let gone = attempt.is_first().then(|| Gone(gone.clone()));
            async move {
                let _gone = gone;
                sleep(ms(if attempt.is_first() { 2_000 } else { 30 })).await;
                // Whoever reads the answer's body does so under the attempt's own context.
                Ok(Context::current())
            }
        })
        .on_attempt(move |record| told.ended(record))
        .await
}

pub async fn the_second_wins() -> (String, bool) {
    let scene = Scene::begin();
    let gone = Arc::new(AtomicBool::new(false));
    let winner = quote(scene.clone(), gone.clone()).await.ok();
    scene.say("answered");
    scene.promise(
        "at about 80 ms, not after 2 s",
        winner.is_some() && about(scene.elapsed(), 80),
    );
    scene.promise(
        "the loser was gone when the answer came back",
        gone.load(Ordering::Relaxed),
    );
    scene.promise(
        "what ended the loser did not reach the winner",
        winner.is_some_and(|winner| winner.cause().is_none()),
    );
    scene.end("f. a slow replica, and another one 50 ms later")
}

#[deadline(budget = "120ms", reserve = "10ms")]
async fn replaced(scene: Scene, counts: AttemptCounts) -> Result<(), ClientError> {
    let told = scene.clone();
    Hedge::idempotent("quote", ms(50))
        .attempts(10)
        .min_attempt(ms(40))
        .run(|attempt| {
            scene.say(format_args!("attempt {} begins", attempt.number));
            async move {
                if attempt.is_first() {
                    std::future::pending::<()>().await;
                }
                sleep(ms(10)).await;
                Err(ClientError::Unavailable)
            }
        })
        .counts(&counts)
        .on_attempt(move |record| told.ended(record))
        .await
}

pub async fn none_that_does_not_fit() -> (String, bool) {
    let scene = Scene::begin();
    let counts = AttemptCounts::default();
    let error = replaced(scene.clone(), counts.clone()).await.err();
    if let Some(error) = &error {
        scene.say(error);
    }
    scene.promise(
        "what failed was replaced while 40 ms were left, and not after that",
        error.is_some() && counts.started() >= 2 && counts.not_started() == 1,
    );
    scene.promise(
        "every attempt is counted once",
        counts.started() == counts.ended(),
    );
    scene.end("g. the first never answers, the others fail after 10 ms; a useful attempt needs 40 ms of 110 ms")
}

pub async fn a_percentile() -> (String, bool) {
    let scene = Scene::begin();
    let latency = Latency::new(Duration::from_secs(30));
    for millis in 1..=100 {
        latency.record(ms(millis).div_f32(5.0));
    }
    let budget = HedgeBudget::new(5, 3);
    let counts = AttemptCounts::default();
    let policy = Hedge::idempotent("quote", ms(500)).percentile(95, &latency);
    for _ in 0..6 {
        let call = policy
            .run(|attempt| async move {
                sleep(ms(if attempt.is_first() { 150 } else { 1 })).await;
                Ok::<_, ClientError>(attempt.number)
            })
            .budget(&budget)
            .counts(&counts);
        if let Ok(winner) = call.await {
            scene.say(format_args!("answered by attempt {winner}, {budget:?}"));
        }
    }
    scene.promise(
        "three of six slow calls were hedged, then there were no tokens",
        counts.started() == 9 && counts.not_started() == 3,
    );
    scene.end(
        "h. another one after the 95th percentile of 1 to 20 ms, with three tokens for extra load",
    )
}
