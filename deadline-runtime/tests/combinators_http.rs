//! What a boundary makes of a request in which something was tried again or beside.
#![allow(missing_docs, clippy::pedantic)]

use std::convert::Infallible;
use std::future::{Future, pending};
use std::time::Duration;

use bytes::Bytes;
use deadline_runtime::hedge::Hedge;
use deadline_runtime::http::{DeadlineLayer, Policy};
use deadline_runtime::retry::{Backoff, Retry};
use deadline_runtime::{Stopped, deadline, timeout};
use http::{Request, Response, StatusCode};
use http_body_util::{Empty, Full};
use tokio::time::sleep;
use tower::{Layer, ServiceExt, service_fn};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const RETRY: Retry = Retry::idempotent("fetch").backoff(Backoff::none());

/// A handler that answers 500 whatever comes of its work, as error types with a catch-all do.
async fn answered<F>(work: fn() -> F) -> (StatusCode, String)
where
    F: Future<Output = Result<u32, std::io::Error>> + Send + 'static,
{
    let handler = service_fn(move |_: Request<_>| async move {
        let _ = work().await;
        let mut answer = Response::new(Full::<Bytes>::from("handler"));
        *answer.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        Ok::<_, Infallible>(answer)
    });
    let policy = Policy::new().max(ms(1_000)).reserve(ms(100));
    let service = DeadlineLayer::new("gateway", policy).layer(handler);
    let answer = service
        .oneshot(Request::new(Empty::<Bytes>::new()))
        .await
        .unwrap();
    let cause = answer.headers().get("x-deadline-cause");
    let cause = cause.map_or("", |cause| cause.to_str().unwrap());
    (answer.status(), cause.to_owned())
}

#[deadline]
async fn slow() -> Result<u32, Stopped> {
    pending::<()>().await;
    Ok(1)
}

const OWN: (StatusCode, String) = (StatusCode::INTERNAL_SERVER_ERROR, String::new());

#[tokio::test(start_paused = true)]
async fn a_stop_that_was_tried_again_does_not_explain_a_later_error() {
    // By a limit inside, and by the attempt's cap, seen from inside.
    assert_eq!(
        answered(|| RETRY.run(|attempt| async move {
            if attempt.is_first() {
                timeout(ms(50), pending::<()>()).await?;
            }
            Ok(2)
        }))
        .await,
        OWN
    );
    assert_eq!(
        answered(|| RETRY.attempt_cap(ms(50)).run(|attempt| async move {
            if attempt.is_first() {
                let _ = slow().await;
                pending::<()>().await;
            }
            Ok(2)
        }))
        .await,
        OWN
    );
}

#[tokio::test(start_paused = true)]
async fn losers_do_not_explain_a_later_error() {
    for joins in [false, true] {
        let hedged = if joins {
            answered(|| hedged(true)).await
        } else {
            answered(|| hedged(false)).await
        };
        assert_eq!(hedged, OWN);
    }
}

async fn hedged(joins: bool) -> Result<u32, std::io::Error> {
    let mut hedge = Hedge::idempotent("fetch", ms(20));
    if joins {
        hedge = hedge.join_losers();
    }
    hedge
        .run(|attempt| async move {
            if attempt.is_first() {
                return Ok(slow().await?);
            }
            sleep(ms(5)).await;
            Ok(2)
        })
        .await
}

#[tokio::test(start_paused = true)]
async fn a_refused_attempt_explains_the_error_that_it_became() {
    let refused = answered(|| {
        RETRY.min_attempt(ms(500)).run(|_| async {
            sleep(ms(600)).await;
            Err(std::io::Error::other("503"))
        })
    })
    .await;
    assert_eq!(
        refused,
        (
            StatusCode::GATEWAY_TIMEOUT,
            "local_budget_rejected".to_owned()
        )
    );
}
