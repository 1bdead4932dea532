//! Requests of a server layer and a tracker: what a shutdown waits for.
#![cfg(feature = "http")]
#![allow(missing_docs, clippy::pedantic)]

use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;

use bytes::Bytes;
use deadline_runtime::http::{DeadlineLayer, Policy};
use deadline_runtime::{Context, Tracker};
use http::{Request, Response};
use http_body_util::{Empty, Full};
use tokio::task::yield_now;
use tokio::time::sleep;
use tower::{Layer, ServiceExt, service_fn};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[tokio::test(start_paused = true)]
async fn a_tracker_on_the_layer_counts_its_requests_and_what_they_leave_behind() {
    let tracker = Tracker::new();
    // A layer inside one with a tracker has it as well.
    let outer = DeadlineLayer::new("service", Policy::new().default(ms(500))).tracker(&tracker);
    let inner = DeadlineLayer::new("route", Policy::new().default(ms(200)));
    let handler = service_fn(|_request: Request<_>| async {
        let cx = Context::current();
        drop(cx.critical("journal", ms(1_000), |_| sleep(ms(400))));
        cx.after_stop("unlock", |_| sleep(ms(20)));
        pending::<Result<Response<Full<Bytes>>, Infallible>>().await
    });
    let service = outer.layer(inner.layer(handler));
    let served = tokio::spawn(service.oneshot(Request::new(Empty::<Bytes>::new())));
    yield_now().await;
    let stats = tracker.stats();
    assert!(stats.requests > 0);
    assert_eq!(stats.critical, 1);
    let answer = served.await.unwrap().unwrap();
    assert_eq!(answer.status(), 504);
    let stats = tracker.stats();
    assert_eq!(
        (stats.requests, stats.critical, stats.after_stop),
        (0, 1, 1)
    );
    tracker.wait(ms(1_000)).await.unwrap();
    assert!(tracker.stats().is_idle());
}
