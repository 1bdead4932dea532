//! Whatever stands above or below us: the budget is enforced, over the whole body and not over its creation.
#![deny(warnings, clippy::pedantic, clippy::nursery)]
use async_trait::async_trait;
use deadline_runtime::{Stopped, deadline};
use std::{future::Future, sync::Arc, time::Duration};
use tokio::time::{Instant, sleep};
use tracing::instrument;

const LONG: Duration = Duration::from_secs(10);

async fn stops_after_a_second<T>(call: impl Future<Output = Result<T, Stopped>>) {
    let start = Instant::now();
    assert!(call.await.is_err(), "it was not stopped");
    let millis = start.elapsed().as_millis();
    assert!((1000..1010).contains(&millis), "stopped after {millis} ms");
}

macro_rules! enforced {
    ($($name:ident: $(#[$attribute:meta])* async fn $function:ident() $body:block)*) => {
        $(
            #[tokio::test(start_paused = true)]
            async fn $name() {
                $(#[$attribute])*
                async fn $function() -> Result<(), Stopped> $body

                stops_after_a_second($function()).await;
            }
        )*
    };
}

enforced! {
    alone:
    #[deadline(budget = "1s")]
    async fn function() {
        sleep(LONG).await;
        Ok(())
    }

    keep_async:
    #[deadline(budget = "1s", keep_async)]
    async fn function() {
        sleep(LONG).await;
        Ok(())
    }

    boxed:
    #[deadline(budget = "1s", boxed)]
    async fn function() {
        sleep(LONG).await;
        Ok(())
    }

    without_checkpoints:
    #[deadline(budget = "1s", checkpoints = "off")]
    async fn function() {
        sleep(LONG).await;
        Ok(())
    }

    in_unknown_macro:
    #[deadline(budget = "1s")]
    async fn function() {
        tokio::select! {
            () = sleep(LONG) => {}
            () = sleep(2 * LONG) => {}
        }
        Ok(())
    }

    in_closure:
    #[deadline(budget = "1s")]
    async fn function() {
        let wait = async || sleep(LONG).await;
        wait().await;
        Ok(())
    }

    in_short_steps:
    #[deadline(budget = "1s")]
    async fn function() {
        for _ in 0..10_000 {
            sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }

    instrument_above:
    #[instrument]
    #[deadline(budget = "1s")]
    async fn function() {
        sleep(LONG).await;
        Ok(())
    }

    instrument_below:
    #[deadline(budget = "1s")]
    #[instrument]
    async fn function() {
        sleep(LONG).await;
        Ok(())
    }

    instrument_arguments_above:
    #[instrument(level = "trace", skip_all, err, ret)]
    #[deadline(budget = "1s")]
    async fn function() {
        sleep(LONG).await;
        Ok(())
    }

    instrument_arguments_below:
    #[deadline(budget = "1s")]
    #[instrument(level = "trace", skip_all, err, ret)]
    async fn function() {
        sleep(LONG).await;
        Ok(())
    }

    fastrace_above:
    #[fastrace::trace]
    #[deadline(budget = "1s")]
    async fn function() {
        sleep(LONG).await;
        Ok(())
    }

    fastrace_below:
    #[deadline(budget = "1s")]
    #[fastrace::trace]
    async fn function() {
        sleep(LONG).await;
        Ok(())
    }

    recursion_above:
    #[async_recursion::async_recursion]
    #[deadline(budget = "1s")]
    async fn function() {
        sleep(LONG).await;
        Ok(())
    }

    recursion_below:
    #[deadline(budget = "1s")]
    #[async_recursion::async_recursion]
    async fn function() {
        sleep(LONG).await;
        Ok(())
    }

    between:
    #[fastrace::trace]
    #[deadline(budget = "1s")]
    #[instrument]
    async fn function() {
        sleep(LONG).await;
        Ok(())
    }
}

#[async_trait]
trait Repository: Send + Sync + 'static {
    async fn in_impl(&self) -> Result<(), Stopped>;
    async fn in_impl_above(&self) -> Result<(), Stopped>;
    async fn in_impl_below(&self) -> Result<(), Stopped>;

    #[deadline(budget = "1s")]
    async fn by_default(&self) -> Result<(), Stopped> {
        sleep(LONG).await;
        Ok(())
    }

    #[deadline(budget = "1s")]
    async fn shared(self: Arc<Self>) -> Result<(), Stopped> {
        sleep(LONG).await;
        Ok(())
    }
}

struct Store;

#[async_trait]
impl Repository for Store {
    #[deadline(budget = "1s")]
    async fn in_impl(&self) -> Result<(), Stopped> {
        sleep(LONG).await;
        Ok(())
    }

    #[instrument(skip(self))]
    #[deadline(budget = "1s")]
    async fn in_impl_above(&self) -> Result<(), Stopped> {
        sleep(LONG).await;
        Ok(())
    }

    #[deadline(budget = "1s")]
    #[instrument(skip(self))]
    async fn in_impl_below(&self) -> Result<(), Stopped> {
        sleep(LONG).await;
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn async_trait_methods() {
    stops_after_a_second(Store.in_impl()).await;
    stops_after_a_second(Store.in_impl_above()).await;
    stops_after_a_second(Store.in_impl_below()).await;
    stops_after_a_second(Store.by_default()).await;
    stops_after_a_second(Arc::new(Store).shared()).await;
}

trait Native {
    fn native(&self) -> impl Future<Output = Result<(), Stopped>> + Send;

    #[allow(async_fn_in_trait)]
    #[deadline(budget = "1s", keep_async)]
    async fn native_default(&self) -> Result<(), Stopped> {
        sleep(LONG).await;
        Ok(())
    }
}

impl Native for Store {
    #[deadline(budget = "1s")]
    async fn native(&self) -> Result<(), Stopped> {
        sleep(LONG).await;
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn native_methods() {
    stops_after_a_second(Native::native(&Store)).await;
    stops_after_a_second(Native::native_default(&Store)).await;
}

#[tokio::test(start_paused = true)]
#[deadline(budget = "1s", fallback = ())]
async fn tokio_test_above() {
    sleep(LONG).await;
    panic!("it was not stopped");
}

#[deadline(budget = "1s", fallback = ())]
#[tokio::test(start_paused = true)]
async fn tokio_test_below() {
    sleep(LONG).await;
    panic!("it was not stopped");
}

#[test]
fn tokio_main() {
    #[tokio::main(flavor = "current_thread", start_paused = true)]
    #[deadline(budget = "1s")]
    async fn above() -> Result<(), Stopped> {
        sleep(LONG).await;
        Ok(())
    }

    #[deadline(budget = "1s")]
    #[tokio::main(flavor = "current_thread", start_paused = true)]
    async fn below() -> Result<(), Stopped> {
        sleep(LONG).await;
        Ok(())
    }

    assert!(above().is_err());
    assert!(below().is_err());
}

#[tokio::test(start_paused = true)]
async fn never() {
    #[deadline(budget = "1s", fallback = panic!("stopped as it should be"))]
    async fn never() -> ! {
        loop {
            sleep(LONG).await;
        }
    }

    let panicked = tokio::spawn(async {
        tokio::time::timeout(10 * LONG, never()).await.err();
    });
    let panic = panicked
        .await
        .expect_err("the fallback panics")
        .into_panic();
    assert_eq!(panic.downcast_ref(), Some(&"stopped as it should be"));
}
