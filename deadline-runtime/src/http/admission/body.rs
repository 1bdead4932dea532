//! [`AdmittedBody`]: an answer that holds its slot.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use crate::admission::Slot;

pin_project! {
    /// The body of an answer, which gives its slot back at its end, or when it is dropped.
    pub struct AdmittedBody<B> {
        #[pin]
        kind: Kind<B>,
        slot: Option<Slot>,
    }
}

pin_project! {
    #[project = KindProj]
    enum Kind<B> {
        Services { #[pin] body: B },
        // Boxed, because it is seldom and every answer has room for it.
        Ours { bytes: Option<Box<Bytes>> },
    }
}

impl<B> AdmittedBody<B> {
    pub(super) fn ours(bytes: Bytes) -> Self {
        // Without a byte it has ended already, and says so with its head.
        let bytes = (!bytes.is_empty()).then(|| Box::new(bytes));
        Self {
            kind: Kind::Ours { bytes },
            slot: None,
        }
    }

    pub(super) const fn held(body: B, slot: Option<Slot>) -> Self {
        Self {
            kind: Kind::Services { body },
            slot,
        }
    }
}

/// `AdmittedBody(holds a slot)`; what is in it is nobody's business in a log.
impl<B> fmt::Debug for AdmittedBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = if self.slot.is_some() {
            "holds a slot"
        } else {
            "free"
        };
        write!(f, "AdmittedBody({held})")
    }
}

impl<B: Body<Data = Bytes>> Body for AdmittedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.project();
        match this.kind.project() {
            KindProj::Services { body } => {
                let frame = ready!(body.poll_frame(cx));
                if !matches!(frame, Some(Ok(_))) {
                    *this.slot = None;
                }
                Poll::Ready(frame)
            }
            KindProj::Ours { bytes } => {
                Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(*bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Services { body } => body.is_end_stream(),
            Kind::Ours { bytes } => bytes.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Services { body } => body.size_hint(),
            Kind::Ours { bytes } => {
                let length = bytes.as_ref().map_or(0, |bytes| bytes.len());
                SizeHint::with_exact(u64::try_from(length).unwrap_or(u64::MAX))
            }
        }
    }
}
