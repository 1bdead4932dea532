//! Stops as statuses of tonic's, and back.
#![cfg(feature = "tonic")]
#![allow(missing_docs, clippy::pedantic)]

use std::error::Error;
use std::time::Duration;

use deadline_runtime::http::grpc::{StatusExt as _, code};
use deadline_runtime::{Budget, Cause, Context, Phase, Sent, Stopped};
use tokio::time::sleep;
use tonic::{Code, Status};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn stopped(cause: Cause) -> Stopped {
    let cx = Context::root("secret_operation", Budget::new(ms(1_000)));
    cx.cancel(cause);
    cx.check().unwrap_err()
}

#[tokio::test(start_paused = true)]
async fn a_stop_is_its_code_and_says_nothing_about_the_inside() {
    for &cause in Cause::ALL {
        let status = Status::from(stopped(cause));
        assert_eq!(i32::from(status.code()), i32::from(code(cause)), "{cause}");
        assert_eq!(status.message(), cause.as_str());
        let word = status.metadata().get("x-deadline-cause").unwrap();
        assert_eq!(word, cause.as_str());
        let mut headers = http::HeaderMap::new();
        status.add_header(&mut headers).unwrap();
        let text = format!("{headers:?}");
        assert!(
            !text.contains("secret_operation") && !text.contains(".rs"),
            "{text}"
        );
        // Here it is known all the same.
        let found = Stopped::find(&status).unwrap();
        assert_eq!(
            (found.cause(), found.operation()),
            (cause, "secret_operation")
        );
        let again = status.into_stopped().unwrap();
        assert_eq!(
            (again.cause(), again.operation()),
            (cause, "secret_operation")
        );
    }
}

/// As a client of tonic's has it from the wire.
fn received(code: Code, word: Option<&str>) -> Status {
    let mut status = Status::new(code, "anything at all");
    if let Some(word) = word {
        let metadata = status.metadata_mut();
        metadata.insert("x-deadline-cause", word.parse().unwrap());
    }
    status
}

#[tokio::test(start_paused = true)]
async fn the_clock_decides_before_the_code_does() {
    let table = [
        (Code::DeadlineExceeded, None, Some("dependency_timeout")),
        (Code::Cancelled, None, Some("dependency_failed")),
        (Code::Unavailable, None, Some("dependency_failed")),
        (
            Code::DeadlineExceeded,
            Some("deadline_exceeded"),
            Some("dependency_timeout"),
        ),
        (
            Code::DeadlineExceeded,
            Some("local_budget_rejected"),
            Some("dependency_timeout"),
        ),
        (
            Code::ResourceExhausted,
            Some("overload"),
            Some("dependency_failed"),
        ),
        (
            Code::InvalidArgument,
            Some("bad_deadline"),
            Some("dependency_failed"),
        ),
        (
            Code::Unavailable,
            Some("shutdown"),
            Some("dependency_failed"),
        ),
        // Answers, whatever the clock says.
        (Code::NotFound, None, None),
        (Code::ResourceExhausted, None, None),
        (Code::Internal, None, None),
        (Code::Unknown, Some("a word nobody knows"), None),
    ];
    for (code, word, before) in table {
        let cx = Context::root("root", Budget::new(ms(500)));
        // The peer gives up a millisecond before our end, and is heard then.
        sleep(ms(499)).await;
        let outcome = cx.enter(|| received(code, word).into_stopped());
        let cause = outcome
            .as_ref()
            .ok()
            .map(|stopped| stopped.cause().as_str());
        assert_eq!(cause, before, "{code:?} {word:?}");
        if let Ok(stopped) = outcome {
            assert_eq!(
                (stopped.phase(), stopped.sent()),
                (Phase::Response, Sent::Unknown)
            );
            let source = stopped.source().unwrap();
            assert_eq!(source.downcast_ref::<Status>().unwrap().code(), code);
        }
        // At our end, and after it: the same words are our own end.
        for late in [1, 1] {
            sleep(ms(late)).await;
            let outcome = cx.enter(|| received(code, word).into_stopped());
            let cause = outcome.ok().map(|stopped| stopped.cause());
            assert_eq!(
                cause,
                before.map(|_| Cause::DeadlineExceeded),
                "{code:?} {word:?}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_we_have_cancelled_is_not_the_peers_fault() {
    let cx = Context::root("root", Budget::new(ms(500)));
    cx.cancel(Cause::ClientCancelled);
    let outcome = cx.enter(|| received(Code::Cancelled, None).into_stopped());
    assert_eq!(outcome.unwrap().cause(), Cause::ClientCancelled);
}

#[tokio::test(start_paused = true)]
async fn in_a_function_that_only_stops_an_answer_is_a_dependency_that_failed() {
    async fn call(status: Status) -> Result<(), Stopped> {
        Err(status)?
    }
    let stopped = call(Status::not_found("user 7")).await.unwrap_err();
    assert_eq!(stopped.cause(), Cause::DependencyFailed);
    let source = stopped.source().unwrap().downcast_ref::<Status>().unwrap();
    assert_eq!(source.code(), Code::NotFound);
    assert!(!stopped.to_string().contains("user 7"));
    let stopped = call(received(Code::DeadlineExceeded, None))
        .await
        .unwrap_err();
    assert_eq!(stopped.cause(), Cause::DependencyTimeout);
    let file = stopped.limited_by().location().file();
    assert!(file.ends_with("grpc_status.rs"), "{file}");
}

#[test]
fn an_unopened_connection_is_not_sent() {
    let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
    let connect = tonic::ConnectError(Box::new(refused));
    let status = Status::from_error(Box::new(connect));
    assert_eq!(status.code(), Code::Unavailable);
    let stopped = status.into_stopped().unwrap();
    assert_eq!(
        (stopped.phase(), stopped.sent()),
        (Phase::Connect, Sent::NotSent)
    );
    let reset = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
    let mut status = Status::unavailable("reset");
    status.set_source(std::sync::Arc::new(reset));
    assert_eq!(status.into_stopped().unwrap().sent(), Sent::Unknown);
}
