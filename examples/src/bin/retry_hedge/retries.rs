//! Trying again.

use std::error::Error as _;
use std::time::Duration;

use deadline_runtime::retry::{Backoff, Retry, RetryBudget};
use deadline_runtime::{AttemptCounts, Attempts, Cause, Context, deadline};
use tokio::time::sleep;

use crate::error::ClientError;
use crate::scene::{Scene, about};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Two attempts of 100 ms and 20 ms between them: 220 ms, and that stands in the type.
const PROFILE: Retry<Attempts<2, 100, 20>> = Retry::idempotent("profile")
    .backoff(Backoff::fixed(ms(20)))
    .checked();

#[deadline(budget = "250ms", reserve = "30ms")]
async fn profile(scene: Scene) -> Result<u32, ClientError> {
    PROFILE
        .run(|attempt| {
            scene.say(format_args!("attempt {} begins", attempt.number));
            async move {
                // The first one meets a server that does not answer.
                sleep(ms(if attempt.is_first() { 2_000 } else { 10 })).await;
                Ok(7)
            }
        })
        .on_attempt(recorder(&scene))
        .await
}

fn recorder(scene: &Scene) -> impl FnMut(&deadline_runtime::AttemptRecord) + Send + 'static {
    let scene = scene.clone();
    move |record| scene.ended(record)
}

pub async fn a_slow_server() -> (String, bool) {
    let scene = Scene::begin();
    let answer = profile(scene.clone()).await;
    scene.say(format_args!("answered {answer:?}"));
    scene.promise(
        "the attempt that met the slow server was cut at its 100 ms, the next one answered",
        answer.is_ok() && about(scene.elapsed(), 130),
    );
    scene.end("a. one server does not answer: two attempts of 100 ms within 250 ms")
}

/// Without figures in the type: nothing is added up, the deadline alone decides.
const ORDERS: Retry = Retry::idempotent("orders")
    .attempts(5)
    .min_attempt(ms(90))
    .backoff(Backoff::fixed(ms(120)));

#[deadline(budget = "600ms")]
async fn orders(scene: Scene) -> Result<u32, ClientError> {
    ORDERS
        .run(|attempt| {
            scene.say(format_args!("attempt {} begins", attempt.number));
            async {
                sleep(ms(180)).await;
                Err(ClientError::Unavailable)
            }
        })
        .on_attempt(recorder(&scene))
        .await
}

pub async fn no_room_for_another() -> (String, bool) {
    let scene = Scene::begin();
    let error = orders(scene.clone()).await.err();
    if let Some(error) = &error {
        scene.say(error);
    }
    let refused = error.as_ref().and_then(|error| match error {
        ClientError::Stopped(stopped) => Some(stopped),
        ClientError::Unavailable => None,
    });
    scene.promise(
        "back before the deadline, with what a third attempt would have needed",
        refused.is_some_and(|stopped| {
            stopped.cause() == Cause::LocalBudgetRejected && stopped.needed().is_some()
        }) && scene.elapsed() < ms(600),
    );
    let real = refused.and_then(|stopped| stopped.source());
    scene.promise(
        "the real error is behind it",
        real.is_some_and(|error| matches!(error.downcast_ref(), Some(ClientError::Unavailable))),
    );
    scene.end("b. every attempt fails at 180 ms, waits are 120 ms, a useful attempt needs 90 ms, 600 ms in all")
}

#[deadline(budget = "250ms", reserve = "20ms")]
async fn what_is_left(scene: Scene) -> Result<(), ClientError> {
    Retry::idempotent("search")
        .attempt_cap(ms(100))
        .backoff(Backoff::none())
        .run(|attempt| {
            let left = Context::current().remaining().unwrap_or_default();
            scene.say(format_args!(
                "attempt {} begins, sends x-request-timeout-ms: {}",
                attempt.number,
                left.as_millis()
            ));
            std::future::pending()
        })
        .on_attempt(recorder(&scene))
        .await
}

pub async fn each_gets_what_is_left() -> (String, bool) {
    let scene = Scene::begin();
    let error = what_is_left(scene.clone()).await.err();
    if let Some(error) = &error {
        scene.say(error);
    }
    scene.promise(
        "the last attempt promised the server no more than was left, and the deadline was not tried again",
        matches!(&error, Some(ClientError::Stopped(stopped)) if stopped.limited_by().operation() == "what_is_left")
            && about(scene.elapsed(), 230),
    );
    scene.end("c. no server answers: 100 ms an attempt, 230 ms in all")
}

pub async fn an_outage() -> (String, bool) {
    let scene = Scene::begin();
    let (budget, counts) = (RetryBudget::default(), AttemptCounts::default());
    let mut real = 0;
    for _ in 0..50 {
        let failed = Retry::idempotent("stock")
            .backoff(Backoff::none())
            .run(|_| async { Err::<(), _>(ClientError::Unavailable) })
            .budget(&budget)
            .counts(&counts)
            .await;
        real += u32::from(matches!(failed, Err(ClientError::Unavailable)));
    }
    scene.say(format_args!(
        "50 calls, {} attempts, {} retries not made, {budget:?}",
        counts.started(),
        counts.not_started()
    ));
    scene.promise(
        "50 calls made 55 attempts and not 150",
        counts.started() == 55 && counts.ended() == 55,
    );
    scene.promise("each call got the real error", real == 50);
    scene.end("d. an outage: three attempts a call, one budget for all retries")
}

#[deadline(budget = "300ms")]
async fn charge(scene: Scene) -> Result<(), ClientError> {
    Retry::non_idempotent("charge")
        .attempt_cap(ms(60))
        .run(|attempt| {
            scene.say(format_args!("attempt {} begins", attempt.number));
            std::future::pending()
        })
        .on_attempt(recorder(&scene))
        .await
}

pub async fn a_charge() -> (String, bool) {
    let scene = Scene::begin();
    let charged = charge(scene.clone()).await;
    if let Err(error) = &charged {
        scene.say(error);
    }
    scene.promise(
        "a timeout does not prove that nothing happened: it is not tried again",
        charged.is_err() && about(scene.elapsed(), 60),
    );
    scene.end("e. a charge that times out after 60 ms of 300 ms")
}
