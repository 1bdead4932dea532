//! Skeleton: signatures only, enforcement follows.
#![allow(missing_docs, clippy::all, clippy::pedantic)]
pub use deadline_macros::{budget, checkpoint, deadline, shield};
use std::{future::{Future, IntoFuture}, marker::PhantomData, pin::Pin, task};

// ---- public types the expansion names -------------------------------------------------
#[derive(Debug)]
#[must_use]
pub struct Stopped(());
impl std::fmt::Display for Stopped { fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str("stopped") } }
impl std::error::Error for Stopped {}

#[diagnostic::on_unimplemented(message = "`{Self}` cannot carry a stop", label = "skeleton text")]
pub trait FromStopped: Sized { fn from_stopped(stopped: Stopped) -> Self; }
#[diagnostic::do_not_recommend]
impl<T, E: From<Stopped>> FromStopped for Result<T, E> { fn from_stopped(s: Stopped) -> Self { Err(E::from(s)) } }

#[derive(Clone)]
pub struct Context(());
impl Context { pub fn current() -> Context { Context(()) } }

pub struct Millis<const CAP: u64, const PLAN: u64 = CAP>;
pub struct Percent<const CAP: u64>;
pub struct Unbudgeted;
/// Not a subtrait of `Future`: clippy (`implied_bounds_in_impls`) would then object to `impl Future + Budgeted` in every signature.
pub trait Budgeted { type Budget; }
impl<F: Budgeted + ?Sized> Budgeted for Box<F> { type Budget = F::Budget; }
impl<P> Budgeted for Pin<P> where P: std::ops::DerefMut, P::Target: Budgeted { type Budget = <P::Target as Budgeted>::Budget; }

pub mod __rt {
    use super::*;
    pub trait Cap { }
    impl<const C: u64, const P: u64> Cap for Millis<C, P> {}
    impl<const C: u64> Cap for Percent<C> {}
    impl Cap for Unbudgeted {}

    /// Nanoseconds/`Duration` of a `const` path: works for Duration (its own const as_millis -> u128)
    pub const fn whole_millis(millis: u128) -> u64 { millis as u64 }

    pub struct Spec<B> { pub name: &'static str, budget: PhantomData<fn() -> B> }
    impl<B: Cap> Spec<B> {
        #[track_caller]
        pub const fn new(name: &'static str) -> Self { Spec { name, budget: PhantomData } }
        pub const fn reserve(self, _millis: u64) -> Self { self }
        pub const fn min(self, _millis: u64) -> Self { self }
        pub const fn min_percent(self, _percent: u64) -> Self { self }
        pub const fn cleanup(self, _millis: u64) -> Self { self }
        pub const fn parent_required(self) -> Self { self }
    }

