//! [`serve`]: accepting connections until a shutdown.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use ::http::{Request, Response};
use bytes::Bytes;
use http_body::Body;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tower_service::Service;

use super::handle::{Phase, Shutdown};
use crate::scope::TARGET;

/// How long a connection whose first request has not arrived may still deliver it when a shutdown begins.
const MOMENT: Duration = Duration::from_millis(100);

/// How long to wait when the system has no descriptor left for a connection.
const EXHAUSTED: Duration = Duration::from_secs(1);

type BoxError = Box<dyn Error + Send + Sync>;

/// Serves HTTP/1.1 and HTTP/2 until `shutdown`, and then ends within its budget.
///
/// It returns when the last connection has ended, which is at the latest when the shutdown is over: connections that have
/// not ended then are dropped. Put a [`DeadlineLayer`](crate::http::DeadlineLayer::shutdown) with the same shutdown around the
/// service, or new requests on old connections are not refused and nothing in flight is seen.
///
/// For TLS, a Unix socket or a listener with options of its own, use hyper or axum directly and
/// [`Shutdown::begun`].
///
/// ```no_run
/// use std::time::Duration;
/// use axum::{Router, routing::get};
/// use deadline_runtime::http::{DeadlineLayer, Policy, Shutdown, serve};
/// use tokio::net::TcpListener;
///
/// #[tokio::main]
/// async fn main() -> std::io::Result<()> {
///     let shutdown = Shutdown::new();
///     let app = Router::new()
///         .route("/", get(async || "hello"))
///         .layer(DeadlineLayer::new("GET /", Policy::new()).shutdown(&shutdown));
///     let listener = TcpListener::bind("127.0.0.1:8080").await?;
///     let server = tokio::spawn(serve(listener, app, shutdown.clone()));
///     // Wait for the signal here.
///     println!("{}", shutdown.begin(Duration::from_secs(10)).await);
///     server.await?
/// }
/// ```
///
/// # Errors
/// Those of the listener that do not pass: a connection which is gone before it is accepted is not one of them.
pub async fn serve<S, B>(listener: TcpListener, service: S, shutdown: Shutdown) -> io::Result<()>
where
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Into<BoxError>,
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    let mut connections = JoinSet::new();
    let begun = shutdown.begun();
    tokio::pin!(begun);
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut begun => break,
            accepted = listener.accept() => accepted,
            // Joined as they end, so that they do not pile up.
            Some(_) = connections.join_next() => continue,
        };
        match accepted {
            Ok((stream, _)) => {
                connections.spawn(connection(stream, service.clone(), shutdown.clone()));
            }
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) if is_exhausted(&error) => {
                tracing::warn!(target: TARGET, %error, "no connection can be accepted");
                tokio::time::sleep(EXHAUSTED).await;
            }
            Err(error) => return Err(error),
        }
    }
    drop(listener);
    let over = shutdown.reached(Phase::Over);
    tokio::pin!(over);
    loop {
        tokio::select! {
            biased;
            ended = connections.join_next() => if ended.is_none() { return Ok(()) },
            () = &mut over => break,
        }
    }
    // What has answered is flushed by now or never.
    connections.shutdown().await;
    Ok(())
}

async fn connection<S, B>(stream: TcpStream, service: S, shutdown: Shutdown)
where
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Into<BoxError>,
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    let _ = stream.set_nodelay(true);
    let used = Arc::new(AtomicBool::new(false));
    let service = TowerToHyperService::new(Used {
        inner: service,
        used: used.clone(),
    });
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new());
    builder.http2().timer(TokioTimer::new());
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
    tokio::pin!(connection);
    tokio::select! {
        biased;
        ended = &mut connection => return told(ended),
        () = shutdown.begun() => connection.as_mut().graceful_shutdown(),
    }
    if !used.load(Ordering::Relaxed) {
        let moment = tokio::time::timeout(MOMENT, &mut connection).await;
        if let Ok(ended) = moment {
            return told(ended);
        }
        if !used.load(Ordering::Relaxed) {
            return;
        }
    }
    told(connection.await);
}

fn told(ended: Result<(), BoxError>) {
    if let Err(error) = ended {
        tracing::debug!(target: TARGET, %error, "connection ended");
    }
}

/// Notes that a connection has brought a request.
#[derive(Clone)]
struct Used<S> {
    inner: S,
    used: Arc<AtomicBool>,
}

impl<S, B> Service<Request<B>> for Used<S>
where
    S: Service<Request<B>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> S::Future {
        self.used.store(true, Ordering::Relaxed);
        self.inner.call(request)
    }
}

fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}

/// `EMFILE` and `ENFILE`, which pass when a connection ends; there is no kind for them.
fn is_exhausted(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(23 | 24))
}
