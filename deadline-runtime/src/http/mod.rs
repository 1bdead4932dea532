//! Where a request enters and leaves a process over HTTP.
//!
//! * [`DeadlineLayer`] receives: it reads how long the caller waits, makes the root [`Context`](crate::Context), runs
//!   the service inside it and turns a stop into an answer.
//! * [`PropagateDeadlineLayer`] sends: it tells internal services what is left and refuses to send when nothing is.
//! * [`ResponseExt`] reads why a peer stopped.
//!
//! Both are generic tower layers over `http::Request<B>`, so that axum, hyper and every other tower stack use the
//! same. Order on the server, from the outside: trace, request id, deadline, limits. The clock starts where the layer
//! sees the head of the request, so that time in a queue behind it counts.
//!
//! | header | direction | meaning |
//! |---|---|---|
//! | `x-request-timeout-ms` | in and out | whole milliseconds that the caller will wait from now on |
//! | `x-request-id` | in and out | the request's identity: taken if it is short visible ASCII, else made |
//! | `x-deadline-cause` | answer | the [`Cause`](crate::Cause) of a stop, so that ours is told from a proxy's 504 |
//! | `x-deadline-detail` | answer, to trusted callers | operation, limit, elapsed time and phase |
//! | `retry-after` | answer | with every 503 |
//!
//! A service that calls another one, with axum and reqwest (features `axum` and `reqwest`):
//!
#![cfg_attr(all(feature = "axum", feature = "reqwest"), doc = "```no_run")]
#![cfg_attr(not(all(feature = "axum", feature = "reqwest")), doc = "```ignore")]
//! use std::time::Duration;
//!
//! use axum::{Router, extract::State, routing::get};
//! use deadline_runtime::Stopped;
//! use deadline_runtime::http::{DeadlineLayer, Policy, RequestBuilderExt as _};
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
//!         .with_state(reqwest::Client::new())
//!         .layer(DeadlineLayer::new("GET /", policy));
//!     let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
//!     axum::serve(listener, app).await?;
//!     Ok(())
//! }
//! ```

mod answer;
mod client;
pub mod codec;
mod convert;
pub mod grpc;
pub mod header;
mod policy;
mod request_id;
mod server;
mod status;

pub use self::client::{
    InboundBody, InternalHosts, PropagateDeadline, PropagateDeadlineLayer, PropagateFuture,
    ResponseExt,
};
pub use self::policy::{HeaderSet, Malformed, Policy, PolicyError, Trust};
pub use self::server::{
    DeadlineLayer, DeadlineService, FinishFuture, FinishOnDisconnect, FinishOnDisconnectLayer,
    RequestBody, ResponseBody, ResponseFuture,
};
pub use self::status::status;

#[cfg(feature = "axum")]
mod axum;
#[cfg(feature = "reqwest")]
mod reqwest;
#[cfg(feature = "reqwest")]
pub use self::reqwest::RequestBuilderExt;
