//! The service itself: take the order, ask the provider, settle.

use deadline_runtime::{Context, deadline};

use crate::error::{AppError, BoxError};
use crate::fault::{Faults, Step};
use crate::order::{Order, Payment};
use crate::provider::Provider;
use crate::store::{Store, Taken};

#[derive(Clone)]
pub struct Service<S> {
    pub store: S,
    pub provider: Provider,
    pub faults: Faults,
}

/// What a request is answered.
pub struct Answer {
    pub payment: Payment,
    /// It is what an earlier request with this key led to.
    pub replayed: bool,
}

impl<S: Store> Service<S> {
    /// Makes a payment, once for each key.
    ///
    /// The order is durable before the provider is asked. From then on it will be brought to its end, by us or by the
    /// [`outbox`](crate::outbox), whatever the client hears. The reserve is for settling: what the provider has said is
    /// worth more than the time it took.
    #[deadline(min = "50ms", reserve = "600ms")]
    pub async fn pay(&self, order: &Order) -> Result<Answer, AppError> {
        self.faults.at(Step::BeforeIntent).await;
        match self.store.take(order).await? {
            Taken::Ours => {}
            Taken::AtWork => return Err(AppError::AtWork),
            Taken::Other => return Err(AppError::OtherOrder),
            Taken::Done(payment) => {
                return Ok(Answer {
                    payment,
                    replayed: true,
                });
            }
        }
        self.faults.at(Step::AfterIntent).await;
        let verdict = match self.provider.charge(order).await {
            Ok(verdict) => verdict,
            // The request is not over, only the provider was too slow for us or failed: that is an answer.
            Err(error) if Context::current().check().is_ok() => {
                tracing::info!(%error, "left to the outbox");
                // If not even that can be done, its time runs out by itself.
                let _ = self.store.leave(&order.key).await;
                return Ok(Answer::pending(order));
            }
            Err(error) => return Err(error.into()),
        };
        #[shield("500ms")]
        self.store.settle(&order.key, &verdict).await?;
        self.faults.at(Step::BeforeAnswer).await;
        Ok(Answer {
            payment: Payment {
                key: order.key.clone(),
                verdict: Some(verdict),
            },
            replayed: false,
        })
    }

    /// Brings one order to its end that was left behind; false if there is none.
    #[deadline(budget = "3s", min = "50ms")]
    pub async fn bring_one_to_its_end(&self) -> Result<bool, BoxError> {
        let Some(order) = self.store.take_left().await? else {
            return Ok(false);
        };
        match self.provider.charge(&order).await {
            Ok(verdict) => self.store.settle(&order.key, &verdict).await?,
            Err(error) => {
                tracing::info!(%error, "left again");
                self.store.leave(&order.key).await?;
            }
        }
        Ok(true)
    }
}

impl Answer {
    fn pending(order: &Order) -> Self {
        Self {
            payment: Payment {
                key: order.key.clone(),
                verdict: None,
            },
            replayed: false,
        }
    }
}
