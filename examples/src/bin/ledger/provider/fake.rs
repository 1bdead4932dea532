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
pub struct Fake(Arc<Mutex<Books>>);

#[derive(Default)]
struct Books {
    /// What it answered to each key: this is all it goes by.
    charges: HashMap<String, String>,
    /// Whose money it took, whatever the key: this is what is counted here.
    accounts: HashMap<String, Account>,
}

#[derive(Default)]
struct Account {
    mood: Option<Mood>,
    calls: usize,
    charges: Vec<String>,
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

    /// How the account's first request is taken.
    pub fn expect(&self, account: &str, mood: Mood) {
        self.with(|books| books.account(account).mood = Some(mood));
    }

    /// How often it was asked to take the account's money.
    pub fn asked(&self, account: &str) -> usize {
        self.with(|books| books.account(account).calls)
    }

    /// Every time that it took the account's money.
    pub fn charges(&self, account: &str) -> Vec<String> {
        self.with(|books| books.account(account).charges.clone())
    }

    fn take_money(&self, key: &str, account: &str) -> String {
        self.with(|books| {
            if let Some(charge) = books.charges.get(key) {
                return charge.clone();
            }
            let charge = format!("ch_{}", books.charges.len() + 1);
            books.charges.insert(key.to_owned(), charge.clone());
            books.account(account).charges.push(charge.clone());
            charge
        })
    }

    fn with<R>(&self, use_them: impl FnOnce(&mut Books) -> R) -> R {
        use_them(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Books {
    fn account(&mut self, name: &str) -> &mut Account {
        self.accounts.entry(name.to_owned()).or_default()
    }
}

async fn take(State(fake): State<Fake>, headers: HeaderMap, Json(body): Json<Body>) -> Response {
    let key = headers.get("idempotency-key").map(|key| key.to_str());
    let Some(Ok(key)) = key else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let mood = fake.with(|books| {
        let account = books.account(&body.account);
        account.calls += 1;
        account.mood.take().unwrap_or(Mood::Good)
    });
    match mood {
        Mood::Good => {}
        Mood::Slow(duration) => {
            // A task of its own: it does not stop because its caller has gone.
            let (fake, key, account) = (fake.clone(), key.to_owned(), body.account.clone());
            let taken = tokio::spawn(async move {
                tokio::time::sleep(duration).await;
                fake.take_money(&key, &account);
            });
            let _ = taken.await;
        }
        Mood::Fails => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        Mood::LosesAnswer => {
            fake.take_money(key, &body.account);
            std::future::pending::<()>().await;
        }
        Mood::Declines => {
            // A decision, so it stands when it is asked again.
            fake.expect(&body.account, Mood::Declines);
            return StatusCode::PAYMENT_REQUIRED.into_response();
        }
    }
    let charge = fake.take_money(key, &body.account);
    (StatusCode::CREATED, Json(json!({ "charge": charge }))).into_response()
}
