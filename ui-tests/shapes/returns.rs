//! Return types and the ways out of a body.
use crate::support::{Failure, later, run, tick};
use deadline_runtime::{Stopped, deadline};
use std::{
    collections::{BTreeMap, HashMap},
    error::Error,
    fmt::{Debug, Display},
    future::Future,
    pin::Pin,
    rc::Rc,
    sync::Arc,
};

// shape: return_result_question — `?` converts the error
#[deadline(budget = "1s")]
async fn question(text: &str) -> Result<u32, Failure> {
    let n: u32 = text.parse()?;
    tick().await;
    Ok(n)
}

// shape: return_boxed_error — `Box<dyn Error>`
#[deadline(budget = "1s")]
#[allow(clippy::future_not_send)]
async fn boxed_error(text: &str) -> Result<u32, Box<dyn Error>> {
    tick().await;
    Ok(text.parse::<u32>()?)
}

// shape: return_boxed_send_error — `Box<dyn Error + Send + Sync>` and `.into()` of a text
#[deadline(budget = "1s")]
async fn boxed_send_error(text: &str) -> Result<u32, Box<dyn Error + Send + Sync>> {
    tick().await;
    if text.is_empty() {
        return Err("empty".into());
    }
    Ok(text.parse()?)
}

// shape: return_anyhow — `anyhow::Result` with `bail!` and `context`
#[deadline(budget = "1s")]
async fn with_anyhow(text: &str) -> anyhow::Result<u32> {
    use anyhow::Context as _;
    tick().await;
    if text.is_empty() {
        anyhow::bail!("empty");
    }
    text.parse().context("not a number")
}

// shape: return_stopped — the stop itself as error
#[deadline(budget = "1s")]
async fn stop_as_error() -> Result<u32, Stopped> {
    Ok(later(1).await)
}

type Answer<T> = Result<T, Failure>;

// shape: return_alias — a type alias of `Result`
#[deadline(budget = "1s")]
async fn alias() -> Answer<u32> {
    Ok(later(1).await)
}

// shape: return_unit_result — `Result<(), E>` with a tail `Ok(())`
#[deadline(budget = "1s")]
async fn unit_result() -> Result<(), Failure> {
    tick().await;
    Ok(())
}

// shape: return_nothing — no return type
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn nothing() {
    tick().await;
}

// shape: return_unit — an explicit unit
#[deadline(budget = "1s", fallback = panic!("stopped"))]
#[allow(clippy::unused_unit)]
async fn unit() -> () {
    tick().await;
}

// shape: return_empty_body — a body without anything
#[deadline(budget = "1s", fallback = panic!("stopped"))]
#[allow(clippy::unused_async)]
async fn empty() {}

// shape: return_option_question — `?` on options
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn option(map: &HashMap<&str, u32>) -> Option<u32> {
    let n = map.get("a")?;
    tick().await;
    Some(*n + map.get("b")?)
}

// shape: return_plain — a value that cannot carry a stop
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn value() -> u32 {
    later(1).await
}

// shape: return_impl_trait — `impl Trait`
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn impl_trait() -> impl Display {
    later(1).await
}

// shape: return_impl_iterator — `impl Iterator` over owned data
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn impl_iterator(limit: u32) -> impl Iterator<Item = u32> + Send {
    tick().await;
    (0..limit).map(|n| n * 2)
}

// shape: return_impl_iterator_borrowed — `impl Iterator` that borrows from a parameter
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn impl_iterator_borrowed(text: &str) -> impl Iterator<Item = &str> {
    tick().await;
    text.split(',')
}

// shape: return_impl_in_result — `impl Trait` inside of `Result`
#[deadline(budget = "1s")]
async fn impl_in_result() -> Result<impl Display + Debug, Failure> {
    Ok(later("shown").await)
}

// shape: return_impl_in_both — `impl Trait` in both halves
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn impl_in_both(fail: bool) -> Result<impl Display, impl Error> {
    tick().await;
    if fail { Err(Failure::Parse) } else { Ok(1) }
}

