//! Generic parameters, bounds and where clauses.
use crate::support::{Failure, later, run, tick};
use deadline_runtime::deadline;
use std::{
    fmt::{Debug, Display},
    future::Future,
    marker::PhantomData,
    pin::Pin,
};

// shape: generic_type — one type parameter
#[deadline(budget = "1s")]
async fn one<T: Send>(value: T) -> Result<T, Failure> {
    tick().await;
    Ok(value)
}

// shape: generic_inline_bounds — several bounds on the parameter
#[deadline(budget = "1s")]
async fn inline<T: Display + Send + Sync + 'static>(value: T) -> Result<String, Failure> {
    tick().await;
    Ok(value.to_string())
}

// shape: generic_where — bounds in a where clause, also on a reference
#[deadline(budget = "1s")]
async fn clause<T>(value: &T) -> Result<String, Failure>
where
    T: ?Sized + Sync,
    for<'a> &'a T: Debug,
{
    tick().await;
    Ok(format!("{value:?}"))
}

// shape: generic_const — a const parameter
#[deadline(budget = "1s")]
async fn constant<const N: usize>(values: [u32; N]) -> Result<usize, Failure> {
    tick().await;
    Ok(values.len() + N)
}

// shape: generic_const_and_type — types, consts and lifetimes together
#[deadline(budget = "1s")]
#[allow(clippy::needless_lifetimes)]
async fn mixed<'a, T: Sync, const N: usize>(values: &'a [T; N]) -> Result<&'a [T], Failure> {
    tick().await;
    Ok(&values[N / 2..])
}

// shape: generic_const_bool — a const parameter that selects a path
#[deadline(budget = "1s")]
async fn constant_bool<const LOUD: bool>(text: &str) -> Result<String, Failure> {
    tick().await;
    Ok(if LOUD {
        text.to_uppercase()
    } else {
        text.to_owned()
    })
}

// shape: generic_unsized — `?Sized` behind a reference
#[deadline(budget = "1s")]
async fn maybe_unsized<T: AsRef<[u8]> + ?Sized + Sync>(value: &T) -> Result<usize, Failure> {
    tick().await;
    Ok(value.as_ref().len())
}

// shape: generic_hrtb — a higher-ranked closure
#[deadline(budget = "1s")]
async fn higher_ranked<F>(f: F) -> Result<String, Failure>
where
    F: for<'a> Fn(&'a str) -> &'a str + Send,
{
    tick().await;
    Ok(f("  x ").to_owned())
}

// shape: generic_hrtb_boxed_future — a higher-ranked closure that returns a boxed future
#[deadline(budget = "1s")]
#[allow(clippy::type_complexity)]
async fn higher_ranked_future<F>(f: F) -> Result<usize, Failure>
where
    F: for<'a> Fn(&'a str) -> Pin<Box<dyn Future<Output = usize> + Send + 'a>> + Send,
{
    let local = String::from("local");
    Ok(f(&local).await)
}

// shape: generic_closure_future — `F: FnOnce() -> Fut, Fut: Future`
#[deadline(budget = "1s")]
async fn closure_future<F, Fut, T>(f: F) -> Result<T, Failure>
where
    F: FnOnce() -> Fut + Send,
    Fut: Future<Output = T> + Send,
{
    Ok(f().await)
}

// shape: generic_fallible_future — the awaited future's error is converted by `?`
#[deadline(budget = "1s")]
async fn fallible_future<Fut, T, E>(future: Fut) -> Result<T, Failure>
where
    Fut: Future<Output = Result<T, E>> + Send,
    Failure: From<E>,
{
    Ok(future.await?)
}

// shape: generic_error — the function's own error is generic
#[deadline(budget = "1s")]
async fn generic_error<E>(fail: Option<E>) -> Result<u32, E>
where
    E: From<deadline_runtime::Stopped> + Send,
{
    tick().await;
    fail.map_or(Ok(1), Err)
}

// shape: generic_return — the whole return type is a parameter
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn generic_return<T: Default>() -> T {
    tick().await;
    T::default()
}

