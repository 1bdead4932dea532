//! The receiving side: one tower layer.
//!
//! * [`layer`] and [`service`]: what a server stack is given.
//! * [`admission`]: from a request head to a root context.
//! * [`exchange`]: one request from its head to the end of its answer, and how its end is made visible.
//! * [`call`]: the inner service, made ready and called inside the deadline.
//! * [`future`]: runs the call and turns its end into an answer.
//! * [`request_body`] and [`response_body`]: the bodies inside the deadline.

mod admission;
mod call;
mod event;
mod exchange;
mod future;
mod layer;
mod progress;
mod request_body;
mod response_body;
mod service;

pub use self::future::ResponseFuture;
pub use self::layer::DeadlineLayer;
pub use self::request_body::RequestBody;
pub use self::response_body::ResponseBody;
pub use self::service::DeadlineService;
