//! Sending with reqwest inside the deadline.

use std::future::Future;

use ::reqwest::{RequestBuilder, Response};

use super::client::{Outgoing, reported};
use crate::stop::{Cause, Phase, Stopped};

/// Sends a reqwest request inside the deadline of the calling context.
pub trait RequestBuilderExt: Sized {
    /// As [`RequestBuilder::send`], to an internal service: it is told in `x-request-timeout-ms` what is left for work
    /// and in `x-request-id` which request it belongs to, over any copies already set; the call ends with the context;
    /// with nothing left nothing is sent. The context is the one this is called in, also when the future is awaited
    /// in another task.
    ///
    /// Use it for services of your own only: a stranger should not learn these figures. That goes for redirects as
    /// well, and reqwest's own retries repeat the first figure: switch both off for internal clients. Reading the body
    /// afterwards is inside the deadline wherever the reading scope is.
    ///
    /// # Errors
    /// [`Stopped`], so that one `?` serves in functions that can be stopped anyway:
    ///
    /// * `deadline_exceeded`, or why the context was cancelled: our own time is over, before or after sending;
    /// * `dependency_timeout`: the peer says that it ran out of time before we did, or reqwest's own timeout passed;
    /// * `dependency_failed`: it could not be reached, or says that it stopped for another reason.
    ///
    /// reqwest's error, without the URL, is the [`source`](std::error::Error::source). Every other answer is an answer,
    /// whatever its status.
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
            let sent = outgoing.admit(std::time::Duration::ZERO)?;
            let failed = |error: ::reqwest::Error| {
                let (cause, phase) = if error.is_timeout() {
                    (Cause::DependencyTimeout, Phase::Response)
                } else if error.is_connect() {
                    (Cause::DependencyFailed, Phase::Connect)
                } else {
                    (Cause::DependencyFailed, Phase::Request)
                };
                sent.stop(outgoing.cx.cause().unwrap_or(cause), phase)
                    .with_source(error.without_url())
            };
            let (client, request) = self.build_split();
            let mut request = request.map_err(failed)?;
            outgoing.write(&sent, request.headers_mut());
            let answer = outgoing
                .cx
                .run(client.execute(request))
                .await
                .map_err(|stopped| stopped.in_phase(Phase::Response))?
                .map_err(failed)?;
            match reported(answer.headers(), &outgoing.cx) {
                Some(cause) => Err(sent.stop(cause, Phase::Response)),
                None => Ok(answer),
            }
        }
    }
}
