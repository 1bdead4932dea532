//! [`Around`]: what the scope that polls a combinator has left.

use std::panic::Location;
use std::time::Duration;

use crate::context::current::{self, Frame};
use crate::stop::{Brief, Cause, Details, Limit, Path, PathEntry, Phase, Stopped};
use crate::time::{Deadline, SHORTEST};

/// The name of a combinator, and where it is used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) name: &'static str,
    pub(crate) location: &'static Location<'static>,
}

/// One look at the scope around. What is left is without its reserve.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Around {
    pub(crate) now: Deadline,
    /// The end of its work; `None` where there is none, or where it is not enforced.
    soft: Option<Deadline>,
    /// Whether it is stopped: by its end, or by a cancel.
    pub(crate) stopped: bool,
    /// Whether it is part of an attempt, so that somebody above repeats it.
    pub(crate) repeated: bool,
}

impl Around {
    /// Reads the clock once.
    pub(crate) fn look() -> Self {
        let now = Deadline::now();
        let (soft, stopped, repeated) = current::with(|frame| {
            let soft = frame.limits.soft.filter(|_| frame.mode.enforces());
            let attempt = frame.node.as_ref().and_then(|node| node.attempt());
            (soft, frame.stopped(|| now).is_some(), attempt.is_some())
        })
        .unwrap_or_default();
        Self {
            now,
            soft,
            stopped,
            repeated,
        }
    }

    /// `None` is unlimited.
    pub(crate) fn remaining(&self) -> Option<Duration> {
        self.soft.map(|soft| soft.since(self.now))
    }

    /// What a next attempt needs and what there is, if it does not fit. Equality fits.
    pub(crate) fn lacks(
        &self,
        wait: Duration,
        least: Duration,
        reserve: Duration,
    ) -> Option<(Duration, Duration)> {
        let has = self.remaining()?;
        let needs = wait
            .saturating_add(least.max(SHORTEST))
            .saturating_add(reserve);
        (needs > has).then_some((needs, has))
    }

    /// What an attempt that begins now may take: the least of its cap and of what is left before the reserve.
    pub(crate) fn granted(&self, cap: Option<Duration>, reserve: Duration) -> Option<Duration> {
        let left = self
            .remaining()
            .map(|remaining| remaining.saturating_sub(reserve));
        match (cap, left) {
            (Some(cap), Some(left)) => Some(cap.min(left)),
            (one, None) | (None, one) => one,
        }
    }
}

/// The stop of the scope around: by identity, whatever an error inside calls its cause.
#[cold]
pub(crate) fn own_stop(place: Place, begun: bool) -> Stopped {
    let stop = current::with_below(|frame, below| {
        let now = Deadline::now();
        let cause = frame.stopped(|| now).unwrap_or(Cause::DeadlineExceeded);
        let phase = if begun { Phase::Wait } else { Phase::Start };
        let stopped = frame.stop_error(cause, phase, now, place.location, frame.path(&below));
        frame.note_stop(&stopped);
        stopped
    });
    // Without a scope there is none that could be stopped.
    stop.unwrap_or_else(|| {
        Stopped::new(Details::of(Brief {
            cause: Cause::DeadlineExceeded,
            phase: Phase::Start,
            operation: place.name,
            limit: own_limit(place),
            deadline: None,
            budget: None,
            elapsed: Duration::ZERO,
        }))
    })
}

/// The error of a next attempt that would not fit, before the end of the scope around or `by_policy`.
pub(crate) fn refusal(
    place: Place,
    needed: (Duration, Duration),
    by_policy: bool,
    attempts: u32,
    started: Deadline,
) -> Stopped {
    let (limit, deadline, path) =
        current::with_below(|frame, below| (frame.limit(), frame.limits.soft, frame.path(&below)))
            .unwrap_or((own_limit(place), None, Path::default()));
    let limit = if by_policy { own_limit(place) } else { limit };
    let now = Deadline::now();
    let stopped = Stopped::new(Details {
        needed: Some(needed),
        attempts: Some(attempts),
        location: place.location,
        path: with(path, place, deadline),
        ..Details::of(Brief {
            cause: Cause::LocalBudgetRejected,
            phase: Phase::Start,
            operation: place.name,
            limit,
            deadline,
            budget: deadline.map(|deadline| deadline.since(started)),
            elapsed: now.since(started),
        })
    });
    current::with(|frame: &mut Frame| frame.note_stop(&stopped));
    stopped
}

/// What an error carried is over and done with: another attempt was made. So is what was noted further inside by the same
/// limit.
pub(crate) fn forget(stopped: &Stopped) {
    current::with(|frame| {
        let Some(node) = &frame.node else { return };
        let limit = stopped.brief().deadline;
        node.records().with(|all| {
            all.stop.take_if(|(last, _)| {
                last.same_as(stopped) || limit.is_some() && last.deadline == limit
            });
        });
    });
}

/// Does something whose stops are nobody's error.
pub(crate) fn unnoted<R>(work: impl FnOnce() -> R) -> R {
    let node = current::with(|frame| frame.node.clone()).flatten();
    let before = node
        .as_ref()
        .map(|node| node.records().with(|all| all.stop));
    let done = work();
    if let Some((node, before)) = node.zip(before) {
        node.records().with(|all| all.stop = before);
    }
    done
}

/// Says where the running scope waits.
pub(crate) fn waits_at(place: Place) {
    current::with(|frame| frame.seen.at = Some(place.location));
}

fn own_limit(place: Place) -> Limit {
    Limit {
        operation: place.name,
        location: place.location,
    }
}

fn with(mut path: Path, place: Place, hard: Option<Deadline>) -> Path {
    path.push(PathEntry {
        operation: place.name,
        hard,
    });
    path
}