    pub struct Scoped<F, B, K = Carry> { body: Pin<Box<F>>, _b: PhantomData<fn() -> B>, _k: PhantomData<K> }
    impl<F, B, K> Unpin for Scoped<F, B, K> {}
    pub struct Carry;
    pub struct Parent(());
    impl Parent { pub fn of(_: &Context) -> Parent { Parent(()) } }
    impl<F: Future, B: Cap> Scoped<F, B> where F::Output: FromStopped {
        pub fn new(_spec: &'static Spec<B>, body: F) -> Self { Scoped { body: Box::pin(body), _b: PhantomData, _k: PhantomData } }
        pub fn under(_parent: Parent, spec: &'static Spec<B>, body: F) -> Self { Self::new(spec, body) }
    }
    impl<F: Future, B: Cap, K: FnOnce(Stopped) -> F::Output> Scoped<F, B, K> {
        pub fn with_fallback(_spec: &'static Spec<B>, body: F, _fallback: K) -> Self { Scoped { body: Box::pin(body), _b: PhantomData, _k: PhantomData } }
        pub fn with_fallback_under(_parent: Parent, spec: &'static Spec<B>, body: F, fallback: K) -> Self { Self::with_fallback(spec, body, fallback) }
    }
    impl<F: Future, B, K> Future for Scoped<F, B, K> {
        type Output = F::Output;
        fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> task::Poll<F::Output> { self.body.as_mut().poll(cx) }
    }
    impl<F: Future, B, K> Budgeted for Scoped<F, B, K> { type Budget = B; }

    // awaits
    pub struct At<F>(pub F);
    impl<F: Budgeted> At<F> { pub fn deadline_gate(self) -> F { self.0 } }
    pub trait Leaf { type Gated; fn deadline_gate(self) -> Self::Gated; }
    impl<F> Leaf for At<F> { type Gated = Gate<F>; fn deadline_gate(self) -> Gate<F> { Gate(self.0) } }
    impl<F: IntoFuture> IntoFuture for Gate<F> {
        type Output = F::Output;
        type IntoFuture = Gated<F::IntoFuture>;
        fn into_future(self) -> Self::IntoFuture { Gated(Box::pin(self.0.into_future())) }
    }
    pub struct Gate<F>(F);
    pub struct Gated<F>(Pin<Box<F>>);
    impl<F: Future> Future for Gated<F> {
        type Output = F::Output;
        fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> task::Poll<F::Output> { self.0.as_mut().poll(cx) }
    }
    pub fn guard<F: IntoFuture>(future: F) -> Guard<F::IntoFuture> { Guard(Box::pin(future.into_future())) }
    pub struct Guard<F>(Pin<Box<F>>);
    impl<F: Future> Future for Guard<F> {
        type Output = Result<F::Output, Stopped>;
        fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> task::Poll<Self::Output> { self.0.as_mut().poll(cx).map(Ok) }
    }

    // statements
    /// A `#[budget]` statement: one deadline that every await in it shares; `Copy`.
    pub struct Limit;
    impl Clone for Limit { fn clone(&self) -> Self { *self } }
    impl Copy for Limit {}
    impl Limit {
        pub fn start<B: Cap>(_spec: &'static Spec<B>) -> Limit { Limit }
        /// A limit inside this one.
        pub fn within<B: Cap>(self, _spec: &'static Spec<B>) -> Limit { Limit }
        pub fn run<F: IntoFuture>(self, future: F) -> Limited<F::IntoFuture> { Limited(Box::pin(future.into_future())) }
    }
    pub struct Limited<F>(Pin<Box<F>>);
    impl<F: Future> Future for Limited<F> {
        type Output = Result<F::Output, Stopped>;
        fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> task::Poll<Self::Output> { self.0.as_mut().poll(cx).map(Ok) }
    }
    /// Same, for statements with a fallback: a value that is an `Err` made by the stop of exactly this cap counts as a miss.
    impl Limit { pub fn run_or_miss<F: IntoFuture>(self, future: F) -> Limited2<F::IntoFuture> { Limited2(Box::pin(future.into_future())) } }
    pub struct Limited2<F>(Pin<Box<F>>);
    impl<F: Future> Future for Limited2<F> {
        type Output = At<Outcome<F::Output>>;
        fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> task::Poll<Self::Output> { self.0.as_mut().poll(cx).map(|v| At(Outcome { value: Ok(v), own_stop: None })) }
    }
    pub struct Outcome<T> { value: Result<T, Stopped>, #[allow(dead_code)] own_stop: Option<Stopped> }
    impl<T, E> At<Outcome<Result<T, E>>> { pub fn deadline_settle(self) -> Result<Result<T, E>, Stopped> { self.0.value } }
    pub trait Settle { type Value; fn deadline_settle(self) -> Result<Self::Value, Stopped>; }
    impl<T> Settle for At<Outcome<T>> { type Value = T; fn deadline_settle(self) -> Result<T, Stopped> { self.0.value } }
    /// `#[shield]`: entered before its expression is evaluated.
    pub struct Shield(());
    impl Shield {
        pub fn enter<B: Cap>(_spec: &'static Spec<B>) -> Shield { Shield(()) }
        pub fn run<F: IntoFuture>(self, future: F) -> Limited<F::IntoFuture> { Limited(Box::pin(future.into_future())) }
    }

    /// Types the body's block; never called.
    pub fn returns<T>() -> T { unreachable!() }

    // loops
    #[inline] pub fn checkpoint() -> Option<Stopped> { None }
    pub fn stop<R: FromStopped>(stopped: Stopped) -> R { R::from_stopped(stopped) }
    /// Records the miss of the scope, then makes the value that replaces it.
    pub fn instead<R>(stopped: Stopped, fallback: impl FnOnce(Stopped) -> R) -> R { fallback(stopped) }
}

#[doc(hidden)]
#[macro_export]
macro_rules! __same_version {
    ("0.1.0") => {};
    ($other:literal) => { ::core::compile_error!(::core::concat!("deadline-macros ", $other, " does not fit deadline-runtime 0.1.0: depend on deadline-runtime alone and let it bring its macros")); };
}
