//! The API and the dependency that it asks.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::routing::get;
use deadline_runtime::admission::Admission;
use deadline_runtime::http::{
    AdmissionLayer, DeadlineLayer, Policy, RequestBuilderExt as _, Trust,
};
use deadline_runtime::{Cause, Context, Stopped, deadline};
use serde::Deserialize;
use tokio::net::TcpListener;

/// How many requests the API works on at once.
pub const SLOTS: usize = 4;

pub struct Api {
    pub address: SocketAddr,
    journal: Journal,
}

#[derive(Clone)]
struct Services {
    client: reqwest::Client,
    dependency: SocketAddr,
    journal: Journal,
}

#[derive(Deserialize)]
struct Work {
    /// How long the dependency takes.
    ms: u64,
}

impl Api {
    pub async fn start() -> Result<Self, Box<dyn std::error::Error>> {
        let journal = Journal::default();
        let policy = Policy::new()
            .max(Duration::from_secs(10))
            .default(Duration::from_secs(2))
            .trust(Trust::Full);
        let dependency = Router::new()
            .route("/", get(dependency))
            .with_state(journal.clone())
            .layer(DeadlineLayer::new("dependency", policy.clone()).outermost(true));
        let services = Services {
            client: reqwest::Client::builder().no_proxy().build()?,
            dependency: serve(dependency).await?,
            journal: journal.clone(),
        };
        let app = Router::new().route("/", get(api)).with_state(services);
        // Nobody waits in line: the fifth is told to come again, and when.
        let slots = Admission::builder("api", SLOTS).queue(0).build()?;
        let app = app
            .layer(AdmissionLayer::new(slots))
            .layer(DeadlineLayer::new("api", policy).outermost(true));
        let address = serve(app).await?;
        Ok(Self { address, journal })
    }

    /// What both services did for a request, once it is over for them.
    pub async fn settled(&self, request: &str) -> Vec<Entry> {
        let start = Instant::now();
        loop {
            let entries = self.journal.of(request);
            let over = entries.iter().all(|entry| entry.end.is_some());
            if over || start.elapsed() > Duration::from_secs(5) {
                return entries;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[deadline(min = "20ms")]
async fn api(
    State(services): State<Services>,
    Query(work): Query<Work>,
    headers: HeaderMap,
) -> Result<String, Stopped> {
    let hop = services.journal.begin("api", &headers);
    let url = format!("http://{}/?ms={}", services.dependency, work.ms);
    let answer = services.client.get(url).send_within_deadline().await?;
    hop.done();
    Ok(format!("the dependency said {}\n", answer.status()))
}

#[deadline(min = "20ms")]
async fn dependency(
    State(journal): State<Journal>,
    Query(work): Query<Work>,
    headers: HeaderMap,
) -> Result<&'static str, Stopped> {
    let hop = journal.begin("dependency", &headers);
    tokio::time::sleep(Duration::from_millis(work.ms)).await;
    hop.done();
    Ok("done\n")
}

async fn serve(app: Router) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, app).await {
            eprintln!("nginx_lab: a server ended: {error}");
        }
    });
    Ok(address)
}

/// What the services did, seen from inside.
#[derive(Clone, Default)]
struct Journal(Arc<Mutex<Vec<Entry>>>);

#[derive(Clone)]
pub struct Entry {
    request: String,
    pub service: &'static str,
    /// Each copy of the header, as it came.
    pub told: Vec<String>,
    pub end: Option<End>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    Done,
    /// Dropped half way, for this reason if there was one.
    Stopped(Option<Cause>),
}

/// A handler at work: however it ends, that is written down.
struct Hop {
    journal: Journal,
    context: Context,
    index: usize,
    done: bool,
}

impl Journal {
    fn begin(&self, service: &'static str, headers: &HeaderMap) -> Hop {
        let context = Context::current();
        let told = headers.get_all("x-request-timeout-ms");
        let entry = Entry {
            request: context.request_id().unwrap_or_default().to_string(),
            service,
            told: told
                .iter()
                .map(|copy| String::from_utf8_lossy(copy.as_bytes()).into_owned())
                .collect(),
            end: None,
        };
        let index = self.with(|entries| {
            entries.push(entry);
            entries.len() - 1
        });
        Hop {
            journal: self.clone(),
            context,
            index,
            done: false,
        }
    }

    fn of(&self, request: &str) -> Vec<Entry> {
        self.with(|entries| {
            let of = entries.iter().filter(|entry| entry.request == request);
            of.cloned().collect()
        })
    }

    fn with<R>(&self, read: impl FnOnce(&mut Vec<Entry>) -> R) -> R {
        read(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Hop {
    fn done(mut self) {
        self.done = true;
    }
}

impl Drop for Hop {
    fn drop(&mut self) {
        let end = if self.done {
            End::Done
        } else {
            End::Stopped(self.context.cause())
        };
        self.journal
            .with(|entries| entries[self.index].end = Some(end));
    }
}