// shape: generic_async_fn — an `AsyncFn` bound by name
#[deadline(budget = "1s")]
#[allow(clippy::future_not_send)]
async fn async_fn_bound<F: AsyncFn(&str) -> usize>(f: F) -> Result<usize, Failure> {
    let local = String::from("four");
    Ok(f(&local).await)
}

// shape: generic_associated — associated types in bounds
#[deadline(budget = "1s")]
async fn associated<I>(items: I) -> Result<u32, Failure>
where
    I: IntoIterator + Send,
    I::IntoIter: Send,
    I::Item: Into<u32> + Send,
{
    let mut sum = 0;
    for item in items {
        sum += later(item).await.into();
    }
    Ok(sum)
}

// shape: generic_associated_equal — `Item = T` with a second parameter
#[deadline(budget = "1s")]
async fn associated_equal<I: Iterator<Item = T> + Send, T: Clone + Send>(
    mut items: I,
) -> Result<Vec<T>, Failure> {
    let mut all = Vec::new();
    if let Some(first) = items.next() {
        all.extend([first.clone(), first]);
    }
    for item in items {
        tick().await;
        all.push(item);
    }
    Ok(all)
}

// shape: generic_phantom — a type that only the caller's turbofish fixes
#[deadline(budget = "1s")]
async fn phantom<T>() -> Result<usize, Failure> {
    tick().await;
    Ok(size_of_value::<T>())
}

const fn size_of_value<T>() -> usize {
    std::mem::size_of::<T>()
}

// shape: generic_names_of_ours — type parameters named as ours may be
#[deadline(budget = "1s")]
async fn our_names<F, B, K, R>(f: F, b: B, k: K, r: R) -> Result<(F, B, K, R), Failure>
where
    F: Send,
    B: Send,
    K: Send,
    R: Send,
{
    tick().await;
    Ok((f, b, k, r))
}

// shape: generic_many — many parameters of all kinds with trailing commas
#[deadline(budget = "1s")]
#[rustfmt::skip]
async fn many<'a, 'b: 'a, A, B, const N: usize, const M: usize,>(
    a: &'a [A; N],
    b: &'b [B; M],
) -> Result<(&'a A, &'b B), Failure>
where
    A: 'a + Sync,
    B: 'b + Debug + Sync,
{
    tick().await;
    Ok((&a[0], &b[0]))
}

// shape: generic_and_impl_trait — a named parameter beside `impl Trait`
#[deadline(budget = "1s")]
async fn beside_impl<T: Display + Send>(
    value: T,
    other: impl Display + Send,
) -> Result<String, Failure> {
    tick().await;
    Ok(format!("{value}{other}"))
}

// shape: generic_dyn_associated — a trait object with an associated type
#[deadline(budget = "1s")]
async fn dyn_associated<T: Copy + Send>(
    items: &mut (dyn Iterator<Item = T> + Send),
) -> Result<Option<T>, Failure> {
    tick().await;
    Ok(items.next())
}

trait Lend {
    type Item<'a>
    where
        Self: 'a;

    fn lend(&mut self) -> Self::Item<'_>;
}

struct Buffer(Vec<u8>);

impl Lend for Buffer {
    type Item<'a> = &'a mut [u8];

