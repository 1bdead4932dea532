//! [`PropagateDeadlineMiddleware`].

use std::error::Error;
use std::fmt;
use std::time::Duration;

use ::http::Extensions;
use ::reqwest::{Request, Response};
use ::reqwest_middleware::{Error as MiddlewareError, Middleware, Next};

use super::{answer, failed};
use crate::http::client::{InternalHosts, Outgoing, Warm};
use crate::stop::Stopped;

/// Sends every request of a client inside the deadline of the calling context, as
/// [`PropagateDeadlineLayer`](crate::http::PropagateDeadlineLayer) does for tower clients.
///
/// Put it below a retry middleware, so that the figure is computed for each attempt. A stop is an error of the kind
/// `Middleware`; [`Stopped::find`] digs it out. What a peer says in `x-deadline-cause` is read from the answer by
/// [`ResponseExt::error_for_stop`](crate::http::ResponseExt::error_for_stop).
///
/// ```
/// use deadline_runtime::http::{ClientBuilderExt as _, InternalHosts, PropagateDeadlineMiddleware};
///
/// # fn main() -> Result<(), reqwest::Error> {
/// let client = reqwest::Client::builder().for_internal_services().build()?;
/// let hosts = InternalHosts::new(["profile", "orders"]);
/// let client = reqwest_middleware::ClientBuilder::new(client)
///     .with(PropagateDeadlineMiddleware::new(hosts))
///     .build();
/// # let _ = client;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct PropagateDeadlineMiddleware {
    hosts: InternalHosts,
    warm: Warm,
}

impl PropagateDeadlineMiddleware {
    /// A middleware that tells `hosts`.
    #[must_use]
    pub fn new(hosts: InternalHosts) -> Self {
        Self {
            hosts,
            warm: Warm::new(Duration::ZERO),
        }
    }

    /// What opening a connection takes, as an estimate; see
    /// [`PropagateDeadlineLayer::connect_estimate`](crate::http::PropagateDeadlineLayer::connect_estimate).
    #[must_use]
    pub fn connect_estimate(mut self, estimate: Duration) -> Self {
        self.warm = Warm::new(estimate);
        self
    }
}

#[async_trait::async_trait]
impl Middleware for PropagateDeadlineMiddleware {
    async fn handle(
        &self,
        mut request: Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> Result<Response, MiddlewareError> {
        let outgoing = Outgoing::here();
        let asked = request.url().clone();
        let host = asked.host_str();
        let cold = host.map_or(Duration::ZERO, |host| self.warm.estimate(host));
        let call = outgoing.admit(cold).map_err(stop)?;
        if self.hosts.admits(host) {
            outgoing.write(&call, request.headers_mut());
        }
        let run = outgoing.cx.run(next.run(request, extensions));
        let outcome = run.await.map_err(|stopped| stop(stopped.while_waiting()))?;
        let answer = outcome.map_err(|error| match error {
            // An error of reqwest's in the moment of our own end is ours.
            MiddlewareError::Reqwest(error) if outgoing.cx.cause().is_some() => {
                stop(failed(&outgoing, &call, error))
            }
            other => other,
        })?;
        if let Some(host) = host {
            self.warm.answered(host);
        }
        Ok(answer::within(answer, &asked, &outgoing, call))
    }
}

/// The crate shows only the sources of what a middleware fails with, so the stop is one.
#[derive(Debug)]
struct Ended(Stopped);

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Ended {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

fn stop(stopped: Stopped) -> MiddlewareError {
    MiddlewareError::middleware(Ended(stopped))
}
