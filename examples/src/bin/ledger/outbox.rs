//! The relay: brings to their end the orders that no request did.
//!
//! It asks the provider again with the same key. The provider has the money taken once at most, so asking again is also how
//! one finds out: this is the reconciliation.

use std::time::Duration;

use crate::service::Service;
use crate::store::Store;

/// Between two looks when there was nothing to do.
const PAUSE: Duration = Duration::from_millis(50);

/// Runs until it is dropped.
pub async fn relay<S: Store>(service: Service<S>) {
    loop {
        match service.bring_one_to_its_end().await {
            Ok(true) => {}
            Ok(false) => tokio::time::sleep(PAUSE).await,
            // It stays in the outbox, and its turn comes again when its lease is over.
            Err(error) => {
                tracing::warn!(%error, "not brought to its end");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}
