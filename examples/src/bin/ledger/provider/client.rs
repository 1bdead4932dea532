//! What we ask of it.

use axum::http::StatusCode;
use deadline_runtime::deadline;
use deadline_runtime::http::RequestBuilderExt as _;
use serde::Deserialize;

use crate::error::BoxError;
use crate::order::{Order, Verdict};

#[derive(Clone)]
pub struct Provider {
    client: reqwest::Client,
    url: String,
}

#[derive(Deserialize)]
struct Charged {
    charge: String,
}

impl Provider {
    pub fn at(url: String) -> Result<Self, BoxError> {
        let client = reqwest::Client::builder()
            .no_proxy()
            // Each would repeat a charge behind our back, with time that is no longer there.
            .retry(reqwest::retry::never())
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        Ok(Self { client, url })
    }

    /// Takes the money.
    ///
    /// An error says nothing about whether it was taken. The order's key goes along, the same each time, so that it
    /// may be asked again until it has said.
    #[deadline(budget = "1s", min = "20ms")]
    pub async fn charge(&self, order: &Order) -> Result<Verdict, BoxError> {
        let request = self.client.post(&self.url).json(&order.body);
        let answer = request
            .header("idempotency-key", &order.key)
            .send_within_deadline()
            .await?;
        match answer.status() {
            StatusCode::CREATED => {
                let charged: Charged = answer.json().await?;
                Ok(Verdict::Paid(charged.charge))
            }
            StatusCode::PAYMENT_REQUIRED => Ok(Verdict::Declined),
            other => Err(format!("the provider answered {other}").into()),
        }
    }
}
