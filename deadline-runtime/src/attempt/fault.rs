//! [`Fault`]: the error types that a combinator hands on, and what it has to know of them.

use std::error::Error;
use std::ops::Deref;

use crate::stop::{Cause, Stopped};

/// An error type that an attempt may end with: it has a place for a stop, and can become the source of one.
///
/// Nothing to implement: it holds for every error type that is `Send + Sync + 'static` and implements
/// `From<Stopped>`, and for `anyhow::Error`, `eyre::Report` and `Box<dyn Error + Send + Sync>`, which are no errors themselves
/// but point at one. The parameter keeps the two kinds apart and is always inferred.
#[diagnostic::on_unimplemented(
    message = "attempts under a deadline cannot end with `{Self}`",
    label = "this error has no place for a stop, or is no error that could be the source of one",
    note = "write `impl From<deadline_runtime::Stopped> for {Self}` and `impl std::error::Error for {Self}`",
    note = "`anyhow::Error`, `eyre::Report` and `Box<dyn Error + Send + Sync>` work as they are"
)]
pub trait Fault<Kind>: Sized {
    #[doc(hidden)]
    fn stop(&self) -> Option<&Stopped>;
    #[doc(hidden)]
    fn boxed(self) -> Box<dyn Error + Send + Sync>;
    #[doc(hidden)]
    fn of_stop(stopped: Stopped) -> Self;
}

/// Error types.
#[derive(Debug)]
pub enum ByValue {}

/// Pointers to an error.
#[derive(Debug)]
pub enum ByDeref {}

#[diagnostic::do_not_recommend]
impl<E: Error + From<Stopped> + Send + Sync + 'static> Fault<ByValue> for E {
    fn stop(&self) -> Option<&Stopped> {
        Stopped::find(self)
    }

    fn boxed(self) -> Box<dyn Error + Send + Sync> {
        Box::new(self)
    }

    fn of_stop(stopped: Stopped) -> Self {
        Self::from(stopped)
    }
}

#[diagnostic::do_not_recommend]
impl<E> Fault<ByDeref> for E
where
    E: Deref<Target = dyn Error + Send + Sync> + From<Stopped> + Into<Box<dyn Error + Send + Sync>>,
{
    fn stop(&self) -> Option<&Stopped> {
        Stopped::find(&**self)
    }

    fn boxed(self) -> Box<dyn Error + Send + Sync> {
        self.into()
    }

    fn of_stop(stopped: Stopped) -> Self {
        Self::from(stopped)
    }
}

/// What is known of an error type, without its kind in every signature.
pub(crate) struct Kind<E> {
    pub(crate) stop: fn(&E) -> Option<&Stopped>,
    pub(crate) boxed: fn(E) -> Box<dyn Error + Send + Sync>,
    pub(crate) of_stop: fn(Stopped) -> E,
}

impl<E> Clone for Kind<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Kind<E> {}

impl<E> Kind<E> {
    pub(crate) fn of<K>() -> Self
    where
        E: Fault<K>,
    {
        Self {
            stop: E::stop,
            boxed: E::boxed,
            of_stop: E::of_stop,
        }
    }

    /// A stop as an error, with the last real one behind it.
    pub(crate) fn error(&self, stopped: Stopped, last: Option<E>) -> E {
        (self.of_stop)(match last {
            Some(last) => stopped.with_source((self.boxed)(last)),
            None => stopped,
        })
    }
}

/// How an attempt failed.
pub(crate) enum Failure<E> {
    /// It returned an error.
    Error(E),
    /// Its own scope was stopped, by its cap or from above.
    Stopped(Stopped),
}

impl<E> Failure<E> {
    /// The stop in it.
    pub(crate) fn stop(&self, kind: Kind<E>) -> Option<&Stopped> {
        match self {
            Self::Error(error) => (kind.stop)(error),
            Self::Stopped(stopped) => Some(stopped),
        }
    }

    /// The error as it is. A stop gets the last real error as its source.
    pub(crate) fn into_error(self, kind: Kind<E>, last: Option<E>) -> E {
        match self {
            Self::Error(error) => error,
            Self::Stopped(stopped) => kind.error(stopped, last),
        }
    }

    /// The error behind a stop of our own: the last one that is no stop, if there is any.
    pub(crate) fn behind(self, kind: Kind<E>, last: Option<E>, stopped: Stopped) -> E {
        let stop = self.stop(kind).is_some();
        match (self, last) {
            (Self::Error(error), None) => kind.error(stopped, Some(error)),
            (Self::Error(error), Some(_)) if !stop => kind.error(stopped, Some(error)),
            (_, Some(last)) => kind.error(stopped, Some(last)),
            (Self::Stopped(own), None) => (kind.of_stop)(stopped.with_source(own)),
        }
    }

    /// The error where the scope around was stopped meanwhile: a stop, with the real error behind it if there was one.
    pub(crate) fn in_stopped_scope(self, kind: Kind<E>, last: Option<E>, own: Stopped) -> E {
        let stop = self.stop(kind).is_some();
        match (self, last) {
            (Self::Stopped(stopped), last) => kind.error(stopped, last),
            (Self::Error(_), Some(last)) if stop => kind.error(own, Some(last)),
            (Self::Error(error), _) => error,
        }
    }

    /// What to keep of this failure and those before it when another attempt is made.
    pub(crate) fn keep(self, kind: Kind<E>, last: Option<E>) -> Option<E> {
        let stop = self.stop(kind).is_some();
        match (self, last) {
            (Self::Error(error), last) if !stop || last.is_none() => Some(error),
            (_, last) => last,
        }
    }
}

/// Whether work that was stopped for this reason is worth another attempt, if there is time for one. That the stop is
/// not one of the scope around has been found out before: of the same word it may be a limit further inside.
pub(crate) const fn worth_another(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::DeadlineExceeded
            | Cause::DependencyTimeout
            | Cause::DependencyFailed
            | Cause::Overload
    )
}
