//! Random trees of scopes against a plain reference: when each request ends, why, and by whose limit.
//!
//! In one task: what runs in another ends on the same instant in either order, unless a reserve lies between.
#![allow(missing_docs, unused_braces, clippy::all, clippy::pedantic)]

mod common;

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use common::ms;
use common::rt::{Scoped, Spec, gate_later, nothing};
use deadline_runtime::{
    Budget, Cause, Context, Figure, Millis, Overrides, Percent, Stopped, Unbudgeted,
};
use futures::stream::{FuturesUnordered, StreamExt as _};
use proptest::prelude::*;
use tokio::time::{Instant, sleep, sleep_until};

/// What a scope has and does.
#[derive(Debug, Clone)]
struct Scope {
    cap: Cap,
    reserve: u64,
    min: u64,
    /// Asks for a context of its own, and cancels that this long after its start.
    cancel: Option<u64>,
    asks: bool,
    steps: Vec<Step>,
    /// Turns a child's error into a value instead of handing it on.
    forgives: bool,
}

#[derive(Debug, Clone, Copy)]
enum Cap {
    None,
    Ten,
    Thirty,
    Ninety,
    Half,
}

#[derive(Debug, Clone)]
enum Step {
    Work(u64),
    Call(Scope),
    Together(Vec<Scope>),
    Unordered(Vec<Scope>),
}

