//! Faults for every call of a tower service.
#![allow(missing_docs, clippy::all, clippy::pedantic)]

mod common;

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use common::ms;
use deadline_runtime::test_util::{Fault, FaultLayer, Faults, assert_stopped, elapsed_of};
use deadline_runtime::{Cause, timeout};
use tower::{Service as _, ServiceBuilder, ServiceExt as _, service_fn};

#[tokio::test(start_paused = true)]
async fn the_service_is_called_or_not_as_the_fault_says() {
    let calls = AtomicUsize::new(0);
    let faults = Faults::script([
        Fault::Pass,
        Fault::Error,
        Fault::Hang,
        Fault::Disconnect,
        Fault::Delay(ms(20)),
    ]);
    let mut service = ServiceBuilder::new()
        .layer(FaultLayer::new(&faults))
        .service(service_fn(|at: u32| {
            calls.fetch_add(1, Relaxed);
            async move { Ok::<_, std::io::Error>(at) }
        }));
    assert_eq!(service.ready().await.unwrap().call(1).await.unwrap(), 1);
    assert!(service.call(2).await.is_err());
    assert_stopped(&timeout(ms(10), service.call(3)).await).cause(Cause::DeadlineExceeded);
    assert_eq!(calls.load(Relaxed), 1);
    let lost = service.call(4).await.unwrap_err();
    assert_eq!(lost.kind(), std::io::ErrorKind::ConnectionReset);
    let (took, late) = elapsed_of(service.call(5)).await;
    assert_eq!((took, late.unwrap()), (ms(20), 5));
    assert_eq!(service.call(6).await.unwrap(), 6);
    assert_eq!((calls.load(Relaxed), faults.injected().calls), (4, 6));
}
