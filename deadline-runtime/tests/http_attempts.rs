//! Retries on several layers: the one above repeats, those below leave it to that one.
#![cfg(all(feature = "http", feature = "retry"))]
#![allow(missing_docs, clippy::pedantic)]

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use bytes::Bytes;
use deadline_runtime::http::{DeadlineLayer, InternalHosts, Policy, PropagateDeadlineLayer, Trust};
use deadline_runtime::retry::{Backoff, Retry};
use deadline_runtime::{Budget, Context};
use futures::future::LocalBoxFuture;
use http::{Request, Response, StatusCode};
use http_body_util::Empty;
use tower::{Layer, ServiceExt, service_fn};

type Hop = Rc<dyn Fn(Request<Empty<Bytes>>) -> LocalBoxFuture<'static, StatusCode>>;

/// Three attempts, unless somebody above makes them.
async fn retried(call: impl AsyncFn() -> StatusCode) -> StatusCode {
    let fails = async || match call().await {
        status if status.is_success() => Ok(status),
        status => Err(std::io::Error::other(status.as_str().to_owned())),
    };
    let call = Retry::idempotent("call").backoff(Backoff::none());
    match call.run(|_| fails()).await {
        Ok(status) => status,
        Err(failed) => failed.to_string().parse().unwrap(),
    }
}

/// A service that retries its call of the next one three times.
fn hop(next: Hop) -> Hop {
    let handler = service_fn(move |_: Request<_>| {
        let next = next.clone();
        async move {
            let status = retried(async || {
                let request = Request::new(Empty::new());
                next(request).await
            })
            .await;
            let mut response = Response::new(Empty::<Bytes>::new());
            *response.status_mut() = status;
            Ok::<_, std::convert::Infallible>(response)
        }
    });
    let policy = Policy::new()
        .max(Duration::from_secs(60))
        .trust(Trust::Full);
    let service = PropagateDeadlineLayer::new(InternalHosts::all())
        .layer(DeadlineLayer::new("hop", policy).layer(handler));
    Rc::new(move |request| {
        let call = service.clone().oneshot(request);
        Box::pin(async move { call.await.unwrap().status() })
    })
}

#[tokio::test(start_paused = true)]
async fn three_layers_of_three_attempts_are_three_calls_at_the_bottom() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = calls.clone();
    let bottom: Hop = Rc::new(move |_| {
        count.fetch_add(1, SeqCst);
        Box::pin(std::future::ready(StatusCode::INTERNAL_SERVER_ERROR))
    });
    let chain = hop(hop(bottom));
    let cx = Context::root("client", Budget::new(Duration::from_secs(30)));
    let outcome = cx.run(retried(async || {
        let request = Request::new(Empty::new());
        chain(request).await
    }));
    assert_eq!(outcome.await.unwrap(), 500);
    assert_eq!(calls.load(SeqCst), 3);

    // Nobody above repeats: the first of the two does.
    calls.store(0, SeqCst);
    let request = Request::new(Empty::new());
    assert_eq!(chain(request).await, 500);
    assert_eq!(calls.load(SeqCst), 3);
}