type Outcome = Result<(), (Cause, Option<&'static str>)>;
type Running = Pin<Box<dyn Future<Output = Result<(), Stopped>> + Send>>;

// The reference: whole milliseconds since the start of the request.

#[derive(Clone, Copy)]
struct Limits {
    /// Of the scope around: where its children end, and whose limit that is.
    soft: Option<(u64, &'static str)>,
    /// The first cancel from outside.
    cancel: Option<(u64, Cause)>,
}

fn names(depth: usize, index: usize) -> &'static str {
    const NAMES: [[&str; 3]; 4] = [
        ["a0", "a1", "a2"],
        ["b0", "b1", "b2"],
        ["c0", "c1", "c2"],
        ["d0", "d1", "d2"],
    ];
    NAMES[depth.min(3)][index.min(2)]
}

fn limit(cause: Cause, owner: &'static str) -> Outcome {
    Err((cause, Some(owner)))
}

impl Scope {
    /// When and how it ends if it starts at `start`.
    fn model(&self, start: u64, around: Limits, depth: usize, index: usize) -> (u64, Outcome) {
        let name = names(depth, index);
        let inherited = around.soft;
        let left = inherited.map(|(soft, _)| soft.saturating_sub(start) * 1_000);
        // Shares may fall between milliseconds: reckoned in microseconds, rounded up by the timer.
        let granted = match self.cap {
            Cap::None => None,
            Cap::Ten => Some(10_000),
            Cap::Thirty => Some(30_000),
            Cap::Ninety => Some(90_000),
            Cap::Half => left.map(|left| left / 2),
        };
        let own = granted.map(|granted| start * 1_000 + granted);
        let inherited_micros = inherited.map(|(soft, owner)| (soft * 1_000, owner));
        let (hard, owner, binds) = match (own, inherited_micros) {
            (Some(own), Some((soft, _))) if own < soft => (Some(own), name, true),
            (Some(own), None) => (Some(own), name, true),
            (_, Some((soft, owner))) => (Some(soft), owner, false),
            (None, None) => (None, name, false),
        };
        let soft = hard.map(|hard| hard.saturating_sub(self.reserve * 1_000));
        let now = start * 1_000;
        let cause = if binds {
            Cause::DependencyTimeout
        } else {
            Cause::DeadlineExceeded
        };
        // Admission.
        if let Some((at, cancelled)) = around.cancel.filter(|(at, _)| *at <= start) {
            let expired = inherited.filter(|(soft, _)| *soft <= at);
            return match expired {
                Some((_, owner)) => (start, limit(Cause::DeadlineExceeded, owner)),
                None => (start, Err((cancelled, None))),
            };
        }
        if hard.is_some_and(|hard| hard <= now) {
            return (start, limit(cause, owner));
        }
        if soft.is_some_and(|soft| soft.saturating_sub(now) < (self.min * 1_000).max(1_000)) {
            return (start, limit(Cause::LocalBudgetRejected, owner));
        }
        // The run. What is above is exact to the microsecond; timers fire at the next whole millisecond.
        let up = |micros: u64| micros.div_ceil(1_000);
        let own_cancel = self.cancel.map(|after| (start + after, Cause::Superseded));
        let cancel = match (around.cancel, own_cancel) {
            (Some(a), Some(b)) => Some(if b.0 < a.0 { b } else { a }),
            (a, b) => a.or(b),
        };
        let work_end = soft.map(|soft| soft + 5_000.min(self.reserve * 1_000 / 4));
        let inside = Limits {
            soft: soft.map(|soft| (soft / 1_000, owner)),
            cancel,
        };
        // When it is stopped if it is still waiting, and why.
        let by_cancel = cancel.map(|(at, why)| {
            let expired = soft.is_some_and(|soft| soft <= at * 1_000);
            (
                at,
                if expired {
                    limit(cause, owner)
                } else {
                    Err((why, None))
                },
            )
        });
        let by_limit = work_end.map(|end| (up(end), limit(cause, owner)));
        let stop = match (by_limit, by_cancel) {
            (Some(limit), Some(cancel)) => Some(if cancel.0 < limit.0 { cancel } else { limit }),
            (limit, cancel) => limit.or(cancel),
        };
        let closed = |at: u64| {
            soft.is_some_and(|soft| soft <= at * 1_000) || cancel.is_some_and(|(c, _)| c <= at)
        };
        let mut at = start;
        for step in &self.steps {
            let results = match step {
                Step::Work(takes) => {
                    if closed(at) {
                        let (end, outcome) = stop.clone().unwrap();
                        return (end.max(at), outcome);
                    }
                    if let Some((end, outcome)) = stop.clone().filter(|(end, _)| *end < at + takes)
                    {
                        return (end, outcome);
                    }
                    at += takes;
                    continue;
                }
                Step::Call(child) => vec![child.model(at, inside, depth + 1, 0)],
                Step::Together(children) | Step::Unordered(children) => {
                    // The combinator itself is gated.
                    if closed(at) {
                        let (end, outcome) = stop.clone().unwrap();
                        return (end.max(at), outcome);
                    }
                    children
                        .iter()
                        .enumerate()
                        .map(|(index, child)| child.model(at, inside, depth + 1, index))
                        .collect()
                }
            };
            at = results.iter().map(|(end, _)| *end).fold(at, u64::max);
            if let Some((_, failed)) = results.into_iter().find(|(_, result)| result.is_err()) {
                return (at, if self.forgives { Ok(()) } else { failed });
            }
        }
        (at, Ok(()))
    }

    // The real thing.

    fn make(self, depth: usize, index: usize) -> Running {
        match self.cap {
            Cap::None => self.scoped::<Unbudgeted>(depth, index),
            Cap::Ten => self.scoped::<Millis<10>>(depth, index),
            Cap::Thirty => self.scoped::<Millis<30>>(depth, index),
            Cap::Ninety => self.scoped::<Millis<90>>(depth, index),
            Cap::Half => self.scoped::<Percent<50>>(depth, index),
        }
    }

    fn scoped<B: Figure>(self, depth: usize, index: usize) -> Running {
        let spec = Spec::<B>::new(names(depth, index))
            .reserve(self.reserve)
            .min(self.min);
        let spec: &'static Spec<B> = Box::leak(Box::new(spec));
        Box::pin(Scoped::<_, B>::new(spec.here(), self.body(depth)))
    }

    async fn body(self, depth: usize) -> Result<(), Stopped> {
        if let Some(after) = self.cancel {
            let cx = Context::current();
            let at = Instant::now() + ms(after);
            tokio::spawn(async move {
                sleep_until(at).await;
                cx.cancel(Cause::Superseded);
            });
        } else if self.asks {
            let _ = Context::current();
        }
        for step in self.steps {
            let failed = match step {
                Step::Work(takes) => {
                    gate_later(nothing(), sleep(ms(takes)), 0).await;
                    None
                }
                Step::Call(child) => child.make(depth + 1, 0).await.err(),
                Step::Together(children) => {
                    let all = children.into_iter().enumerate();
                    let all = futures::future::join_all(all.map(|(i, c)| c.make(depth + 1, i)));
                    gate_later(nothing(), all, 0)
                        .await
                        .into_iter()
                        .find_map(Result::err)
                }
                Step::Unordered(children) => {
                    let set: FuturesUnordered<_> = children
                        .into_iter()
                        .enumerate()
                        .map(|(i, c)| async move { (i, c.make(depth + 1, i).await) })
                        .collect();
                    let mut all = gate_later(nothing(), set.collect::<Vec<_>>(), 0).await;
                    all.sort_by_key(|(index, _)| *index);
                    all.into_iter().find_map(|(_, result)| result.err())
                }
            };
            if let Some(stopped) = failed {
                return if self.forgives { Ok(()) } else { Err(stopped) };
            }
        }
        Ok(())
    }
}

/// A request in which nothing is out of the ordinary begins and waits on shorter paths than one in which anything is: a budget
/// that is overridden somewhere is enough.
fn real(scope: Scope, budget: Option<u64>, cancel: Option<u64>, plain: bool) -> (u64, Outcome) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async move {
        let start = Instant::now();
        let budget = budget.map_or(Budget::inherited(), |budget| Budget::new(ms(budget)));
        let overrides = if plain { "" } else { "nothing=1s" };
        let overrides = overrides.parse::<Overrides>().unwrap();
        let cx = Context::builder("request")
            .budget(budget)
            .overrides(&overrides)
            .build();
        if let Some(at) = cancel {
            let cx = cx.clone();
            tokio::spawn(async move {
                sleep(ms(at)).await;
                cx.cancel(Cause::ClientCancelled);
            });
        }
        // In a task, so that its end is that of the scope and not of a run around it.
        let outcome = cx.enter(|| tokio::spawn(scope.make(0, 0))).await.unwrap();
        let end = start.elapsed();
        assert_eq!(end.subsec_nanos() % 1_000_000, 0, "{end:?}");
        let outcome = outcome.map_err(|stopped| {
            let limits = [
                Cause::DeadlineExceeded,
                Cause::DependencyTimeout,
                Cause::LocalBudgetRejected,
            ];
            let named = limits.contains(&stopped.cause());
            let owner = named.then(|| stopped.limited_by().operation());
            (stopped.cause(), owner)
        });
        (u64::try_from(end.as_millis()).unwrap(), outcome)
    })
}

