//! [`Ours`]: the peer that we are.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use deadline_runtime::http::{
    DeadlineLayer, InternalHosts, Policy, PropagateDeadline, PropagateDeadlineLayer, Trust,
};
use deadline_runtime::{Cause, Context, deadline};
use futures::StreamExt as _;
use tokio::net::TcpListener;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Status};
use tower::Layer as _;

use super::proto::{Ask, Items, PeerClient, PeerServer, Serve, Told};
use crate::clock::real_time;

/// A tonic server of ours.
#[derive(Debug)]
pub struct Ours {
    /// Where it listens.
    pub address: SocketAddr,
    journal: Journal,
}

/// One call, as its handler saw it.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The id of the call.
    pub id: String,
    /// What was left at the start, in milliseconds; -1 without a deadline.
    pub left_ms: i64,
    /// How it ended, when it has.
    pub end: Option<End>,
}

/// How a handler ended.
#[derive(Debug, Clone, Copy)]
pub struct End {
    /// With a value of its own.
    pub done: bool,
    /// Why it was stopped, if it was.
    pub cause: Option<Cause>,
    /// How long it ran.
    pub after: Duration,
}

impl End {
    /// In a word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match (self.done, self.cause) {
            (true, _) => "done",
            (false, Some(cause)) => cause.as_str(),
            (false, None) => "dropped",
        }
    }
}

/// The policy of a server that only its own kind calls.
pub fn policy() -> Policy {
    Policy::new()
        .max(Duration::from_secs(20))
        .trust(Trust::Full)
}

impl Ours {
    /// A server with the deadline's layer.
    ///
    /// # Panics
    /// If it cannot listen, or under a paused clock.
    pub async fn start() -> Self {
        let journal = Journal::default();
        let address = serve(journal.clone()).await;
        Self { address, journal }
    }

    /// A server as tonic makes it, for comparison.
    ///
    /// # Panics
    /// If it cannot listen, or under a paused clock.
    pub async fn plain() -> Self {
        let journal = Journal::default();
        let (address, incoming) = listen().await;
        let server = Server::builder().add_service(PeerServer(journal.clone()));
        tokio::spawn(server.serve_with_incoming(incoming));
        Self { address, journal }
    }

    /// What its handlers saw of a call so far.
    #[must_use]
    pub fn of(&self, id: &str) -> Vec<Entry> {
        self.journal.with(|entries| {
            let of = entries.iter().filter(|entry| entry.id == id);
            of.cloned().collect()
        })
    }

    /// How the only handler of a call ended, and what was left at its start.
    ///
    /// # Panics
    /// If there is none or more than one, or it does not end.
    pub async fn ended(&self, id: &str) -> (i64, End) {
        let start = Instant::now();
        loop {
            let of = self.of(id);
            assert!(of.len() <= 1, "{of:?}");
            if let Some(entry) = of.first()
                && let Some(end) = entry.end
            {
                return (entry.left_ms, end);
            }
            assert!(start.elapsed() < Duration::from_secs(20), "{id}: {of:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// Serves anything of this kind under the deadline's layer.
///
/// # Panics
/// If it cannot listen, or under a paused clock.
pub async fn serve(service: impl Serve) -> SocketAddr {
    let (address, incoming) = listen().await;
    let layer = DeadlineLayer::new("ours", policy()).outermost(true);
    let server = Server::builder()
        // Calls that end early are no attack.
        .http2_max_pending_accept_reset_streams(Some(1_024))
        .layer(layer)
        .add_service(PeerServer(service));
    tokio::spawn(server.serve_with_incoming(incoming));
    address
}

async fn listen() -> (SocketAddr, TcpIncoming) {
    real_time();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    (address, TcpIncoming::from(listener))
}

/// A client that tells every peer what is left.
pub type Telling = PeerClient<PropagateDeadline<Channel>>;

/// A client for `target`, as `127.0.0.1:50051`. It connects when it is used.
///
/// # Panics
/// If that is not an address.
#[must_use]
pub fn client(target: &str) -> Telling {
    let endpoint = Endpoint::from_shared(format!("http://{target}")).expect("an address");
    let layer = PropagateDeadlineLayer::new(InternalHosts::all());
    PeerClient(layer.layer(endpoint.connect_lazy()))
}

/// What is left for work in the running context, in milliseconds; -1 without a deadline.
#[must_use]
pub fn left_ms() -> i64 {
    let left = Context::current().remaining();
    left.map_or(-1, |left| {
        i64::try_from(left.as_millis()).unwrap_or(i64::MAX)
    })
}

#[derive(Debug, Clone, Default)]
struct Journal(Arc<Mutex<Vec<Entry>>>);

/// A handler at work: however it ends, that is written down.
struct Hop {
    journal: Journal,
    index: usize,
    start: Instant,
    context: Context,
    left_ms: i64,
    done: bool,
}

impl Journal {
    fn begin(&self, id: &str) -> Hop {
        let left_ms = left_ms();
        let entry = Entry {
            id: id.to_owned(),
            left_ms,
            end: None,
        };
        let index = self.with(|entries| {
            entries.push(entry);
            entries.len() - 1
        });
        Hop {
            journal: self.clone(),
            index,
            start: Instant::now(),
            context: Context::current(),
            left_ms,
            done: false,
        }
    }

    fn with<R>(&self, read: impl FnOnce(&mut Vec<Entry>) -> R) -> R {
        read(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Hop {
    fn told(&self, item: u32, next: Option<Told>) -> Told {
        Told {
            by: "ours".to_owned(),
            left_ms: self.left_ms,
            next: next.map(Box::new),
            item,
        }
    }

    fn done(mut self) {
        self.done = true;
    }
}

impl Drop for Hop {
    fn drop(&mut self) {
        let end = End {
            done: self.done,
            cause: self.context.cause(),
            after: self.start.elapsed(),
        };
        self.journal
            .with(|entries| entries[self.index].end = Some(end));
    }
}

impl Serve for Journal {
    #[deadline]
    async fn call(&self, ask: Request<Ask>) -> Result<Told, Status> {
        let ask = ask.into_inner();
        let hop = self.begin(&ask.id);
        work(&ask).await;
        if ask.fail_with != 0 {
            hop.done();
            return Err(Status::new(
                i32::try_from(ask.fail_with).unwrap_or(2).into(),
                "as asked",
            ));
        }
        let mut next = None;
        if !ask.next.is_empty() {
            let further = Ask {
                id: ask.id,
                work_ms: ask.next_work_ms,
                ..Ask::default()
            };
            next = Some(client(&ask.next).call(further).await?);
        }
        let told = hop.told(0, next);
        hop.done();
        Ok(told)
    }

    async fn items(&self, ask: Request<Ask>) -> Result<Items, Status> {
        let ask = ask.into_inner();
        let hop = self.begin(&ask.id);
        let items = futures::stream::unfold((0, Some(hop)), move |(item, mut hop)| {
            let ask = ask.clone();
            async move {
                if item == ask.items {
                    if let Some(hop) = hop.take() {
                        hop.done();
                    }
                    return None;
                }
                work(&ask).await;
                let told = hop.as_ref().map(|hop| hop.told(item, None))?;
                Some((Ok(told), (item + 1, hop)))
            }
        });
        Ok(items.boxed())
    }
}

async fn work(ask: &Ask) {
    tokio::time::sleep(Duration::from_millis(u64::from(ask.work_ms))).await;
}
