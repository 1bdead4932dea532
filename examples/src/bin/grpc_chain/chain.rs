//! The three hops: A asks B, B asks C, C does the work.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use deadline_runtime::http::{DeadlineLayer, Policy, Trust};
use deadline_runtime::{Context, deadline};
use futures::StreamExt as _;
use futures::future::BoxFuture;
use tonic::Status;

use crate::text::{Hop, TextClient, Texts, serve};

/// What happened at the hops since the scene began.
#[derive(Clone, Default)]
pub struct Journal(Arc<Mutex<Vec<Entry>>>);

#[derive(Clone)]
pub struct Entry {
    pub hop: &'static str,
    /// What it had left when it was entered.
    pub left: Option<Duration>,
    /// When it came to its end, by an answer or by being dropped.
    pub ended: Option<Instant>,
    pub answered: bool,
}

impl Journal {
    pub fn clear(&self) {
        self.with(Vec::clear);
    }

    pub fn all(&self) -> Vec<Entry> {
        self.with(|entries| entries.clone())
    }

    fn with<R>(&self, look: impl FnOnce(&mut Vec<Entry>) -> R) -> R {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn enter(&self, hop: &'static str) -> Running {
        let left = Context::current().remaining();
        let at = self.with(|entries| {
            entries.push(Entry {
                hop,
                left,
                ended: None,
                answered: false,
            });
            entries.len() - 1
        });
        Running {
            journal: self.clone(),
            at,
            answered: false,
        }
    }
}

/// A handler that runs; dropped, it has ended.
struct Running {
    journal: Journal,
    at: usize,
    answered: bool,
}

impl Running {
    fn answered(mut self) {
        self.answered = true;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let (at, answered) = (self.at, self.answered);
        self.journal.with(|entries| {
            if let Some(entry) = entries.get_mut(at) {
                entry.ended = Some(Instant::now());
                entry.answered = answered;
            }
        });
    }
}

/// Starts the hops, the last one first; the client is one of A.
pub async fn start(journal: &Journal) -> Result<(TextClient, std::net::SocketAddr), BoxError> {
    let policy = Policy::new()
        .max(Duration::from_secs(10))
        .trust(Trust::Full);
    let layer = |name| DeadlineLayer::new(name, policy.clone()).outermost(true);
    let c = Worker {
        journal: journal.clone(),
    };
    let c = serve(layer("C"), Arc::new(c)).await?;
    let b = Forward {
        name: "B",
        journal: journal.clone(),
        next: TextClient::of(c)?,
    };
    let b = serve(layer("B"), Arc::new(b)).await?;
    let a = Forward {
        name: "A",
        journal: journal.clone(),
        next: TextClient::of(b)?,
    };
    let a = serve(layer("A"), Arc::new(a)).await?;
    Ok((TextClient::of(a)?, a))
}

pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Asks the next hop.
struct Forward {
    name: &'static str,
    journal: Journal,
    next: TextClient,
}

impl Hop for Forward {
    fn once(&self, text: String) -> BoxFuture<'static, Result<String, Status>> {
        let running = self.journal.enter(self.name);
        let next = self.next.clone();
        Box::pin(async move {
            let answer = forward(next, text).await;
            running.answered();
            answer
        })
    }

    fn many(&self, _: String) -> Texts {
        let running = self.journal.enter(self.name);
        let ticks = futures::stream::unfold((running, 0), |(running, n)| async move {
            tokio::time::sleep(Duration::from_millis(50)).await;
            Some((Ok(format!("tick {n}")), (running, n + 1)))
        });
        ticks.boxed()
    }
}

/// `burn` uses up whatever there is before it asks.
#[deadline]
async fn forward(next: TextClient, text: String) -> Result<String, Status> {
    let text = match text.strip_prefix("burn ") {
        Some(rest) => {
            let left = Context::current().remaining().unwrap_or_default();
            // As a computation would that never looks at the clock.
            std::thread::sleep(left + Duration::from_millis(5));
            rest.to_owned()
        }
        None => text,
    };
    let answer = next.once(text).await?;
    Ok(answer)
}

/// Works for as many milliseconds as it is asked to.
struct Worker {
    journal: Journal,
}

impl Hop for Worker {
    fn once(&self, text: String) -> BoxFuture<'static, Result<String, Status>> {
        let running = self.journal.enter("C");
        Box::pin(async move {
            let answer = work(text).await;
            running.answered();
            answer
        })
    }

    fn many(&self, _: String) -> Texts {
        futures::stream::empty().boxed()
    }
}

#[deadline(name = "work")]
async fn work(text: String) -> Result<String, Status> {
    let millis = text
        .parse()
        .map_err(|_| Status::invalid_argument("not a number of milliseconds"))?;
    tokio::time::sleep(Duration::from_millis(millis)).await;
    Ok(format!("{millis} ms of work done"))
}
