//! The receiving side: one tower layer.
//!
//! * [`layer`] and [`service`]: what a server stack is given.
//! * [`head`]: the headers that concern us; [`asked`]: what they say about time; [`received`]: from a request head to a root
//!   context.
//! * [`exchange`]: one request from its head to the end of its answer, and how its end is made visible.
//! * [`call`]: the inner service, made ready and called inside the deadline.
//! * [`future`]: runs the call and turns its end into an answer.
//! * [`request_body`] and [`response_body`]: the bodies inside the deadline; [`ending`]: when and how an answer ends.
//! * [`finish`]: endpoints that finish though their client has gone.

mod asked;
mod call;
mod ending;
mod event;
mod exchange;
mod finish;
mod future;
mod head;
mod layer;
mod progress;
mod received;
mod request_body;
mod response_body;
mod service;

pub use self::finish::{FinishFuture, FinishOnDisconnect, FinishOnDisconnectLayer};
pub use self::future::ResponseFuture;
pub use self::layer::DeadlineLayer;
pub use self::request_body::RequestBody;
pub use self::response_body::ResponseBody;
pub use self::service::DeadlineService;
