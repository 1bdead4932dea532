//! [`Hedge`]: the policy.

use std::future::Future;
use std::panic::Location;
use std::time::Duration;

use super::future::Hedging;
use super::latency::Latency;
use crate::attempt::{Attempt, Fault, Kind, Place, Plan, worth_another};

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

    /// Runs attempts under the ambient context until one succeeds.
    ///
    /// The closure makes the future of one attempt. It is called inside the attempt's own context.
    ///
    /// # Errors
    /// The attempts' own error type; the [module](super) says which one.
    #[track_caller]
    pub fn run<K, M, F, T, E>(&self, make: M) -> Hedging<M, F, E, fn(&E) -> bool>
    where
        M: FnMut(Attempt) -> F,
        F: Future<Output = Result<T, E>>,
        E: Fault<K>,
    {
        let place = Place {
            name: self.rules.name,
            location: Location::caller(),
        };
        let latency = self.latency.clone();
        Hedging::new(
            self.rules,
            latency,
            place,
            make,
            Kind::of::<K>(),
            worth::<K, E>,
        )
    }
}

/// Unless told otherwise every error is worth another attempt, except a stop that says that it is not.
fn worth<K, E: Fault<K>>(error: &E) -> bool {
    error
        .stop()
        .is_none_or(|stopped| worth_another(stopped.cause()))
}
