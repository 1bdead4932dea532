//! [`ResponseBody`].

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::ending::Ending;
use super::exchange::Exchange;
use crate::context::Cancelled;
use crate::scope::Timer;
use crate::stop::{Cause, Details, Stopped};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

pin_project! {
    /// The body of an answer, inside the deadline of its request: it ends by then, and a stream by its own limits.
    ///
    /// One that is still not complete is cut off with an error, which the server turns into a broken connection, so
    /// that nobody takes a part for the whole; a gRPC answer ends with trailers that say why. It is produced with the
    /// request's context in place. Dropped before its end it is a client that has gone.
    pub struct ResponseBody<B> {
        // Dropped before the body, so that what the body owns finds the cause recorded.
        within: Option<Within>,
        #[pin]
        kind: Kind<B>,
    }
}

pin_project! {
    #[project = KindProj]
    enum Kind<B> {
        Handlers { #[pin] body: B },
        // Boxed, because it is seldom and every answer has room for it.
        Ours { bytes: Option<Box<Bytes>> },
    }
}

pin_project! {
    /// What wakes a body that waits for its source.
    struct Alarm {
        #[pin]
        end: Timer,
        // Says the end of work as well, which comes before that of the body, and nothing after it.
        #[pin]
        cancelled: Cancelled,
        told: bool,
    }
}

/// What a body needs that is not complete yet.
struct Within {
    exchange: Exchange,
    ending: Ending,
    alarm: Option<Pin<Box<Alarm>>>,
    begun: bool,
    /// How many bytes are to come: servers do not ask a body whose length they know for its end. Where it is not known, more
    /// than ever come.
    left: u64,
}

impl<B> ResponseBody<B> {
    /// A complete answer of the layer.
    pub(super) fn ours(bytes: Bytes) -> Self {
        // Without a byte it has ended already, and says so with its head.
        let bytes = (!bytes.is_empty()).then(|| Box::new(bytes));
        let kind = Kind::Ours { bytes };
        Self { within: None, kind }
    }

    /// A body that nobody watches.
    pub(super) fn free(body: B) -> Self {
        let kind = Kind::Handlers { body };
        Self { within: None, kind }
    }
}

impl<B: Body> ResponseBody<B> {
    pub(super) fn within(body: B, exchange: Exchange, ending: Ending, length: Option<u64>) -> Self {
        let within = Within {
            left: length.unwrap_or(u64::MAX),
            exchange,
            ending,
            alarm: None,
            begun: false,
        };
        Self {
            within: Some(within),
            kind: Kind::Handlers { body },
        }
    }
}

impl<B> fmt::Debug for ResponseBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResponseBody")
    }
}

impl<B> Body for ResponseBody<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let mut this = self.project();
        let mut body = match this.kind.as_mut().project() {
            KindProj::Handlers { body } => body,
            KindProj::Ours { bytes } => {
                return Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(*bytes))));
            }
        };
        let Some(within) = this.within.as_mut() else {
            return body.poll_frame(cx).map_err(Into::into);
        };
        // A source that is always ready must end as well; only a first frame that came late is still sent.
        let over = within.begun && within.over().is_some();
        let polled = if over {
            Poll::Pending
        } else {
            within.exchange.polling = true;
            let request = &within.exchange.cx;
            let polled = request.enter(|| body.as_mut().poll_frame(cx));
            within.exchange.polling = false;
            polled
        };
        match polled {
            Poll::Ready(Some(Ok(frame))) => {
                within.begun = true;
                within.ending.item(&mut within.exchange);
                if frame.is_trailers() || body.is_end_stream() {
                    Within::complete(this.within);
                } else if within.was_last(&frame) {
                    within.exchange.delivered();
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(end) => {
                Within::complete(this.within);
                Poll::Ready(end.map(|frame| frame.map_err(Into::into)))
            }
            Poll::Pending if over || within.over().is_some() => {
                let last = Within::cut(this.within);
                // The source goes at once, and nothing comes after this.
                this.kind.set(Kind::Ours { bytes: None });
                Poll::Ready(last)
            }
            Poll::Pending => {
                within.wait(cx);
                Poll::Pending
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Handlers { body } => body.is_end_stream(),
            Kind::Ours { bytes } => bytes.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Handlers { body } => body.size_hint(),
            Kind::Ours { bytes } => {
                let length = bytes.as_ref().map_or(0, |bytes| bytes.len());
                SizeHint::with_exact(u64::try_from(length).unwrap_or(u64::MAX))
            }
        }
    }
}

impl Within {
    /// Why the answer has been ended by now, if it has.
    fn over(&mut self) -> Option<Cause> {
        self.ending.over(&mut self.exchange)
    }

    /// The last frame.
    fn cut(this: &mut Option<Self>) -> Option<Result<Frame<Bytes>, BoxError>> {
        let mut within = this.take()?;
        let cause = within.over().unwrap_or(Cause::DeadlineExceeded);
        let exchange = within.exchange;
        Some(if Ending::by_trailers(&exchange) {
            Ok(Frame::trailers(exchange.cut_with_trailers(cause)))
        } else {
            Err(Stopped::new(Details::of(exchange.cut(cause))).into())
        })
    }

    fn complete(this: &mut Option<Self>) {
        if let Some(within) = this {
            within.exchange.ended_well();
        }
        // Where it lies: to take it out first is to move it once more.
        *this = None;
    }

    /// Whether the announced length is out with this frame. Trailers may follow, and nobody may ask for them.
    fn was_last(&mut self, frame: &Frame<Bytes>) -> bool {
        let length = frame.data_ref().map_or(0, Buf::remaining);
        let length = u64::try_from(length).unwrap_or(u64::MAX);
        self.left = self.left.saturating_sub(length);
        self.left == 0
    }

    /// Wakes the task at the end and when the request is cancelled.
    fn wait(&mut self, cx: &mut Context<'_>) {
        if !self.exchange.enforces() {
            return;
        }
        let exchange = &self.exchange;
        let next = self.ending.next(exchange);
        let alarm = self.alarm.get_or_insert_with(|| {
            Box::pin(Alarm {
                end: Timer::default(),
                cancelled: exchange.cx.cancelled(),
                told: false,
            })
        });
        let alarm = alarm.as_mut().project();
        if !*alarm.told && alarm.cancelled.poll(cx).is_ready() {
            *alarm.told = true;
            if exchange.cancelled().is_some() {
                cx.waker().wake_by_ref();
            }
        }
        alarm.end.wait(next, cx);
    }
}

#[cfg(test)]
mod tests {
    use ::http::Response;

    use super::*;

    /// Each layer outside moves an answer several times; copying more than this takes twice as long.
    #[test]
    fn an_answer_is_small_enough_to_be_moved() {
        type Boxed = [usize; 2];
        assert!(size_of::<Response<ResponseBody<Boxed>>>() <= 256);
    }
}
