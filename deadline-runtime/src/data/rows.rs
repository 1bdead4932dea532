//! [`Rows`]: a stream written as an asynchronous block.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_core::future::BoxFuture;

/// Items that `body` hands to its [`Out`], then its error if it ends with one.
pub(crate) struct Rows<'e, T, E> {
    body: Option<BoxFuture<'e, Result<(), E>>>,
    handed: Out<T>,
}

/// Where the block puts its items.
pub(crate) struct Out<T>(Arc<Mutex<Option<T>>>);

impl<T> Out<T> {
    fn slot(&self) -> std::sync::MutexGuard<'_, Option<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands an item over and waits until the next one is asked for.
    pub(crate) async fn put(&self, item: T) {
        *self.slot() = Some(item);
        let mut handed = false;
        std::future::poll_fn(|_| {
            // The stream is ready with the item, so whoever reads it polls again.
            if std::mem::replace(&mut handed, true) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }
}

impl<'e, T: Send + 'e, E> Rows<'e, T, E> {
    pub(crate) fn new<F>(body: impl FnOnce(Out<T>) -> F) -> Self
    where
        F: Future<Output = Result<(), E>> + Send + 'e,
    {
        let handed = Arc::default();
        let body = body(Out(Arc::clone(&handed)));
        Self {
            body: Some(Box::pin(body)),
            handed: Out(handed),
        }
    }
}

impl<T, E> Stream for Rows<'_, T, E> {
    type Item = Result<T, E>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(body) = &mut self.body else {
            return Poll::Ready(None);
        };
        let polled = body.as_mut().poll(cx);
        if polled.is_ready() {
            self.body = None;
        }
        if let Some(item) = self.handed.slot().take() {
            return Poll::Ready(Some(Ok(item)));
        }
        match polled {
            Poll::Ready(Ok(())) => Poll::Ready(None),
            Poll::Ready(Err(error)) => Poll::Ready(Some(Err(error))),
            Poll::Pending => Poll::Pending,
        }
    }
}

/// The next item of a stream.
pub(crate) async fn next<S: Stream + Unpin + ?Sized>(stream: &mut S) -> Option<S::Item> {
    std::future::poll_fn(|cx| Pin::new(&mut *stream).poll_next(cx)).await
}
