//! [`Hedge`]: the policy.

use std::future::Future;
use std::panic::Location;
use std::time::Duration;

use super::future::Hedging;
use super::latency::Latency;
use super::spawned::Spawned;
use crate::attempt::{Attempt, Fault, Kind, Place, Plan, worth_another};
use crate::context::Context;
use crate::scope::Run;

/// When, how often and how many at a time something is tried beside itself; see the [module](super) for the rules.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::hedge::{Hedge, Latency};
///
/// let latency = Latency::new(Duration::from_secs(30));
/// let quote = Hedge::idempotent("quote", Duration::from_millis(50))
///     .percentile(95, &latency)
///     .min_attempt(Duration::from_millis(10));
/// # let _ = quote;
/// ```
#[derive(Debug, Clone)]
#[must_use = "a policy does nothing until something is `run` under it"]
pub struct Hedge {
    pub(super) rules: Rules,
    latency: Option<(u8, Latency)>,
}

/// The policy without what is shared.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    pub(super) name: &'static str,
    pub(super) delay: Duration,
    pub(super) attempts: u32,
    pub(super) in_flight: usize,
    pub(super) plan: Plan,
    pub(super) joins: bool,
}

impl Hedge {
    /// For work that may be done twice. Another attempt begins when the last one has been out for `delay`.
    ///
    /// Two attempts. The name is that of the attempts in errors, events and reports.
    pub const fn idempotent(name: &'static str, delay: Duration) -> Self {
        Self {
            rules: Rules {
                name,
                delay,
                attempts: 2,
                in_flight: 2,
                plan: Plan {
                    cap: None,
                    least: Duration::ZERO,
                    reserve: Duration::ZERO,
                },
                joins: false,
            },
            latency: None,
        }
    }

    /// Begins another attempt when the last one has been out for longer than `percent` of those seen lately, instead of after
    /// the fixed delay; that one holds as long as too few were seen. The attempts are recorded in `latency`.
    ///
    /// The 95th percentile makes about 5 % more load.
    pub fn percentile(mut self, percent: u8, latency: &Latency) -> Self {
        self.latency = Some((percent, latency.clone()));
        self
    }

    /// How many attempts are made at most, the first one included; 2 unless said otherwise. Zero counts as one.
    pub const fn attempts(mut self, attempts: u32) -> Self {
        self.rules.attempts = if attempts == 0 { 1 } else { attempts };
        self
    }

    /// How many attempts are out at a time; 2 unless said otherwise. Zero counts as one: then another one begins only when the
    /// last has failed.
    pub const fn max_in_flight(mut self, most: usize) -> Self {
        self.rules.in_flight = if most == 0 { 1 } else { most };
        self
    }

    /// The most one attempt may take. Without one it may take all that is left.
    ///
    /// It is the program's own limit: it holds as well where the request's deadline is only observed.
    pub const fn attempt_cap(mut self, cap: Duration) -> Self {
        self.rules.plan.cap = Some(cap);
        self
    }

    /// The least a useful attempt needs; with less left it is not begun. A millisecond unless said otherwise.
    pub const fn min_attempt(mut self, least: Duration) -> Self {
        self.rules.plan.least = least;
        self
    }

    /// What is kept behind the attempts, for whatever comes after them.
    pub const fn reserve(mut self, reserve: Duration) -> Self {
        self.rules.plan.reserve = reserve;
        self
    }

    /// Waits until the losers have ended by themselves, with whatever they have spawned, instead of dropping them after one last
    /// poll: within their cleanup, or the [grace](crate::RootBuilder::grace) of their tasks. The winner's value is returned after that.
    ///
    /// Where nothing is enforced they are not waited for, because nothing would end them.
    pub const fn join_losers(mut self) -> Self {
        self.rules.joins = true;
        self
    }

    /// Runs attempts under the ambient context until one succeeds.
    ///
    /// The closure makes the future of one attempt. It is called inside the attempt's own context.
    ///
    /// # Errors
    /// The attempts' own error type; the [module](super) says which one.
    #[track_caller]
    pub fn run<K, M, F, T, E>(&self, make: M) -> Hedging<M, F, E, Worth<E>>
    where
        M: FnMut(Attempt) -> F,
        F: Future<Output = Result<T, E>>,
        E: Fault<K>,
    {
        self.hedging(Location::caller(), self.rules.joins, make)
    }

    /// As [`run`](Self::run), each attempt in a task of its own, so that one which computes for long does not hold the others
    /// up. Losers are [joined](Self::join_losers).
    ///
    /// ```
    /// use std::time::Duration;
    /// use deadline_runtime::hedge::Hedge;
    /// use deadline_runtime::{Stopped, deadline};
    ///
    /// #[deadline(budget = "300ms")]
    /// async fn price() -> Result<u32, Stopped> {
    ///     Hedge::idempotent("price", Duration::from_millis(50))
    ///         .run_spawned(|attempt| async move { Ok(attempt.number) })
    ///         .await
    /// }
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// assert_eq!(price().await.unwrap(), 1);
    /// # }
    /// ```
    ///
    /// # Errors
    /// As `run`.
    ///
    /// # Panics
    /// When awaited outside a tokio runtime, as [`tokio::spawn`] does; and with the panic of an attempt.
    #[allow(
        clippy::type_complexity,
        reason = "the closure that spawns has no name"
    )]
    #[track_caller]
    pub fn run_spawned<K, M, F, T, E>(
        &self,
        mut make: M,
    ) -> Hedging<impl FnMut(Attempt) -> Spawned<T, E>, Spawned<T, E>, E, Worth<E>>
    where
        M: FnMut(Attempt) -> F,
        F: Future<Output = Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: Fault<K> + Send + 'static,
    {
        // Under the attempt's context and not the task's own, which ends with the task: the winner's answer outlives that.
        let spawn = move |attempt| {
            let own = Context::current();
            let run = Run::inside(own.node().cloned(), make(attempt));
            Spawned::new(own.spawn(|_| run), E::of_stop)
        };
        self.hedging(Location::caller(), true, spawn)
    }

    fn hedging<K, M, F, T, E>(
        &self,
        location: &'static Location<'static>,
        joins: bool,
        make: M,
    ) -> Hedging<M, F, E, Worth<E>>
    where
        M: FnMut(Attempt) -> F,
        F: Future<Output = Result<T, E>>,
        E: Fault<K>,
    {
        let place = Place {
            name: self.rules.name,
            location,
        };
        let rules = Rules {
            joins,
            ..self.rules
        };
        let latency = self.latency.clone();
        let kind = Kind::of::<K>();
        Hedging::new(rules, latency, place, make, kind, worth::<K, E>)
    }
}

/// What is asked about errors unless a closure is given.
pub type Worth<E> = fn(&E) -> bool;

/// Unless told otherwise every error is worth another attempt, except a stop that says that it is not.
fn worth<K, E: Fault<K>>(error: &E) -> bool {
    error
        .stop()
        .is_none_or(|stopped| worth_another(stopped.cause()))
}
