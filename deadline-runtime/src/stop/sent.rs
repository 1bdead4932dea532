//! [`Sent`]: whether a call that failed may have had an effect.

use std::error::Error;
use std::io::ErrorKind;

use super::{Phase, Stopped};

/// Whether a call that failed may have had an effect at the other side.
///
/// There is no third value: a timeout proves nothing, and an answer that did not arrive may have been given. What is
/// [`NotSent`](Self::NotSent) can be repeated whatever it does; what is [`Unknown`](Self::Unknown) only if doing it twice
/// is harmless.
///
/// | what happened | |
/// |---|---|
/// | refused before it began: expired, too little left, no capacity | `NotSent` |
/// | the connection was refused, or could not be opened | `NotSent` |
/// | no slot, no pooled connection was free in time | `NotSent` |
/// | everything else: from the first byte on it may have arrived | `Unknown` |
///
/// It is about the one call that failed. What called it may have sent other things before.
///
/// ```
/// use std::io;
/// use deadline_runtime::Sent;
///
/// let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
/// assert_eq!(Sent::of(&refused), Sent::NotSent);
/// let reset = io::Error::from(io::ErrorKind::ConnectionReset);
/// assert_eq!(Sent::of(&reset), Sent::Unknown);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Sent {
    /// Not a byte has left.
    NotSent,
    /// Something may have left, so it may have been done.
    #[default]
    Unknown,
}

impl Sent {
    /// What an error and its sources prove: a [`Stopped`], a refused connection, and with their features what the
    /// clients of other crates say about connecting.
    #[must_use]
    pub fn of(error: &(dyn Error + 'static)) -> Self {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(stopped) = error.downcast_ref::<Stopped>() {
                return stopped.sent();
            }
            if is_connect(error) {
                return Self::NotSent;
            }
            // `io::Error` shows what it wraps as itself, not as its source.
            let inner = error
                .downcast_ref::<std::io::Error>()
                .and_then(std::io::Error::get_ref);
            if inner.is_some_and(|inner| Self::of(inner) == Self::NotSent) {
                return Self::NotSent;
            }
            next = error.source();
        }
        Self::Unknown
    }

    /// What a phase alone says.
    pub(super) const fn in_phase(phase: Phase) -> Self {
        match phase {
            Phase::Start | Phase::Queue | Phase::Connect | Phase::Pool => Self::NotSent,
            _ => Self::Unknown,
        }
    }
}

/// Whether it says that no connection came about. Of the kinds of an I/O error only a refusal proves it: the others are
/// also met on connections that were open.
fn is_connect(error: &(dyn Error + 'static)) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    if io.is_some_and(|io| io.kind() == ErrorKind::ConnectionRefused) {
        return true;
    }
    #[cfg(feature = "reqwest")]
    if let Some(error) = error.downcast_ref::<::reqwest::Error>() {
        return error.is_connect() || error.is_builder();
    }
    #[cfg(feature = "tonic")]
    if error.downcast_ref::<::tonic::ConnectError>().is_some() {
        return true;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_proved_is_not_sent() {
        let refused = || std::io::Error::from(ErrorKind::ConnectionRefused);
        assert_eq!(Sent::of(&refused()), Sent::NotSent);
        assert_eq!(Sent::of(&std::io::Error::other(refused())), Sent::NotSent);
        for kind in [
            ErrorKind::ConnectionReset,
            ErrorKind::BrokenPipe,
            ErrorKind::TimedOut,
            ErrorKind::HostUnreachable,
            ErrorKind::UnexpectedEof,
        ] {
            assert_eq!(Sent::of(&std::io::Error::from(kind)), Sent::Unknown);
        }
        assert_eq!(Sent::of(&std::fmt::Error), Sent::Unknown);
    }

    #[test]
    fn every_phase_has_its_answer() {
        for &phase in Phase::ALL {
            let not_sent = matches!(
                phase,
                Phase::Start | Phase::Queue | Phase::Connect | Phase::Pool
            );
            assert_eq!(Sent::in_phase(phase) == Sent::NotSent, not_sent, "{phase}");
        }
    }
}
