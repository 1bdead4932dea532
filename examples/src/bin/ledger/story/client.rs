//! A client, which sees what a client sees.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::plot::PATIENT;
use crate::error::BoxError;
use crate::order::{Order, Payment, Verdict};
use crate::row::Seen;
use crate::store::MARGIN;

/// How long everything may take to come to its end on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) struct Client(reqwest::Client);

impl Client {
    pub(super) fn new() -> Result<Self, BoxError> {
        let client = reqwest::Client::builder()
            .no_proxy()
            .pool_max_idle_per_host(0)
            // What is sent again here is sent again on purpose.
            .retry(reqwest::retry::never())
            .build()?;
        Ok(Self(client))
    }

    /// Orders a payment.
    pub(super) fn pay(
        &self,
        address: SocketAddr,
        order: &Order,
        timeout_ms: u64,
    ) -> impl Future<Output = Seen> + Send + use<> {
        let request = self
            .0
            .post(format!("http://{address}/payments"))
            .header("idempotency-key", &order.key)
            .header("x-request-timeout-ms", timeout_ms)
            .json(&order.body)
            .timeout(PATIENCE);
        seen(request)
    }

    /// Sends the same again until it is told the end of it.
    pub(super) async fn pay_until_settled(&self, address: SocketAddr, order: &Order) -> Seen {
        let start = Instant::now();
        loop {
            let seen = self.pay(address, order, PATIENT).await;
            if matches!(seen.status(), 201 | 402) || start.elapsed() > PATIENCE {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// What the service says when it has brought to its end what it knows of.
    pub(super) async fn reconciled(
        &self,
        address: SocketAddr,
        key: &str,
    ) -> Result<Option<Payment>, BoxError> {
        let start = Instant::now();
        loop {
            let request = self
                .0
                .get(format!("http://{address}/payments/{key}"))
                .timeout(PATIENCE);
            let seen = seen(request).await;
            let payment = seen.payment();
            match (seen.status(), &payment) {
                (200, Some(Payment { verdict: None, .. })) if start.elapsed() < PATIENCE => {}
                (200, _) => return Ok(payment),
                // It may still be on its way: a commit whose client was cut off.
                (404, _) if start.elapsed() < MARGIN => {}
                (404, _) => return Ok(None),
                _ if start.elapsed() < PATIENCE => {}
                _ => return Err(format!("GET /payments/{key}: {seen}").into()),
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

async fn seen(request: reqwest::RequestBuilder) -> Seen {
    let Ok(answer) = request.send().await else {
        return Seen::Nothing;
    };
    let header = |name: &str| {
        let value = answer.headers().get(name)?.to_str().ok()?;
        Some(value.to_owned())
    };
    let (status, cause) = (answer.status().as_u16(), header("x-deadline-cause"));
    let replayed = header("idempotent-replayed").is_some();
    let retry_after = header("retry-after");
    let Ok(text) = answer.text().await else {
        return Seen::Nothing;
    };
    Seen::Answer {
        status,
        cause,
        payment: payment(&text),
        replayed,
        retry_after,
    }
}

fn payment(text: &str) -> Option<Payment> {
    let json: Value = serde_json::from_str(text).ok()?;
    let charge = json["charge"].as_str().map(str::to_owned);
    Some(Payment {
        key: json["key"].as_str()?.to_owned(),
        verdict: Verdict::from_columns(json["status"].as_str()?, charge),
    })
}
