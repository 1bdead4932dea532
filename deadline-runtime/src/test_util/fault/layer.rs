//! [`FaultLayer`]: faults for every call of a tower service.

use std::task::{Context, Poll};

use tower_layer::Layer;
use tower_service::Service;

use super::future::Faulty;
use super::kind::{Fault, Injected};
use super::plan::Faults;

/// Does to the calls of a service what a plan says. The fault is drawn at the call; with [`Fault::Hang`] and
/// [`Fault::Error`] the service is not called at all.
///
/// ```
/// use deadline_runtime::test_util::{Fault, FaultLayer, Faults};
/// use tower::{ServiceBuilder, ServiceExt as _, service_fn};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let faults = Faults::script([Fault::Disconnect]);
/// let mut client = ServiceBuilder::new()
///     .layer(FaultLayer::new(&faults))
///     .service(service_fn(|request: u32| async move { Ok::<_, std::io::Error>(request) }));
/// let lost = client.ready().await.unwrap();
/// # use tower::Service as _;
/// assert_eq!(lost.call(1).await.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
/// assert_eq!(client.call(2).await.unwrap(), 2);
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct FaultLayer(Faults);

impl FaultLayer {
    /// With this plan.
    #[must_use]
    pub fn new(faults: &Faults) -> Self {
        Self(faults.clone())
    }
}

impl<S> Layer<S> for FaultLayer {
    type Service = FaultService<S>;

    fn layer(&self, service: S) -> FaultService<S> {
        FaultService {
            service,
            faults: self.0.clone(),
        }
    }
}

/// The service of [`FaultLayer`].
#[derive(Debug, Clone)]
pub struct FaultService<S> {
    service: S,
    faults: Faults,
}

impl<S, R> Service<R> for FaultService<S>
where
    S: Service<R>,
    S::Error: From<Injected>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Faulty<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let fault = self.faults.draw();
        let called = !matches!(fault, Fault::Hang | Fault::Error);
        let future = called.then(|| self.service.call(request));
        Faulty::with(self.faults.clone(), fault, future)
    }
}