// shape: return_impl_nested — `impl Trait` inside of an `impl Trait`'s argument
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn impl_nested() -> impl Iterator<Item = impl Display> {
    tick().await;
    vec![1, 2].into_iter()
}

// shape: return_impl_tuple — several `impl Trait` in a tuple
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn impl_tuple() -> (impl Display, Vec<impl Debug>) {
    tick().await;
    (1, vec!["a"])
}

// shape: return_impl_early — `impl Trait` with an early return of the same type
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn impl_early(short: bool) -> impl Display {
    if short {
        return "short";
    }
    tick().await;
    "long"
}

// shape: return_closure — `impl Fn` that captures a parameter
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn closure(step: u32) -> impl Fn(u32) -> u32 {
    tick().await;
    move |n| n + step
}

// shape: return_closure_in_result — a closure inside of `Result`
#[deadline(budget = "1s")]
async fn closure_in_result(step: u32) -> Result<impl Fn(u32) -> u32, Failure> {
    tick().await;
    Ok(move |n| n + step)
}

// shape: return_box_closure — a closure coerced to `Box<dyn Fn>`
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn box_closure(step: u32) -> Box<dyn Fn(u32) -> u32 + Send> {
    tick().await;
    Box::new(move |n| n + step)
}

// shape: return_fn_pointer — a closure coerced to a function pointer
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn fn_pointer() -> fn(u32) -> u32 {
    tick().await;
    |n| n + 1
}

// shape: return_future — a future as the result of a future
#[deadline(budget = "1s", fallback = panic!("stopped"))]
#[allow(clippy::async_yields_async)]
async fn future() -> impl Future<Output = u32> {
    tick().await;
    async { later(1).await }
}

// shape: return_boxed_future — `Pin<Box<dyn Future>>` as the result
#[deadline(budget = "1s", fallback = panic!("stopped"))]
#[allow(clippy::async_yields_async)]
async fn boxed_future() -> Pin<Box<dyn Future<Output = u32> + Send>> {
    tick().await;
    Box::pin(later(2))
}

// shape: return_dyn_coercion — the tail coerces to a trait object
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn dyn_coercion(number: bool) -> Box<dyn Display + Send> {
    tick().await;
    if number {
        return Box::new(1);
    }
    Box::new("text")
}

// shape: return_dyn_in_result — the coercion happens inside of `Ok(..)`
#[deadline(budget = "1s")]
async fn dyn_in_result() -> Result<Arc<dyn Display + Send + Sync>, Failure> {
    tick().await;
    Ok(Arc::new(1))
}

// shape: return_slice_coercion — an array reference becomes a slice
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn slice_coercion() -> &'static [u32] {
    tick().await;
    &[1, 2, 3]
}

// shape: return_deref_coercion — `&String` becomes `&str`
#[deadline(budget = "1s", fallback = panic!("stopped"))]
#[allow(clippy::ptr_arg)]
async fn deref_coercion(text: &String) -> &str {
    tick().await;
    text
}

// shape: return_if_coercion — both branches coerce
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn if_coercion(short: bool) -> Rc<dyn Debug> {
    tick().await;
    if short { Rc::new(1) } else { Rc::new("long") }
}

// shape: return_into — `into` is inferred from the return type
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn into() -> String {
    tick().await;
    "text".into()
}

// shape: return_collect — `collect` is inferred from the return type
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn collect() -> BTreeMap<u32, char> {
    tick().await;
    (0..).zip("ab".chars()).collect()
}

// shape: return_collect_result — `collect` into a `Result` whose error is converted
#[deadline(budget = "1s")]
async fn collect_result(text: &str) -> Result<Vec<u32>, Failure> {
    tick().await;
    text.split(',')
        .map(|n| n.parse().map_err(Failure::from))
        .collect()
}

// shape: return_parse — `parse` is inferred through `Ok(..?)`
#[deadline(budget = "1s")]
async fn parse(text: &str) -> Result<u8, Failure> {
    tick().await;
    Ok(text.parse()?)
}