fn scope() -> impl Strategy<Value = Scope> {
    let caps = prop_oneof![
        3 => Just(Cap::None),
        2 => Just(Cap::Ten),
        2 => Just(Cap::Thirty),
        1 => Just(Cap::Ninety),
    ];
    let shape = (
        caps,
        prop_oneof![3 => Just(0_u64), 1 => Just(8), 1 => Just(16)],
        prop_oneof![3 => Just(0_u64), 1 => 1_u64..12],
        prop_oneof![4 => Just(None), 1 => (0_u64..20).prop_map(|n| Some(2 * n + 1))],
        any::<(bool, bool)>(),
    );
    let with = |steps: BoxedStrategy<Vec<Step>>| {
        (shape.clone(), steps).prop_map(|((cap, reserve, min, cancel, (asks, forgives)), steps)| {
            Scope {
                cap,
                reserve,
                min,
                cancel,
                asks,
                steps,
                forgives,
            }
        })
    };
    // Cancels fall on odd milliseconds, all else on even ones: which of two tasks is first on one instant is not
    // for the reference to say. (With limits they may meet: that has an answer, in `causes.rs`.)
    let work = (1_u64..12).prop_map(|n| Step::Work(2 * n));
    let leaf = with(prop::collection::vec(work.clone(), 0..3).boxed()).boxed();
    let shape_of = move |inner: BoxedStrategy<Scope>| {
        let some = prop::collection::vec(inner.clone(), 1..4);
        let step = prop_oneof![
            3 => work.clone(),
            3 => inner.prop_map(Step::Call),
            1 => some.clone().prop_map(Step::Together),
            1 => some.prop_map(Step::Unordered),
        ];
        with(prop::collection::vec(step, 1..4).boxed()).boxed()
    };
    let two = shape_of(leaf);
    let three = shape_of(two.clone());
    prop_oneof![two, three]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_request_ends_when_why_and_by_whose_limit_the_reference_says(
        scope in scope(),
        budget in prop_oneof![1 => Just(None), 4 => (1_u64..60).prop_map(|n| Some(2 * n))],
        cancel in prop_oneof![2 => Just(None), 1 => (0_u64..50).prop_map(|n| Some(2 * n + 1))],
    ) {
        let limits = Limits {
            soft: budget.map(|budget| (budget, "request")),
            cancel: cancel.map(|at| (at, Cause::ClientCancelled)),
        };
        let expected = scope.model(0, limits, 0, 0);
        prop_assert_eq!(real(scope.clone(), budget, cancel, true), expected.clone());
        prop_assert_eq!(real(scope, budget, cancel, false), expected);
    }
}

#[test]
fn the_reference_itself() {
    let leaf = Scope {
        cap: Cap::Ten,
        reserve: 4,
        min: 0,
        cancel: None,
        asks: false,
        steps: vec![Step::Work(100)],
        forgives: false,
    };
    let none = Limits {
        soft: None,
        cancel: None,
    };
    // Work ends 4 before its end, and a quarter of that later.
    assert_eq!(
        leaf.model(0, none, 0, 0),
        (7, limit(Cause::DependencyTimeout, "a0"))
    );
    let tied = Limits {
        soft: Some((10, "request")),
        cancel: Some((3, Cause::ClientCancelled)),
    };
    assert_eq!(
        leaf.model(0, tied, 0, 0),
        (3, Err((Cause::ClientCancelled, None)))
    );
    let half = Scope {
        cap: Cap::Half,
        reserve: 0,
        ..leaf
    };
    let soft = Limits {
        cancel: None,
        ..tied
    };
    assert_eq!(
        half.model(0, soft, 0, 0),
        (5, limit(Cause::DependencyTimeout, "a0"))
    );
    assert!(Duration::from_millis(5) == ms(5));
}
