//! [`FromStopped`]: return types that can carry a stop.

use super::Stopped;

/// A return type that has a place for a [`Stopped`].
///
/// Built in for `Result<T, E>` where `E: From<Stopped>`, which covers `anyhow::Error`, `eyre::Report` and
/// `Box<dyn Error + Send + Sync>` as they are. Implement it for return types of your own:
///
/// ```
/// use deadline_runtime::{FromStopped, Stopped};
///
/// enum Answer {
///     Ready(String),
///     TooLate(Stopped),
/// }
///
/// impl FromStopped for Answer {
///     fn from_stopped(stopped: Stopped) -> Self {
///         Self::TooLate(stopped)
///     }
/// }
/// # let _ = Answer::Ready(String::new());
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no place for a stop",
    label = "a stopped function must return something, and this type cannot say that it was stopped",
    note = "if it is a `Result<_, E>`: write `impl From<deadline_runtime::Stopped> for E`; else return one (`Result<impl IntoResponse, Stopped>` among them)",
    note = "or give the value to return instead: `#[deadline(…, fallback = EXPR)]`",
    note = "or implement `deadline_runtime::FromStopped` for a type of your own"
)]
pub trait FromStopped: Sized {
    /// The value a stopped function returns.
    fn from_stopped(stopped: Stopped) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T, E: From<Stopped>> FromStopped for Result<T, E> {
    fn from_stopped(stopped: Stopped) -> Self {
        Err(E::from(stopped))
    }
}