// shape: return_default — `Default::default()` in the tail and in a return
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn default(early: bool) -> (u32, Option<String>) {
    if early {
        return Default::default();
    }
    tick().await;
    Default::default()
}

// shape: return_integer_literal — a literal takes the return type's width
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn literal() -> u64 {
    tick().await;
    1 << 40
}

// shape: return_never — `-> !`
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn never() -> ! {
    tick().await;
    panic!("never returns")
}

// shape: return_never_loop — `-> !` that loops for ever
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn never_loop(count: &mut u32) -> ! {
    loop {
        *count += 1;
        tick().await;
    }
}

// shape: return_panic_body — a body that diverges although it has a type
#[deadline(budget = "1s")]
#[allow(clippy::unused_async)]
async fn panics() -> Result<u32, Failure> {
    panic!("diverges")
}

// shape: return_unimplemented — `unimplemented!()` as the whole body of `impl Trait` in a `Result`
#[deadline(budget = "1s")]
#[allow(clippy::unused_async)]
async fn unfinished() -> Result<String, Failure> {
    unimplemented!("later")
}

// shape: return_no_tail — every path leaves by `return`
#[deadline(budget = "1s")]
#[allow(clippy::needless_return)]
async fn no_tail(n: u32) -> Result<u32, Failure> {
    tick().await;
    if n == 0 {
        return Err(Failure::Refused("zero"));
    }
    return Ok(n);
}

// shape: return_infinite_loop_with_value — a loop that only ends by `return`
#[deadline(budget = "1s")]
async fn loop_return(mut n: u32) -> Result<u32, Failure> {
    loop {
        if n > 10 {
            return Ok(n);
        }
        n += later(1).await;
    }
}

// shape: return_early_in_for — an early return in nested loops
#[deadline(budget = "1s")]
async fn early_in_for(rows: &[Vec<u32>]) -> Result<Option<u32>, Failure> {
    for row in rows {
        for n in row {
            if *n > 2 {
                return Ok(Some(*n));
            }
            tick().await;
        }
    }
    Ok(None)
}

// shape: return_question_in_loop — `?` in a loop without an await
#[deadline(budget = "1s")]
async fn question_in_loop(parts: &[&str]) -> Result<u32, Failure> {
    let mut sum = 0;
    for part in parts {
        sum += part.parse::<u32>()?;
    }
    Ok(later(sum).await)
}

// shape: return_match_tail — a match with awaits in its arms as the tail
#[deadline(budget = "1s")]
async fn match_tail(n: u32) -> Result<u32, Failure> {
    match n {
        0 => later(Ok(1)).await,
        1 => Err(Failure::Refused("one")),
        _ => question("7").await,
    }
}

// shape: return_question_tail — `Ok(f().await?)` of another error type
#[deadline(budget = "1s")]
async fn question_tail() -> Result<u32, Box<dyn Error + Send + Sync>> {
    Ok(question("x").await?)
}

// shape: return_tail_await — the tail is the await itself
#[deadline(budget = "1s")]
async fn tail_await() -> Result<u32, Failure> {
    question("3").await
}

// shape: return_result_of_result — nested results
#[deadline(budget = "1s")]
async fn nested_result(text: &str) -> Result<Result<u32, std::num::ParseIntError>, Failure> {
    tick().await;
    Ok(text.parse())
}

// shape: return_tuple_array — tuples and arrays with inferred parts
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn tuple_array() -> ([Vec<u8>; 2], (u8, i64)) {
    tick().await;
    ([vec![], vec![1]], (1, -1))
}

// shape: return_projection — an associated type as the return type
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn projection<I: Iterator + Send>(mut items: I) -> Option<<I as Iterator>::Item> {
    tick().await;
    items.next()
}

// shape: return_parenthesised — a type in parentheses
#[deadline(budget = "1s", fallback = panic!("stopped"))]
#[allow(unused_parens)]
async fn parenthesised() -> (u32) {
    later(1).await
}

macro_rules! answer {
    ($ok:ty) => { Result<$ok, Failure> };
}

