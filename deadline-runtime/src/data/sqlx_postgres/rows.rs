//! [`Rows`]: a stream written as an asynchronous block.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_core::future::BoxFuture;
use sqlx::postgres::{PgQueryResult, PgRow};
use sqlx::{Either, Error};

/// Items that `body` hands to its [`Out`], then its error if it ends with one.
pub(super) struct Rows<'e, T> {
    body: Option<BoxFuture<'e, Result<(), Error>>>,
    handed: Out<T>,
}

/// Where the block puts its items.
pub(super) struct Out<T>(Arc<Mutex<Option<T>>>);

impl<T> Out<T> {
    fn slot(&self) -> std::sync::MutexGuard<'_, Option<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands an item over and waits until the next one is asked for.
    pub(super) async fn put(&self, item: T) {
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

impl<'e, T: Send + 'e> Rows<'e, T> {
    pub(super) fn new<F>(body: impl FnOnce(Out<T>) -> F) -> Self
    where
        F: Future<Output = Result<(), Error>> + Send + 'e,
    {
        let handed = Arc::default();
        let body = body(Out(Arc::clone(&handed)));
        Self {
            body: Some(Box::pin(body)),
            handed: Out(handed),
        }
    }
}

impl<T> Stream for Rows<'_, T> {
    type Item = Result<T, Error>;

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

/// Where the rows of a statement go.
pub(super) enum Sink<'a> {
    Stream(Out<Either<PgQueryResult, PgRow>>),
    First(&'a mut Option<PgRow>),
    Nowhere,
}

impl Sink<'_> {
    pub(super) async fn put(&mut self, item: Either<PgQueryResult, PgRow>) {
        match self {
            Self::Stream(out) => out.put(item).await,
            Self::First(first) => {
                if let (Either::Right(row), None) = (item, first.as_ref()) {
                    **first = Some(row);
                }
            }
            Self::Nowhere => {}
        }
    }
}

/// The next item of a stream.
pub(super) async fn next<S: Stream + Unpin + ?Sized>(stream: &mut S) -> Option<S::Item> {
    std::future::poll_fn(|cx| Pin::new(&mut *stream).poll_next(cx)).await
}
