//! What stands in for it here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::json;
use tokio::net::TcpListener;

use crate::order::Body;

/// How it takes a key the first time; it takes every key well after that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    Good,
    /// It takes the money long after everybody stopped waiting.
    Slow(Duration),
    /// It fails before it has done anything.
    Fails,
    /// It takes the money at once and never answers.
    LosesAnswer,
    Declines,
}

#[derive(Clone, Default)]
pub struct Fake(Arc<Mutex<HashMap<String, Account>>>);

/// What it knows of one key.
#[derive(Default)]
struct Account {
    mood: Option<Mood>,
    calls: usize,
    charge: Option<String>,
    /// How often it took money. More than one would be its fault: it is here to be counted.
    charges: usize,
}

impl Fake {
    /// Starts it; returned is its URL.
    pub async fn start(&self) -> std::io::Result<String> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let app = Router::new()
            .route("/charges", post(take))
            .with_state(self.clone());
        tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, app).await {
                tracing::error!(%error, "the provider ended");
            }
        });
        Ok(format!("http://{address}/charges"))
    }

    pub fn expect(&self, key: &str, mood: Mood) {
        self.with(key, |account| account.mood = Some(mood));
    }

    /// How often it was asked, and how often it took money.
    pub fn seen(&self, key: &str) -> (usize, usize) {
        self.with(key, |account| (account.calls, account.charges))
    }

    pub fn charge(&self, key: &str) -> Option<String> {
        self.with(key, |account| account.charge.clone())
    }

    fn take_money(&self, key: &str) -> String {
        self.with(key, |account| {
            if account.charge.is_none() {
                account.charges += 1;
                account.charge = Some(format!("ch_{key}"));
            }
            account.charge.clone().unwrap_or_default()
        })
    }

    fn with<R>(&self, key: &str, use_it: impl FnOnce(&mut Account) -> R) -> R {
        let mut accounts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        use_it(accounts.entry(key.to_owned()).or_default())
    }
}

async fn take(State(fake): State<Fake>, headers: HeaderMap, Json(_): Json<Body>) -> Response {
    let key = headers.get("idempotency-key").map(|key| key.to_str());
    let Some(Ok(key)) = key else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let mood = fake.with(key, |account| {
        account.calls += 1;
        account.mood.take().unwrap_or(Mood::Good)
    });
    match mood {
        Mood::Good => {}
        Mood::Slow(duration) => {
            // A task of its own: it does not stop because its caller has gone.
            let (fake, key) = (fake.clone(), key.to_owned());
            let taken = tokio::spawn(async move {
                tokio::time::sleep(duration).await;
                fake.take_money(&key);
            });
            let _ = taken.await;
        }
        Mood::Fails => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        Mood::LosesAnswer => {
            fake.take_money(key);
            std::future::pending::<()>().await;
        }
        Mood::Declines => {
            // A decision, so it stands when it is asked again.
            fake.with(key, |account| account.mood = Some(Mood::Declines));
            return StatusCode::PAYMENT_REQUIRED.into_response();
        }
    }
    let charge = fake.take_money(key);
    (StatusCode::CREATED, Json(json!({ "charge": charge }))).into_response()
}
