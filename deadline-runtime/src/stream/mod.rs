//! Streams under a deadline: in total, and for each item.
//!
//! | when | then |
//! |---|---|
//! | an item is ready | it is yielded as `Ok`, also in the poll that crosses an end |
//! | the wait for one item is longer than [`per_item`](WithinDeadline::per_item) | `dependency_timeout`, limited by the stream. The wait begins where the last item was yielded (the first one's at the first poll), whenever the stream is polled |
//! | the deadline around, or the earlier [`total`](WithinDeadline::total), is reached | `deadline_exceeded`, or `dependency_timeout` if the total was strictly shorter |
//! | both come at the same instant | the deadline |
//! | the request is cancelled | its cause |
//! | stopped | the inner stream is dropped, inside its context; then one `Err` with the [`Stopped`](crate::Stopped), then `None` for good |
//! | the stream is always ready | the clock is read at every item: at most one is yielded after the end |
//! | less is left than [`Budget::min`](crate::Budget::min), or nothing | refused: one `Err`, the inner stream is never polled |
//! | nothing is enforced ([`Mode`](crate::Mode)) | neither limit is |
//!
//! The context is taken where [`within_deadline`] is called and is the ambient one while the inner stream is polled. A stream that is
//! returned from an annotated function is not cut when that returns: it ends by the deadline which held there.

mod within;

pub use self::within::{WithinDeadline, within_deadline};
