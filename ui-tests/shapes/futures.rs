//! What callers do with the returned future and with the function as a value.
use crate::support::{Failure, Log, later, run, tick, unpolled};
use ::futures::{StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use deadline_runtime::deadline;
use std::{
    future::{Future, IntoFuture},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

const fn is_send<T: Send>(_: &T) {}
const fn is_sync<T: Sync>(_: &T) {}
const fn is_static<T: Send + 'static>(_: &T) {}

// shape: future_send_static — owned parameters give a `Send + 'static` future
#[deadline(budget = "1s")]
async fn owned(text: String, shared: Arc<AtomicU32>) -> Result<usize, Failure> {
    tick().await;
    shared.fetch_add(1, Ordering::Relaxed);
    Ok(text.len())
}

// shape: future_send_borrowed — borrowed parameters give a `Send` future
#[deadline(budget = "1s")]
async fn borrowed(text: &str) -> Result<usize, Failure> {
    tick().await;
    Ok(text.len())
}

// shape: future_send_generic — `Send` depends on the parameter
#[deadline(budget = "1s", fallback = panic!("stopped"))]
#[allow(clippy::future_not_send)]
async fn generic<T>(value: T) -> T {
    tick().await;
    value
}

// shape: future_sync — a future that is `Sync` when its parts are
#[deadline(budget = "1s")]
#[allow(clippy::unused_async)]
async fn ready(n: u32) -> Result<u32, Failure> {
    Ok(n)
}

// shape: future_lazy — the body does not start before the first poll
#[deadline(budget = "1s", fallback = panic!("stopped"))]
#[allow(clippy::unused_async)]
async fn lazy(log: Log) {
    log.note("started");
}

// shape: future_in_spawn — spawned, joined, and awaited from an annotated function
#[deadline(budget = "1s")]
async fn spawning() -> Result<usize, Failure> {
    let shared = Arc::new(AtomicU32::new(0));
    let first = tokio::spawn(owned("ab".into(), Arc::clone(&shared)));
    let second = tokio::spawn(async move { owned("c".into(), shared).await });
    let mut sum = 0;
    for task in [first.await, second.await] {
        sum += task.map_err(|_| Failure::Refused("join"))??;
    }
    Ok(sum)
}

// shape: future_join_set — in a `JoinSet`
#[deadline(budget = "1s")]
async fn join_set() -> Result<u32, Failure> {
    let mut set = tokio::task::JoinSet::new();
    for n in 0..3 {
        set.spawn(ready(n));
    }
    let mut sum = 0;
    while let Some(joined) = set.join_next().await {
        sum += joined.map_err(|_| Failure::Refused("join"))??;
    }
    Ok(sum)
}

// shape: future_unordered — several in `FuturesUnordered` and `join_all`
#[deadline(budget = "1s")]
async fn unordered(texts: &[&str]) -> Result<usize, Failure> {
    let mut pending: FuturesUnordered<_> = texts.iter().map(|text| borrowed(text)).collect();
    let mut sum = 0;
    while let Some(length) = pending.next().await {
        sum += length?;
    }
    for length in ::futures::future::join_all(texts.iter().copied().map(borrowed)).await {
        sum += length?;
    }
    Ok(sum)
}

// shape: future_buffered — in a stream with `buffer_unordered`
#[deadline(budget = "1s")]
async fn buffered() -> Result<u32, Failure> {
    let all: Vec<_> = ::futures::stream::iter(0..4)
        .map(ready)
        .buffer_unordered(2)
        .collect()
        .await;
    all.into_iter().sum::<Result<u32, _>>()
}

async fn call_twice<F, Fut>(f: F) -> Result<u32, Failure>
where
    F: Fn(u32) -> Fut,
    Fut: Future<Output = Result<u32, Failure>>,
{
    Ok(f(1).await? + f(2).await?)
}

async fn call_borrowed(f: impl AsyncFn(&str) -> Result<usize, Failure>) -> Result<usize, Failure> {
    let local = String::from("local");
    f(&local).await
}

async fn call_box(
    f: for<'a> fn(&'a str) -> BoxFuture<'a, Result<usize, Failure>>,
) -> Result<usize, Failure> {
    let local = String::from("local");
    f(&local).await
}

struct Handlers {
    items: Vec<u32>,
}

impl Handlers {
    // shape: future_method_value — a method used as a function value
    #[deadline(budget = "1s")]
    async fn count(&self, extra: u32) -> Result<usize, Failure> {
        tick().await;
        Ok(self.items.len() + extra as usize)
    }
}

// shape: handler_axum — an axum handler with extractors
#[deadline(budget = "1s", fallback = String::from("fallback"))]
async fn handler(method: axum::http::Method, uri: axum::http::Uri) -> String {
    tick().await;
    format!("{method} {uri}")
}

// shape: handler_axum_result — an axum handler that returns a result of `impl IntoResponse`
#[deadline(budget = "1s", fallback = Err(axum::http::StatusCode::GATEWAY_TIMEOUT))]
async fn result_handler(
    axum::extract::State(state): axum::extract::State<u32>,
    headers: axum::http::HeaderMap,
) -> Result<impl axum::response::IntoResponse, axum::http::StatusCode> {
    tick().await;
    Ok(format!("{state} {}", headers.len()))
}

// shape: handler_axum_body — an axum handler that consumes the request
#[deadline(budget = "1s", fallback = axum::http::StatusCode::GATEWAY_TIMEOUT)]
async fn body_handler(request: axum::extract::Request) -> axum::http::StatusCode {
    let _ = later(request).await;
    axum::http::StatusCode::NO_CONTENT
}

const fn is_handler<T, S, H: axum::handler::Handler<T, S>>(_: &H) {}

// shape: future_stored — stored in a struct behind `Pin<Box<dyn Future>>`
#[deadline(budget = "1s")]
async fn stored(n: u32) -> Result<u32, Failure> {
    Ok(later(n).await)
}

struct Stored {
    future: Pin<Box<dyn Future<Output = Result<u32, Failure>> + Send>>,
}

// shape: future_into_future — passed where `IntoFuture` is asked for
#[deadline(budget = "1s")]
#[allow(clippy::future_not_send)]
async fn through_into_future<F: IntoFuture<Output = Result<u32, Failure>>>(
    f: F,
) -> Result<u32, Failure> {
    f.await
}

// shape: future_timeout — under `tokio::time::timeout` and inside of one
#[deadline(budget = "1s")]
async fn with_timeout() -> Result<u32, Failure> {
    tokio::time::timeout(std::time::Duration::from_secs(5), stored(3))
        .await
        .map_err(|_| Failure::Refused("timeout"))?
}

#[test]
fn values() {
    run(async {
        let shared = Arc::new(AtomicU32::new(0));
        let future = owned("a".into(), shared);
        is_static(&future);
        assert_eq!(future.await, Ok(1));
        let text = String::from("abc");
        let future = borrowed(&text);
        is_send(&future);
        assert_eq!(future.await, Ok(3));
        let future = generic(1);
        is_static(&future);
        assert_eq!(future.await, 1);
        assert_eq!(*generic(std::rc::Rc::new(1)).await, 1);
        assert_eq!(spawning().await, Ok(3));
        assert_eq!(join_set().await, Ok(3));
        is_sync(&ready(0));
        assert_eq!(unordered(&["a", "bc"]).await, Ok(6));
        assert_eq!(buffered().await, Ok(6));
        // shape: function_as_fn — passed as a generic `Fn` that returns a future
        assert_eq!(call_twice(ready).await, Ok(3));
        // shape: function_as_async_fn — passed as `AsyncFn(&str)`
        assert_eq!(call_borrowed(borrowed).await, Ok(5));
        // shape: function_as_pointer — behind a function pointer with a boxed future
        assert_eq!(call_box(|text| Box::pin(borrowed(text))).await, Ok(5));
        // shape: function_in_closure — called in a closure that borrows
        let handlers = Handlers { items: vec![1] };
        let count = |extra| handlers.count(extra);
        assert_eq!(count(1).await, Ok(2));
        assert_eq!(call_handlers(&handlers, Handlers::count).await, Ok(3));
        // shape: function_in_map — given to an iterator by name
        let futures: Vec<_> = vec![1, 2].into_iter().map(ready).collect();
        assert_eq!(futures.len(), 2);
        drop(futures);
        is_handler::<_, (), _>(&handler);
        is_handler::<_, u32, _>(&result_handler);
        is_handler::<_, (), _>(&body_handler);
        let stored = Stored {
            future: Box::pin(stored(4)),
        };
        assert_eq!(stored.future.await, Ok(4));
        assert_eq!(through_into_future(ready(5)).await, Ok(5));
        assert_eq!(with_timeout().await, Ok(3));
        // shape: future_poll_by_hand — polled through a pin on the stack
        let mut pinned = std::pin::pin!(ready(6));
        assert_eq!(pinned.as_mut().await, Ok(6));
    });
}

async fn call_handlers(
    handlers: &Handlers,
    f: impl AsyncFn(&Handlers, u32) -> Result<usize, Failure>,
) -> Result<usize, Failure> {
    f(handlers, 2).await
}

#[test]
fn lazy_and_dropped_unpolled() {
    assert_eq!(unpolled(|log| lazy(log.clone())), ["created", "gone"]);
}