// shape: return_macro_type — the return type comes from a macro
#[deadline(budget = "1s")]
async fn macro_type() -> answer!(u32) {
    Ok(later(1).await)
}

#[test]
fn values() {
    run(async {
        assert_eq!(question("1").await, Ok(1));
        assert_eq!(question("x").await, Err(Failure::Parse));
        assert!(boxed_error("x").await.is_err());
        assert_eq!(boxed_send_error("").await.unwrap_err().to_string(), "empty");
        let error = with_anyhow("x").await.unwrap_err();
        assert_eq!(error.to_string(), "not a number");
        assert_eq!(with_anyhow("").await.unwrap_err().to_string(), "empty");
        assert_eq!(stop_as_error().await.unwrap(), 1);
        assert_eq!(alias().await, Ok(1));
        assert_eq!(unit_result().await, Ok(()));
        nothing().await;
        unit().await;
        empty().await;
        let map = HashMap::from([("a", 1), ("b", 2)]);
        assert_eq!(option(&map).await, Some(3));
        assert_eq!(value().await, 1);
        assert_eq!(impl_trait().await.to_string(), "1");
        assert_eq!(impl_iterator(3).await.sum::<u32>(), 6);
        assert_eq!(impl_iterator_borrowed("a,b").await.count(), 2);
        assert_eq!(impl_in_result().await.unwrap().to_string(), "shown");
        assert!(impl_in_both(true).await.is_err());
        assert_eq!(impl_nested().await.count(), 2);
        assert_eq!(impl_tuple().await.1.len(), 1);
        assert_eq!(impl_early(true).await.to_string(), "short");
        assert_eq!(closure(1).await(1), 2);
        assert_eq!(closure_in_result(1).await.unwrap()(1), 2);
        assert_eq!(box_closure(1).await(1), 2);
        assert_eq!(fn_pointer().await(1), 2);
        assert_eq!(future().await.await, 1);
        assert_eq!(boxed_future().await.await, 2);
        assert_eq!(dyn_coercion(true).await.to_string(), "1");
        assert_eq!(dyn_in_result().await.unwrap().to_string(), "1");
        assert_eq!(slice_coercion().await, [1, 2, 3]);
        assert_eq!(deref_coercion(&"a".into()).await, "a");
        assert_eq!(format!("{:?}", if_coercion(true).await), "1");
        assert_eq!(into().await, "text");
        assert_eq!(collect().await[&1], 'b');
        assert_eq!(collect_result("1,2").await.unwrap(), [1, 2]);
        assert_eq!(parse("1").await, Ok(1));
        assert_eq!(default(true).await, (0, None));
        assert_eq!(literal().await, 1 << 40);
        assert_eq!(no_tail(0).await, Err(Failure::Refused("zero")));
        assert_eq!(loop_return(9).await, Ok(11));
        assert_eq!(early_in_for(&[vec![1], vec![3]]).await, Ok(Some(3)));
        assert_eq!(question_in_loop(&["1", "2"]).await, Ok(3));
        assert_eq!(match_tail(2).await, Ok(7));
        assert!(question_tail().await.is_err());
        assert_eq!(tail_await().await, Ok(3));
        assert_eq!(nested_result("1").await, Ok(Ok(1)));
        assert_eq!(tuple_array().await.1, (1, -1));
        assert_eq!(projection([4].iter()).await, Some(&4));
        assert_eq!(parenthesised().await, 1);
        assert_eq!(macro_type().await, Ok(1));
    });
}

#[test]
#[should_panic(expected = "never returns")]
fn never_panics() {
    run(never());
}

#[test]
#[should_panic(expected = "diverges")]
fn panic_body() {
    drop(run(panics()));
}

#[test]
#[should_panic(expected = "later")]
fn unimplemented_body() {
    drop(run(unfinished()));
}

#[test]
fn never_loops() {
    let mut count = 0;
    run(async {
        tokio::select! {
            biased;
            () = async { for _ in 0..3 { tick().await } } => {}
            never = never_loop(&mut count) => never,
        }
    });
    assert!(count > 0);
}
