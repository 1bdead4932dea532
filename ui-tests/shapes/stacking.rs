//! Other attribute macros above and below ours.
use crate::support::{Failure, later, run, tick};
use async_trait::async_trait;
use deadline_runtime::deadline;
use tracing::instrument;

// shape: instrument_above — `#[instrument]` first
#[instrument]
#[deadline(budget = "1s")]
async fn instrument_above(n: u32) -> Result<u32, Failure> {
    Ok(later(n).await)
}

// shape: instrument_below — `#[instrument]` second
#[deadline(budget = "1s")]
#[instrument]
async fn instrument_below(n: u32) -> Result<u32, Failure> {
    Ok(later(n).await)
}

// shape: instrument_above_arguments — with `skip`, `fields`, `err` and `ret`
#[instrument(level = "debug", skip(secret), fields(length = secret.len()), err, ret)]
#[deadline(budget = "1s", reserve = "100ms")]
async fn instrument_above_arguments(n: u32, secret: &str) -> Result<u32, Failure> {
    tick().await;
    if secret.is_empty() {
        return Err(Failure::Refused("empty"));
    }
    Ok(n)
}

// shape: instrument_below_arguments — the same the other way round
#[deadline(budget = "1s", reserve = "100ms")]
#[instrument(level = "debug", skip(secret), fields(length = secret.len()), err, ret)]
async fn instrument_below_arguments(n: u32, secret: &str) -> Result<u32, Failure> {
    tick().await;
    if secret.is_empty() {
        return Err(Failure::Refused("empty"));
    }
    Ok(n)
}

// shape: instrument_path — by its full path, with a fallback and a mutable parameter
#[tracing::instrument(skip_all)]
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn instrument_path_above(mut list: Vec<u32>) -> usize {
    list.push(later(1).await);
    list.len()
}

// shape: instrument_path_below — the same the other way round
#[deadline(budget = "1s", fallback = panic!("stopped"))]
#[tracing::instrument(skip_all)]
async fn instrument_path_below(mut list: Vec<u32>) -> usize {
    list.push(later(1).await);
    list.len()
}

struct Service {
    base: u32,
}

impl Service {
    // shape: instrument_method_above — on a method, self skipped
    #[instrument(skip(self))]
    #[deadline(budget = "1s")]
    async fn above(&self, n: u32) -> Result<u32, Failure> {
        Ok(self.base + later(n).await)
    }

    // shape: instrument_method_below — on a method
    #[deadline(budget = "1s")]
    #[instrument(skip(self))]
    async fn below(&self, n: u32) -> Result<u32, Failure> {
        Ok(self.base + later(n).await)
    }

    // shape: instrument_mut_method_below — `&mut self` and a loop
    #[deadline(budget = "1s")]
    #[instrument(skip_all)]
    async fn mutating(&mut self, ns: &[u32]) -> Result<u32, Failure> {
        for n in ns {
            self.base += later(*n).await;
        }
        Ok(self.base)
    }
}

// shape: instrument_impl_trait_below — `impl Trait` result under both
#[deadline(budget = "1s", fallback = panic!("stopped"))]
#[instrument]
async fn impl_trait_below() -> impl std::fmt::Display {
    later(1).await
}

// shape: instrument_impl_trait_above — the same the other way round
#[instrument]
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn impl_trait_above() -> impl std::fmt::Display {
    later(1).await
}

// shape: instrument_generic_below — generics, where clause and lifetimes
#[deadline(budget = "1s")]
#[instrument(skip_all)]
async fn generic_below<'a, T>(value: &'a T, rest: &[u8]) -> Result<&'a T, Failure>
where
    T: Sync + ?Sized,
{
    tick().await;
    let _ = rest;
    Ok(value)
}

// shape: instrument_generic_above — the same the other way round
#[instrument(skip_all)]
#[deadline(budget = "1s")]
async fn generic_above<'a, T>(value: &'a T, rest: &[u8]) -> Result<&'a T, Failure>
where
    T: Sync + ?Sized,
{
    tick().await;
    let _ = rest;
    Ok(value)
}

#[async_trait]
trait Repository: Sync {
    async fn above(&self, n: u32) -> Result<u32, Failure>;
    async fn below(&self, n: u32) -> Result<u32, Failure>;

    // shape: async_trait_instrument_default — all three on a default method
    #[instrument(skip(self))]
    #[deadline(budget = "1s")]
    async fn both(&self, n: u32) -> Result<u32, Failure> {
        Ok(self.above(n).await? + self.below(n).await?)
    }
}

