//! Sending with reqwest inside the deadline.
//!
//! reqwest's own client is no tower service over `http::Request`, so it has an adapter: [`RequestBuilderExt`] for one
//! call, [`ClientBuilderExt`] for a client whose own redirects and retries do not get in the way, and with the feature
//! `reqwest-middleware` a middleware for all calls of a client.

mod answer;
mod client;
#[cfg(feature = "reqwest-middleware")]
mod middleware;

use std::future::Future;
use std::time::Duration;

use ::reqwest::{RequestBuilder, Response};

pub use self::client::ClientBuilderExt;
#[cfg(feature = "reqwest-middleware")]
pub use self::middleware::PropagateDeadlineMiddleware;
use super::client::{Call, Outgoing, ResponseExt, Unavailable, reported, told_to_come_back};
use crate::stop::{Cause, Phase, Sent, Stopped};

/// Sends a reqwest request inside the deadline of the calling context.
pub trait RequestBuilderExt: Sized {
    /// As [`RequestBuilder::send`], to an internal service: it is told in `x-request-timeout-ms` what is left for work
    /// and in `x-request-id` which request it belongs to, over any copies already set; the call ends with the context,
    /// and so does the body of its answer, whoever reads it; with nothing left nothing is sent. The context is the one
    /// this is called in, also when the future is awaited in another task.
    ///
    /// Use it for services of your own only: a stranger should not learn these figures. That goes for redirects as
    /// well, and what reqwest repeats by itself repeats the first figure: build clients for internal services with
    /// [`ClientBuilderExt::for_internal_services`]. A redirect that was followed all the same is said as a warning of
    /// the target `deadline`.
    ///
    /// # Errors
    /// [`Stopped`], so that one `?` serves in functions that can be stopped anyway:
    ///
    /// * `deadline_exceeded`, or why the context was cancelled: our own time is over, before or after sending;
    /// * `dependency_timeout`: the peer says that it ran out of time before we did, or reqwest's own timeout passed;
    /// * `dependency_failed`: it could not be reached, or says that it stopped for another reason. What it says about coming
    ///   back (`Retry-After`) is kept for a retry, as an [`Unavailable`](crate::http::Unavailable) in the source.
    ///
    /// [`Stopped::sent`] says whether anything has left. reqwest's error, without the URL, is the
    /// [`source`](std::error::Error::source). Every other answer is an answer, whatever its status.
    ///
    /// ```no_run
    /// use deadline_runtime::Stopped;
    /// use deadline_runtime::http::RequestBuilderExt as _;
    ///
    /// async fn profile(client: &reqwest::Client) -> Result<reqwest::StatusCode, Stopped> {
    ///     let answer = client.get("http://profile/42").send_within_deadline().await?;
    ///     Ok(answer.status())
    /// }
    /// ```
    fn send_within_deadline(self) -> impl Future<Output = Result<Response, Stopped>> + Send;
}

impl RequestBuilderExt for RequestBuilder {
    #[track_caller]
    fn send_within_deadline(self) -> impl Future<Output = Result<Response, Stopped>> + Send {
        let outgoing = Outgoing::here();
        async move {
            // Computed when it is sent, not when it was built.
            let call = outgoing.admit(Duration::ZERO)?;
            let (client, request) = self.build_split();
            let mut request = request.map_err(|error| failed(&outgoing, &call, error))?;
            outgoing.write(&call, request.headers_mut());
            let asked = request.url().clone();
            let answer = outgoing
                .cx
                .run(client.execute(request))
                .await
                .map_err(Stopped::while_waiting)?
                .map_err(|error| failed(&outgoing, &call, error))?;
            if let Some(cause) = reported(answer.headers(), &outgoing.cx) {
                let stopped = call.stop(cause, Phase::Response);
                return Err(told_to_come_back(
                    stopped,
                    answer.status(),
                    answer.headers(),
                ));
            }
            Ok(answer::within(answer, &asked, &outgoing, call))
        }
    }
}

impl ResponseExt for Response {
    #[track_caller]
    fn error_for_stop(self) -> Result<Self, Stopped> {
        super::client::stop_of(self.status(), self.headers()).map_or(Ok(self), Err)
    }

    fn error_for_unavailable(self) -> Result<Self, Unavailable> {
        Unavailable::of(self.status(), self.headers()).map_or(Ok(self), Err)
    }
}

impl Stopped {
    /// One that ended the wait for an answer; refused at the first poll, nothing was sent.
    fn while_waiting(self) -> Self {
        match self.phase() {
            Phase::Start => self,
            _ => self.in_phase(Phase::Response),
        }
    }
}

/// The clock decides before reqwest does.
fn failed(outgoing: &Outgoing, call: &Call, error: ::reqwest::Error) -> Stopped {
    let phase = if error.is_connect() {
        Phase::Connect
    } else if error.is_timeout() {
        Phase::Response
    } else {
        Phase::Request
    };
    let cause = if error.is_timeout() {
        Cause::DependencyTimeout
    } else {
        Cause::DependencyFailed
    };
    let sent = Sent::of(&error);
    call.stop(outgoing.cx.cause().unwrap_or(cause), phase)
        .with_sent(sent)
        .with_source(error.without_url())
}
