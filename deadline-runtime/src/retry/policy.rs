//! [`Retry`]: the policy, plain data.

use std::future::Future;
use std::marker::PhantomData;
use std::panic::Location;
use std::time::Duration;

use super::advice::Advice;
use super::backoff::Backoff;
use super::future::{Judge, Retrying};
use crate::attempt::{Attempt, Fault, Kind, Place, Plan};
use crate::figure::{Attempts, Unbudgeted};

/// How often, how long and how fast something is tried; see the [module](super) for the rules.
///
/// Plain data: make it a `const` beside the client it belongs to. `B` is the figure that the futures of [`run`](Self::run) declare.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::retry::{Backoff, Retry};
///
/// const QUOTE: Retry = Retry::idempotent("quote")
///     .attempts(4)
///     .attempt_cap(Duration::from_millis(200))
///     .min_attempt(Duration::from_millis(30))
///     .backoff(Backoff::fixed(Duration::from_millis(10)));
/// # let _ = QUOTE;
/// ```
#[must_use = "a policy does nothing until something is `run` under it"]
pub struct Retry<B = Unbudgeted> {
    pub(super) rules: Rules,
    figure: PhantomData<fn() -> B>,
}

/// The policy without its type.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    pub(super) name: &'static str,
    pub(super) attempts: u32,
    pub(super) plan: Plan,
    pub(super) backoff: Backoff,
    /// The most that all waits may take together.
    pub(super) waits: Option<Duration>,
    pub(super) idempotent: bool,
    pub(super) timeouts: bool,
    /// Repeats also below an attempt of somebody else.
    pub(super) nested: bool,
}

impl<B> Clone for Retry<B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for Retry<B> {}

impl<B> std::fmt::Debug for Retry<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.rules.fmt(f)
    }
}

impl Retry {
    /// For work that may be done twice: reads, and writes that carry an idempotency key or set a state.
    ///
    /// Three attempts, with the waits of [`Backoff::default`]. The name is that of the attempts in errors, events and
    /// reports.
    pub const fn idempotent(name: &'static str) -> Self {
        Self {
            rules: Rules {
                name,
                attempts: 3,
                plan: Plan {
                    cap: None,
                    least: Duration::ZERO,
                    reserve: Duration::ZERO,
                },
                backoff: Backoff::DEFAULT,
                waits: None,
                idempotent: true,
                timeouts: true,
                nested: false,
            },
            figure: PhantomData,
        }
    }

    /// For work that must not be done twice: repeated is only an attempt that was surely not sent.
    ///
    /// That is one that was refused before it was entered, and one whose error [says so](Retrying::advise). A timeout never is.
    pub const fn non_idempotent(name: &'static str) -> Self {
        let mut retry = Self::idempotent(name);
        retry.rules.idempotent = false;
        retry
    }

    /// Puts the figures into the type: `TIMES` attempts of at most `EACH` milliseconds, and at most `BACKOFFS` milliseconds of
    /// waiting in all. They are enforced as well: waits are shortened to what is left of `BACKOFFS`.
    ///
    /// Set an [`attempt_cap`](Self::attempt_cap) afterwards to let an attempt take more than its figure while there is time.
    pub const fn checked<const TIMES: u64, const EACH: u64, const BACKOFFS: u64>(
        self,
    ) -> Retry<Attempts<TIMES, EACH, BACKOFFS>> {
        const {
            assert!(TIMES > 0, "a retry makes at least one attempt");
            assert!(EACH > 0, "an attempt takes at least one millisecond");
        }
        let mut rules = self.rules;
        rules.attempts = narrow(TIMES);
        rules.plan.cap = Some(Duration::from_millis(EACH));
        rules.waits = Some(Duration::from_millis(BACKOFFS));
        Retry {
            rules,
            figure: PhantomData,
        }
    }

    /// How many attempts are made at most, the first one included; 3 unless said otherwise. Zero counts as one.
    ///
    /// With `u32::MAX` only the deadline ends it; there must be one then.
    pub const fn attempts(mut self, attempts: u32) -> Self {
        self.rules.attempts = if attempts == 0 { 1 } else { attempts };
        self
    }
}

#[allow(clippy::cast_possible_truncation, reason = "compared just before")]
const fn narrow(times: u64) -> u32 {
    if times > u32::MAX as u64 {
        u32::MAX
    } else {
        times as u32
    }
}

impl<B> Retry<B> {
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

    /// What is kept behind the attempts, for whatever comes after them. It is on top of the reserve of the function around,
    /// which is not part of what is left anyway.
    pub const fn reserve(mut self, reserve: Duration) -> Self {
        self.rules.plan.reserve = reserve;
        self
    }

    /// How long to wait between two attempts.
    pub const fn backoff(mut self, backoff: Backoff) -> Self {
        self.rules.backoff = backoff;
        self
    }

    /// Tries again also where somebody above repeats: a retry around this one, or the caller of the request, who has
    /// said so in `x-request-attempt`. The attempts multiply then: for short local repetitions, such as a transaction that lost
    /// against another one.
    pub const fn under_a_retry(mut self) -> Self {
        self.rules.nested = true;
        self
    }

    /// An attempt that used up its own cap is not tried again: where a slow dependency is more likely to be overloaded than
    /// unlucky.
    pub const fn give_up_on_timeout(mut self) -> Self {
        self.rules.timeouts = false;
        self
    }

    /// Runs attempts under the ambient context until one succeeds; to run them under another, [`Context::run`](crate::Context::run) the future.
    ///
    /// The closure makes the future of one attempt. It is called inside the attempt's own context.
    ///
    /// # Errors
    /// The attempts' own error type; the [module](super#what-comes-back) says which one.
    #[track_caller]
    pub fn run<K, M, F, T, E>(&self, make: M) -> Retrying<B, M, F, E, Judge<E>>
    where
        M: FnMut(Attempt) -> F,
        F: Future<Output = Result<T, E>>,
        E: Fault<K>,
    {
        let place = Place {
            name: self.rules.name,
            location: Location::caller(),
        };
        Retrying::new(self.rules, place, make, Kind::of::<K>(), advice::<K, E>)
    }
}

/// Unless told otherwise every error is worth another attempt, except a stop that says that it is not.
fn advice<K, E: Fault<K>>(error: &E) -> Advice {
    error.stop().map_or(Advice::retry(), Advice::of_stop)
}