#[async_trait]
impl Repository for Service {
    // shape: async_trait_instrument_above — all three, `instrument` first
    #[instrument(skip(self))]
    #[deadline(budget = "1s")]
    async fn above(&self, n: u32) -> Result<u32, Failure> {
        Ok(self.base + later(n).await)
    }

    // shape: async_trait_instrument_below — all three, `instrument` last
    #[deadline(budget = "1s")]
    #[instrument(skip(self))]
    async fn below(&self, n: u32) -> Result<u32, Failure> {
        Ok(self.base + later(n).await)
    }
}

fn current_span() -> Option<&'static str> {
    tracing::Span::current()
        .metadata()
        .map(tracing::Metadata::name)
}

// shape: instrument_span_above — the span covers the body after an await, not only the creation of the future
#[instrument(name = "above")]
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn span_above() -> [Option<&'static str>; 2] {
    let before = current_span();
    tick().await;
    [before, current_span()]
}

// shape: instrument_span_below — the same the other way round
#[deadline(budget = "1s", fallback = panic!("stopped"))]
#[instrument(name = "below")]
async fn span_below() -> [Option<&'static str>; 2] {
    let before = current_span();
    tick().await;
    [before, current_span()]
}

// shape: fastrace_above — `#[fastrace::trace]` first
#[fastrace::trace]
#[deadline(budget = "1s")]
async fn fastrace_above(n: u32) -> Result<u32, Failure> {
    Ok(later(n).await)
}

// shape: fastrace_below — `#[fastrace::trace]` second
#[deadline(budget = "1s")]
#[fastrace::trace]
async fn fastrace_below(n: u32) -> Result<u32, Failure> {
    Ok(later(n).await)
}

// shape: fastrace_arguments — with arguments, borrowed parameters and a loop
#[deadline(budget = "1s", fallback = panic!("stopped"))]
#[fastrace::trace(name = "named", enter_on_poll = true)]
async fn fastrace_arguments(texts: &[&str]) -> usize {
    let mut sum = 0;
    for text in texts {
        sum += later(text.len()).await;
    }
    sum
}

// shape: recursion_above — `#[async_recursion]` first
#[async_recursion::async_recursion]
#[deadline(budget = "1s")]
async fn recursion_above(n: u32) -> Result<u32, Failure> {
    if n == 0 {
        return Ok(0);
    }
    Ok(recursion_above(n - 1).await? + later(1).await)
}

// shape: recursion_below — `#[async_recursion]`, which we do not know, second
#[deadline(budget = "1s")]
#[async_recursion::async_recursion]
async fn recursion_below(n: u32) -> Result<u32, Failure> {
    if n == 0 {
        return Ok(0);
    }
    Ok(recursion_below(n - 1).await? + later(1).await)
}

// shape: debug_handler_above — `#[axum::debug_handler]`, which asks for an `async fn`, first
#[axum::debug_handler]
#[deadline(budget = "1s", fallback = String::new())]
async fn debug_handler_above(method: axum::http::Method) -> String {
    later(method).await.to_string()
}

// shape: debug_handler_below — `#[axum::debug_handler]` second
#[deadline(budget = "1s", fallback = String::new())]
#[axum::debug_handler]
async fn debug_handler_below(method: axum::http::Method) -> String {
    later(method).await.to_string()
}

// shape: three_between — ours between two others
#[instrument(skip_all)]
#[deadline(budget = "1s")]
#[fastrace::trace]
async fn between(n: u32) -> Result<u32, Failure> {
    Ok(later(n).await)
}

// shape: three_last — ours below two others
#[fastrace::trace]
#[instrument(skip_all)]
#[deadline(budget = "1s")]
async fn last_of_three(n: u32) -> Result<u32, Failure> {
    Ok(later(n).await)
}

// shape: three_first — ours above two others
#[deadline(budget = "1s")]
#[instrument(skip_all)]
#[fastrace::trace]
async fn first_of_three(n: u32) -> Result<u32, Failure> {
    Ok(later(n).await)
}

// shape: tokio_test_paused — on a paused clock, with `instrument` as a third
#[tokio::test(start_paused = true)]
#[instrument]
#[deadline(budget = "60s")]
async fn tokio_test_paused() -> Result<(), Failure> {
    tokio::time::sleep(std::time::Duration::from_secs(30)).await;
    Ok(())
}

// shape: tokio_test_paused_below — the same with ours on top
#[deadline(budget = "60s")]
#[instrument]
#[tokio::test(start_paused = true)]
async fn tokio_test_paused_below() -> Result<(), Failure> {
    tokio::time::sleep(std::time::Duration::from_secs(30)).await;
    Ok(())
}

