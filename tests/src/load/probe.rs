//! [`ProbeLayer`]: every request counted from its head to the end of its answer.
//!
//! It stands outside of our layer, and knows nothing of it.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use http::{HeaderMap, Request, Response};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tower::{Layer, Service};

/// The counts of a server.
#[derive(Debug, Default)]
pub struct Counts {
    started: AtomicU64,
    running: AtomicI64,
    ended: Mutex<BTreeMap<End, u64>>,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// With the whole of an answer.
    Answered(u16),
    /// With a gRPC status of the handler's own, which is not OK, and nothing else.
    Failing(u16),
    /// An answer was begun and failed.
    Cut(u16),
    /// An answer was begun and nobody wanted the rest.
    Left(u16),
    /// Dropped before there was an answer.
    Dropped,
    /// The service failed.
    Failed,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answered(status) => write!(f, "{status}"),
            Self::Failing(code) => write!(f, "gRPC {code}, not a stop"),
            Self::Cut(status) => write!(f, "{status}, cut"),
            Self::Left(status) => write!(f, "{status}, left"),
            Self::Dropped => f.write_str("dropped"),
            Self::Failed => f.write_str("failed"),
        }
    }
}

impl Counts {
    /// How many came.
    #[must_use]
    pub fn started(&self) -> u64 {
        self.started.load(Relaxed)
    }

    /// How many there are now.
    #[must_use]
    pub fn running(&self) -> i64 {
        self.running.load(Relaxed)
    }

    /// How the others ended.
    #[must_use]
    pub fn ended(&self) -> BTreeMap<End, u64> {
        let ended = self.ended.lock();
        ended.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// One request. However it ends, it is counted once.
#[derive(Debug)]
struct One {
    counts: Arc<Counts>,
    end: End,
}

impl One {
    fn begin(counts: &Arc<Counts>) -> Self {
        counts.started.fetch_add(1, Relaxed);
        counts.running.fetch_add(1, Relaxed);
        Self {
            counts: counts.clone(),
            end: End::Dropped,
        }
    }
}

impl Drop for One {
    fn drop(&mut self) {
        let mut ended = self
            .counts
            .ended
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *ended.entry(self.end).or_default() += 1;
        self.counts.running.fetch_sub(1, Relaxed);
    }
}

/// Counts what the service below it is asked.
#[derive(Debug, Clone, Default)]
pub struct ProbeLayer(pub Arc<Counts>);

impl<S> Layer<S> for ProbeLayer {
    type Service = Probe<S>;

    fn layer(&self, inner: S) -> Probe<S> {
        Probe {
            inner,
            counts: self.0.clone(),
        }
    }
}

/// The service of a [`ProbeLayer`].
#[derive(Debug, Clone)]
pub struct Probe<S> {
    inner: S,
    counts: Arc<Counts>,
}

impl<S, B, R> Service<Request<B>> for Probe<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: Body,
{
    type Response = Response<ProbeBody<R>>;
    type Error = S::Error;
    type Future = ProbeFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        ProbeFuture {
            one: Some(One::begin(&self.counts)),
            future: self.inner.call(request),
        }
    }
}

pin_project! {
    /// The future of a [`Probe`].
    pub struct ProbeFuture<F> {
        one: Option<One>,
        #[pin]
        future: F,
    }
}

impl<F, R, E> Future for ProbeFuture<F>
where
    F: Future<Output = Result<Response<R>, E>>,
    R: Body,
{
    type Output = Result<Response<ProbeBody<R>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let answer = ready!(this.future.poll(cx));
        let mut one = this.one.take();
        let mut end = |end| {
            if let Some(one) = &mut one {
                one.end = end;
            }
        };
        Poll::Ready(match answer {
            Ok(answer) => {
                let status = answer.status().as_u16();
                let whole = answer.body().is_end_stream();
                end(if let Some(code) = failing(answer.headers()) {
                    End::Failing(code)
                } else if whole {
                    End::Answered(status)
                } else {
                    End::Left(status)
                });
                Ok(answer.map(|body| ProbeBody { one, status, body }))
            }
            Err(error) => {
                end(End::Failed);
                Err(error)
            }
        })
    }
}

/// The status in the head of a gRPC answer, if it is not OK and not that of a stop.
fn failing(headers: &HeaderMap) -> Option<u16> {
    let code = headers.get("grpc-status")?.to_str().ok()?.parse().ok()?;
    (code != 0 && !headers.contains_key("x-deadline-cause")).then_some(code)
}

pin_project! {
    /// The body of an answer.
    pub struct ProbeBody<R> {
        one: Option<One>,
        status: u16,
        #[pin]
        body: R,
    }
}

impl<R: Body> Body for ProbeBody<R> {
    type Data = R::Data;
    type Error = R::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<R::Data>, R::Error>>> {
        let mut this = self.project();
        let frame = ready!(this.body.as_mut().poll_frame(cx));
        let end = match &frame {
            None => End::Answered(*this.status),
            Some(Err(_)) => End::Cut(*this.status),
            Some(Ok(frame)) if frame.is_trailers() || this.body.is_end_stream() => {
                End::Answered(*this.status)
            }
            Some(Ok(_)) => return Poll::Ready(frame),
        };
        if let Some(mut one) = this.one.take()
            && !matches!(one.end, End::Failing(_))
        {
            one.end = end;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
