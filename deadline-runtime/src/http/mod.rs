//! Where a request enters and leaves a process over HTTP.
//!
//! * [`DeadlineLayer`] receives: it reads how long the caller waits, makes the root [`Context`](crate::Context), runs
//!   the service inside it and turns a stop into an answer.
//! * [`PropagateDeadlineLayer`] sends: it tells internal services what is left and refuses to send when nothing is.
//! * [`ResponseExt`] reads why a peer stopped.
//! * [`AdmissionLayer`] lets in no more than can be served in time.
//! * [`Shutdown`] ends what is served within a budget; `serve` (feature `serve`) is a server that does.
//! * [`grpc`]: what is different about gRPC, and with the feature `tonic` stops as statuses and back.
//!
//! Both layers are generic tower layers over `http::Request<B>`, so that axum, hyper, tonic and every other tower stack
//! use the same. Order on the server, from the outside: trace, request id, deadline, limits. The clock starts where the
//! layer sees the head of the request, so that time in a queue behind it counts.
//!
//! # Headers
//!
//! | header | direction | meaning |
//! |---|---|---|
//! | `x-request-timeout-ms` | in and out | whole milliseconds that the caller will wait from now on; preferred |
//! | `grpc-timeout` | in and out, gRPC | the same in gRPC's form, for the whole call |
//! | `x-request-deadline` | in, if asked for | milliseconds since the epoch; believed within bounds, see [`codec::absolute`] |
//! | `connect-timeout-ms`, `x-envoy-expected-rq-timeout-ms` | in, if asked for | what these protocols say |
//! | `x-request-start` | in, if asked for | when a proxy took the request: its queue counts |
//! | `x-request-id` | in and out | the request's identity: taken if it is short visible ASCII, else made |
//! | `x-request-attempt`, `grpc-previous-rpc-attempts` | in and out | somebody above repeats: nobody below does ([`Context::attempt`](crate::Context::attempt)) |
//! | `x-deadline-cause` | answer | the [`Cause`](crate::Cause) of a stop, so that ours is told from a proxy's 504 |
//! | `x-deadline-detail` | answer, to trusted callers | operation, limit, elapsed time and phase |
//! | `retry-after`, `grpc-retry-pushback-ms` | answer | with every 503, with gRPC's 8 and 14 |
//!
//! Which are read is [`Policy::headers`]; how they are written is [`codec`].
//!
//! # How much a request is granted
//!
//! | | |
//! |---|---|
//! | the caller says nothing, or is not trusted | the override of the moment, else the default, else the maximum |
//! | [`Trust::ShortenOnly`] | what the caller says, at most that |
//! | [`Trust::Full`] | what the caller says, at most the maximum |
//! | a layer further out | at most what that has left |
//! | unreadable | 400 and gRPC 3, or the default: never no limit |
//! | zero, or less than is useful | 504 and gRPC 4 at once: neither handler nor body is begun |
//!
//! Which of them won is in the event of a stopped request as `granted_by`.
//!
//! # How an answer ends
//!
//! | answer | ends |
//! |---|---|
//! | `text/event-stream`, gRPC without a deadline of the caller's | the deadline bounds the head; then no gap longer than [`Policy::stream_idle`], and [`Policy::stream_total`] if there is one |
//! | gRPC with one | by then, less the reserve, with trailers that say `DEADLINE_EXCEEDED` |
//! | 101 | the deadline bounds the head; what follows is not HTTP's |
//! | every other | body and all by the deadline, cut off so that nobody takes it for whole |
//!
//! What runs inside a stream sees a context without the deadline of the head. What its handler has spawned before the
//! head still has that: let the body do the work, or [`detach`](crate::Context::detach) it.
//!
//! # Clients that leave
//!
//! hyper drops the handler when the connection closes, when a client closes its sending side (unless its `half_close` is
//! on) and when a stream of HTTP/2 is reset; the cause is then `client_cancelled` where the layer is
//! [`outermost`](DeadlineLayer::outermost), and `abandoned` where that is not said. It does not notice while a pipelined
//! request or a part of the body is unread: there the deadline is the end. An endpoint that must finish all the same
//! has a [`FinishOnDisconnectLayer`].
//!
//! # Two services
//!
//! A service that calls another one, with axum and reqwest (features `axum` and `reqwest`):
//!
#![cfg_attr(all(feature = "axum", feature = "reqwest"), doc = "```no_run")]
#![cfg_attr(not(all(feature = "axum", feature = "reqwest")), doc = "```ignore")]
//! use std::time::Duration;
//!
//! use axum::{Router, extract::State, routing::get};
//! use deadline_runtime::Stopped;
//! use deadline_runtime::http::{
//!     ClientBuilderExt as _, DeadlineLayer, Policy, RequestBuilderExt as _,
//! };
//!
//! async fn dashboard(State(client): State<reqwest::Client>) -> Result<String, Stopped> {
//!     let profile = client.get("http://profile/42").send_within_deadline().await?;
//!     Ok(profile.status().to_string())
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let policy = Policy::new().default(Duration::from_millis(1_500)).with_env()?;
//!     let app = Router::new()
//!         .route("/", get(dashboard))
//!         .with_state(reqwest::Client::builder().for_internal_services().build()?)
//!         .layer(DeadlineLayer::new("GET /", policy).outermost(true));
//!     let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
//!     axum::serve(listener, app).await?;
//!     Ok(())
//! }
//! ```

mod admission;
mod answer;
mod client;
pub mod codec;
mod convert;
pub mod grpc;
pub mod header;
mod policy;
mod request_id;
mod server;
mod shutdown;
mod status;

pub use self::admission::{AdmissionLayer, Admitted, AdmittedBody, AdmittedFuture};
pub use self::client::{
    InboundBody, InternalHosts, PropagateDeadline, PropagateDeadlineLayer, PropagateFuture,
    ResponseExt, Unavailable,
};
pub use self::policy::{HeaderSet, Malformed, Policy, PolicyError, Trust};
pub use self::server::{
    DeadlineLayer, DeadlineService, FinishFuture, FinishOnDisconnect, FinishOnDisconnectLayer,
    RequestBody, ResponseBody, ResponseFuture,
};
#[cfg(feature = "serve")]
pub use self::shutdown::serve;
pub use self::shutdown::{Shutdown, ShutdownReport};
pub use self::status::status;

#[cfg(feature = "axum")]
mod axum;
#[cfg(feature = "reqwest")]
mod reqwest;
#[cfg(feature = "reqwest-middleware")]
pub use self::reqwest::PropagateDeadlineMiddleware;
#[cfg(feature = "reqwest")]
pub use self::reqwest::{ClientBuilderExt, RequestBuilderExt};
