//! Who worked when: the hops of every request, as an outside observer sees them.
//!
//! A hop is a guard, so that it notes its end however it ends: with an answer, by a stop, or dropped from outside.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

#[derive(Clone)]
pub struct Journal {
    origin: Instant,
    hops: Arc<Mutex<Vec<HopEntry>>>,
}

#[derive(Clone)]
pub struct HopEntry {
    pub request: String,
    pub name: &'static str,
    pub started: Duration,
    pub ended: Option<Duration>,
    /// The timeout header the hop received.
    pub granted_ms: Option<String>,
    pub finished: bool,
}

/// A hop at work.
pub struct Hop {
    journal: Journal,
    index: usize,
}

impl Journal {
    pub fn new() -> Self {
        Self {
            origin: Instant::now(),
            hops: Arc::default(),
        }
    }

    pub fn now(&self) -> Duration {
        self.origin.elapsed()
    }

    pub fn start(&self, request: &str, name: &'static str, granted_ms: Option<String>) -> Hop {
        let started = self.now();
        let index = self.with(|hops| {
            hops.push(HopEntry {
                request: request.to_owned(),
                name,
                started,
                ended: None,
                granted_ms,
                finished: false,
            });
            hops.len() - 1
        });
        Hop {
            journal: self.clone(),
            index,
        }
    }

    /// The hops of a request, once all of them have ended; those that have not after `patience` stay open.
    pub async fn settled(&self, request: &str, patience: Duration) -> Vec<HopEntry> {
        let give_up = Instant::now() + patience;
        loop {
            let hops = self.of(request);
            if hops.iter().all(|hop| hop.ended.is_some()) || Instant::now() > give_up {
                return hops;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub fn of(&self, request: &str) -> Vec<HopEntry> {
        self.with(|hops| {
            hops.iter()
                .filter(|hop| hop.request == request)
                .cloned()
                .collect()
        })
    }

    fn with<R>(&self, read: impl FnOnce(&mut Vec<HopEntry>) -> R) -> R {
        read(&mut self.hops.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Hop {
    /// The hop has done its work; otherwise it was cut.
    pub fn finish(self) {
        self.journal.with(|hops| hops[self.index].finished = true);
    }
}

impl Drop for Hop {
    fn drop(&mut self) {
        let now = self.journal.now();
        self.journal.with(|hops| hops[self.index].ended = Some(now));
    }
}
