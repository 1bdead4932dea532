//! Clients of nginx.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::scenes::ms;

pub struct Client {
    http: reqwest::Client,
    nginx: SocketAddr,
}

/// What came back.
pub struct Answer {
    pub status: u16,
    pub cause: String,
    pub content_type: String,
    pub retry_after: String,
    pub after: Duration,
}

impl Client {
    pub fn new(nginx: SocketAddr) -> reqwest::Result<Self> {
        // A connection of its own for each request, so that leaving closes it.
        let http = reqwest::Client::builder()
            .no_proxy()
            .pool_max_idle_per_host(0);
        let http = http.build()?;
        Ok(Self { http, nginx })
    }

    /// One request, for as long as the client has patience; `None` if it left before the answer.
    pub async fn get(
        &self,
        id: &str,
        path: &str,
        timeouts: &[&str],
        patience: Duration,
    ) -> reqwest::Result<Option<Answer>> {
        let mut request = self
            .http
            .get(format!("http://{}{path}", self.nginx))
            .header("x-request-id", id)
            .timeout(patience);
        for timeout in timeouts {
            request = request.header("x-request-timeout-ms", *timeout);
        }
        let start = Instant::now();
        let answer = match request.send().await {
            Ok(answer) => answer,
            Err(error) if error.is_timeout() => return Ok(None),
            Err(error) => return Err(error),
        };
        let header = |name: &str| {
            let value = answer.headers().get(name);
            let value = value.and_then(|value| value.to_str().ok());
            value.unwrap_or_default().to_owned()
        };
        Ok(Some(Answer {
            status: answer.status().as_u16(),
            cause: header("x-deadline-cause"),
            content_type: header("content-type"),
            retry_after: header("retry-after"),
            after: start.elapsed(),
        }))
    }
}

impl Answer {
    pub fn text(answer: Option<&Self>) -> String {
        let Some(answer) = answer else {
            return "the client left".to_owned();
        };
        let mut text = format!("{} after {}", answer.status, ms(answer.after));
        if !answer.cause.is_empty() {
            text.push(' ');
            text.push_str(&answer.cause);
        }
        text
    }
}