// shape: tokio_test_above — `#[tokio::test]` first
#[tokio::test]
#[deadline(budget = "5s")]
async fn tokio_test_above() -> Result<(), Failure> {
    assert_eq!(instrument_above(1).await?, 1);
    Ok(())
}

// shape: tokio_test_below — `#[tokio::test]` second
#[deadline(budget = "5s")]
#[tokio::test]
async fn tokio_test_below() -> Result<(), Failure> {
    assert_eq!(instrument_below(1).await?, 1);
    Ok(())
}

// shape: tokio_test_flavour — with arguments, and a test that returns nothing
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
#[deadline(budget = "5s", fallback = panic!("stopped"))]
async fn tokio_test_flavour_above() {
    tokio::spawn(instrument_below(1)).await.unwrap().unwrap();
}

// shape: tokio_test_flavour_below — the same the other way round
#[deadline(budget = "5s", fallback = panic!("stopped"))]
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn tokio_test_flavour_below() {
    tokio::spawn(instrument_above(1)).await.unwrap().unwrap();
}

// shape: tokio_test_should_panic — with `should_panic` between
#[deadline(budget = "5s", fallback = panic!("stopped"))]
#[tokio::test]
#[should_panic(expected = "as expected")]
async fn tokio_test_should_panic() {
    tick().await;
    panic!("as expected");
}

// shape: tokio_main_above — `#[tokio::main]` first, on a function that is called like a plain one
#[tokio::main(flavor = "current_thread")]
#[deadline(budget = "1s")]
async fn main_above() -> Result<u32, Failure> {
    Ok(later(1).await)
}

// shape: tokio_main_below — `#[tokio::main]` second
#[deadline(budget = "1s")]
#[tokio::main(flavor = "current_thread")]
async fn main_below() -> Result<u32, Failure> {
    Ok(later(1).await)
}

// shape: tokio_main_unit — `#[tokio::main]` on a function without a result
#[deadline(budget = "1s", fallback = ())]
#[tokio::main(flavor = "current_thread")]
async fn main_unit() {
    tick().await;
}

// shape: ours_in_ours — a function of ours inside of another, the inner one shorter
#[deadline(budget = "1s")]
async fn outer_budget() -> Result<u32, Failure> {
    #[deadline(budget = "10ms")]
    async fn shorter() -> Result<u32, Failure> {
        Ok(later(1).await)
    }
    shorter().await
}

#[test]
fn values() {
    run(async {
        assert_eq!(instrument_above(1).await, Ok(1));
        assert_eq!(instrument_below(1).await, Ok(1));
        assert_eq!(instrument_above_arguments(1, "s").await, Ok(1));
        assert_eq!(instrument_below_arguments(1, "s").await, Ok(1));
        assert!(instrument_below_arguments(1, "").await.is_err());
        assert_eq!(instrument_path_above(vec![]).await, 1);
        assert_eq!(instrument_path_below(vec![]).await, 1);
        let mut service = Service { base: 1 };
        assert_eq!(service.above(1).await, Ok(2));
        assert_eq!(service.below(1).await, Ok(2));
        assert_eq!(Repository::both(&service, 1).await, Ok(4));
        assert_eq!(service.mutating(&[1, 2]).await, Ok(4));
        assert_eq!(impl_trait_above().await.to_string(), "1");
        assert_eq!(impl_trait_below().await.to_string(), "1");
        assert_eq!(generic_above("a", &[]).await, Ok("a"));
        assert_eq!(generic_below("a", &[]).await, Ok("a"));
        assert_eq!(outer_budget().await, Ok(1));
        assert_eq!(fastrace_above(1).await, Ok(1));
        assert_eq!(fastrace_below(1).await, Ok(1));
        assert_eq!(fastrace_arguments(&["a", "bc"]).await, 3);
        assert_eq!(recursion_above(3).await, Ok(3));
        assert_eq!(recursion_below(3).await, Ok(3));
        let method = axum::http::Method::GET;
        assert_eq!(debug_handler_above(method.clone()).await, "GET");
        assert_eq!(debug_handler_below(method).await, "GET");
        assert_eq!(between(1).await, Ok(1));
        assert_eq!(last_of_three(1).await, Ok(1));
        assert_eq!(first_of_three(1).await, Ok(1));
    });
}

#[test]
fn spans_cover_the_body() {
    tracing::subscriber::with_default(tracing_subscriber::registry(), || {
        assert_eq!(run(span_above()), [Some("above"); 2]);
        assert_eq!(run(span_below()), [Some("below"); 2]);
    });
}

#[test]
fn mains() {
    assert_eq!(main_above(), Ok(1));
    assert_eq!(main_below(), Ok(1));
    main_unit();
}
