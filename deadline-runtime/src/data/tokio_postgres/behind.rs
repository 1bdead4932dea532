//! [`behind`]: a statement that is sent behind something else.

use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll};

/// Polls `before`, then `statement` behind it without waiting for an answer, and waits for both.
///
/// A statement may take several messages, each sent when the answer of the one before it has come. Of these the first goes
/// at once, and the others only when it is known that all is well.
pub(super) async fn behind<T, E>(
    mut before: impl FnMut(&mut Context<'_>) -> Poll<Result<(), E>>,
    statement: impl Future<Output = T>,
) -> Result<T, E> {
    let mut statement = pin!(statement);
    let (mut first, mut well, mut done) = (true, false, None);
    poll_fn(|cx| {
        if !well {
            well = before(cx)?.is_ready();
        }
        if done.is_none()
            && (well || first)
            && let Poll::Ready(answer) = statement.as_mut().poll(cx)
        {
            done = Some(answer);
        }
        first = false;
        if !well {
            return Poll::Pending;
        }
        done.take()
            .map_or(Poll::Pending, |done| Poll::Ready(Ok(done)))
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::task::Waker;

    use super::*;

    /// A statement of two messages: the answers of the first and the second.
    fn statement<'a>(
        sent: &'a Cell<u32>,
        answered: &'a Cell<u32>,
    ) -> impl Future<Output = &'static str> + 'a {
        poll_fn(move |_| {
            sent.set((answered.get() + 1).min(2));
            match answered.get() {
                2 => Poll::Ready("rows"),
                _ => Poll::Pending,
            }
        })
    }

    #[test]
    fn only_the_first_message_goes_before_all_is_known_to_be_well() {
        let mut cx = Context::from_waker(Waker::noop());
        let (sent, answered) = (Cell::new(0), Cell::new(0));
        let begun = Cell::new(Poll::<Result<(), &str>>::Pending);
        let mut both = pin!(behind(|_| begun.get(), statement(&sent, &answered),));
        assert!(both.as_mut().poll(&mut cx).is_pending());
        assert_eq!(sent.get(), 1, "at once");
        // Its answer is seen before that of the beginning, which comes from another queue.
        answered.set(1);
        assert!(both.as_mut().poll(&mut cx).is_pending());
        assert_eq!(sent.get(), 1);
        begun.set(Poll::Ready(Ok(())));
        assert!(both.as_mut().poll(&mut cx).is_pending());
        assert_eq!(sent.get(), 2);
        // Not asked again.
        begun.set(Poll::Pending);
        answered.set(2);
        assert_eq!(both.as_mut().poll(&mut cx), Poll::Ready(Ok("rows")));
    }

    #[test]
    fn nothing_more_goes_when_it_is_not_well() {
        let mut cx = Context::from_waker(Waker::noop());
        let (sent, answered) = (Cell::new(0), Cell::new(0));
        let begun = Cell::new(Poll::<Result<(), &str>>::Pending);
        let mut both = pin!(behind(|_| begun.get(), statement(&sent, &answered)));
        assert!(both.as_mut().poll(&mut cx).is_pending());
        answered.set(1);
        begun.set(Poll::Ready(Err("not begun")));
        assert_eq!(both.as_mut().poll(&mut cx), Poll::Ready(Err("not begun")));
        assert_eq!(sent.get(), 1);
    }

    #[test]
    fn a_statement_that_ends_first_waits_for_what_was_sent_before_it() {
        let mut cx = Context::from_waker(Waker::noop());
        let begun = Cell::new(Poll::<Result<(), ()>>::Pending);
        let mut both = pin!(behind(|_| begun.get(), async { "wrong parameters" }));
        assert!(both.as_mut().poll(&mut cx).is_pending());
        begun.set(Poll::Ready(Ok(())));
        let ended = both.as_mut().poll(&mut cx);
        assert_eq!(ended, Poll::Ready(Ok("wrong parameters")));
    }
}