    fn lend(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

// shape: generic_gat — a generic associated type in the bound
#[deadline(budget = "1s")]
async fn gat<L>(lender: &mut L) -> Result<usize, Failure>
where
    L: Lend + Send,
    for<'a> L::Item<'a>: AsMut<[u8]>,
{
    tick().await;
    Ok(lender.lend().as_mut().len())
}

// shape: generic_recursive_bound — a bound that names its own parameter
#[deadline(budget = "1s")]
async fn recursive_bound<T>(values: Vec<T>) -> Result<Option<T>, Failure>
where
    T: PartialOrd<T> + Ord + Send,
{
    tick().await;
    Ok(values.into_iter().max())
}

struct Stack<T, const N: usize> {
    items: [Option<T>; N],
    marker: PhantomData<fn() -> T>,
}

impl<T: Send, const N: usize> Stack<T, N> {
    // shape: generic_impl_const — the impl's const parameter in the body
    #[deadline(budget = "1s")]
    async fn capacity(&mut self) -> Result<usize, Failure> {
        self.items[N - 1] = None;
        tick().await;
        Ok(self.items.len() * 10 + N)
    }

    // shape: generic_method — own parameters beside the impl's
    #[deadline(budget = "1s")]
    async fn map<U: Send, F>(self, f: F) -> Result<Vec<U>, Failure>
    where
        F: Fn(T) -> U + Send,
    {
        let _ = self.marker;
        tick().await;
        Ok(Vec::from(self.items).into_iter().flatten().map(f).collect())
    }

    // shape: generic_where_self — `where Self: Sized` and a bound on the impl's parameter
    #[deadline(budget = "1s")]
    async fn first(&self) -> Result<Option<T>, Failure>
    where
        Self: Sized,
        T: Clone + Sync,
    {
        tick().await;
        Ok(self.items.iter().flatten().next().cloned())
    }
}

// shape: generic_call_of_generic — inference of the inner call from the outer return type
#[deadline(budget = "2s")]
async fn inferred() -> Result<Vec<u8>, Failure> {
    let mut value = one(Vec::new()).await?;
    value.extend(one(None).await?.or(Some(1)).filter(|n| *n > 1));
    Ok(value)
}

// shape: generic_turbofish_self_call — a generic function calls itself with another type
#[deadline(budget = "1s", boxed)]
async fn narrowing<T: Send + Copy + Into<u64>>(value: T, again: bool) -> Result<u64, Failure> {
    if again {
        return Box::pin(narrowing::<u64>(value.into(), false)).await;
    }
    Ok(value.into())
}

#[test]
fn values() {
    run(async {
        assert_eq!(one(1).await, Ok(1));
        assert_eq!(inline(1).await.unwrap(), "1");
        assert_eq!(clause("x").await.unwrap(), "\"x\"");
        assert_eq!(constant([1, 2]).await, Ok(4));
        assert_eq!(mixed(&[1, 2]).await, Ok(&[2][..]));
        assert_eq!(constant_bool::<true>("a").await.unwrap(), "A");
        assert_eq!(maybe_unsized("abc").await, Ok(3));
        assert_eq!(higher_ranked(str::trim).await.unwrap(), "x");
        assert_eq!(
            higher_ranked_future(|s| Box::pin(later(s.len()))).await,
            Ok(5)
        );
        assert_eq!(closure_future(|| later(1)).await, Ok(1));
        let parsed = "1".parse::<u32>();
        assert_eq!(fallible_future(later(parsed)).await, Ok(1));
        assert_eq!(generic_error(None::<Failure>).await, Ok(1));
        assert_eq!(generic_return::<u32>().await, 0);
        assert_eq!(async_fn_bound(async |s| later(s.len()).await).await, Ok(4));
        assert_eq!(associated(vec![1_u8, 2]).await, Ok(3));
        assert_eq!(
            associated_equal(vec![1, 2].into_iter()).await.unwrap(),
            [1, 1, 2]
        );
        assert_eq!(phantom::<u32>().await, Ok(4));
        assert_eq!(our_names(1, 2, 3, 4).await, Ok((1, 2, 3, 4)));
        assert_eq!(many(&[1], &["b"]).await, Ok((&1, &"b")));
        assert_eq!(beside_impl(1, 2).await.unwrap(), "12");
        assert_eq!(
            dyn_associated(&mut vec![1, 2].into_iter()).await,
            Ok(Some(1))
        );
        assert_eq!(gat(&mut Buffer(vec![1])).await, Ok(1));
        assert_eq!(recursive_bound(vec![1, 3, 2]).await, Ok(Some(3)));
        let mut stack = Stack {
            items: [Some(1), None],
            marker: PhantomData,
        };
        assert_eq!(stack.capacity().await, Ok(22));
        assert_eq!(stack.first().await, Ok(Some(1)));
        assert_eq!(stack.map(|n| n + 1).await.unwrap(), [2]);
        assert_eq!(inferred().await, Ok(vec![]));
        assert_eq!(narrowing(3_u8, true).await, Ok(3));
    });
}
