//! The server that is loaded, and the one behind it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, State};
use axum::routing::{get, post};
use bytes::Bytes;
use deadline_runtime::admission::Admission;
use deadline_runtime::http::{
    AdmissionLayer, DeadlineLayer, Policy, RequestBuilderExt as _, Trust,
};
use deadline_runtime::{Stopped, Tracker, deadline};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::grpc;
use super::probe::{Counts, ProbeLayer};

/// The operation of the first server.
pub const FIRST: &str = "first";
/// And of the second.
pub const SECOND: &str = "second";

/// And of the one that speaks gRPC.
pub const GRPC: &str = "grpc";

/// Not a server: the callers of that one have deadlines of their own.
pub const CLIENT: &str = "client";

/// Which of them an operation belongs to: a stop names the function that it stopped, if there was one.
#[must_use]
pub fn server_of(operation: &str) -> &'static str {
    match operation {
        SECOND | "behind" => SECOND,
        GRPC => GRPC,
        CLIENT => CLIENT,
        _ => FIRST,
    }
}

/// What handlers do, and how many of them do it now.
#[derive(Debug, Clone)]
struct World {
    client: reqwest::Client,
    behind: Option<SocketAddr>,
    working: Gauge,
}

/// How many handlers, and tasks of handlers, are at work.
#[derive(Debug, Clone, Default)]
pub(super) struct Gauge(Arc<AtomicI64>);

/// One of them.
pub(super) struct Working(Gauge);

impl Gauge {
    pub(super) fn begin(&self) -> Working {
        self.0.fetch_add(1, Relaxed);
        Working(self.clone())
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Relaxed);
    }
}

/// A server in two tiers, and one that speaks gRPC.
#[derive(Debug)]
pub struct Servers {
    /// Where the first listens.
    pub address: SocketAddr,
    /// Its requests.
    pub first: Arc<Counts>,
    /// Those that it made to the second.
    pub second: Arc<Counts>,
    /// Calls of the one that speaks gRPC.
    pub calls: Arc<Counts>,
    /// Where that one listens.
    pub grpc: SocketAddr,
    /// What runs in all of them, by the runtime's own count.
    pub tracker: Tracker,
    /// Who is let in at the first.
    pub admission: Admission,
    working: Gauge,
    stop: CancellationToken,
    served: Vec<JoinHandle<()>>,
}

impl Servers {
    /// Starts them.
    ///
    /// # Errors
    /// If one cannot listen.
    pub async fn start() -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let stop = CancellationToken::new();
        let mut served = Vec::new();
        let mut world = World {
            client: reqwest::Client::builder().no_proxy().build()?,
            behind: None,
            working: Gauge::default(),
        };
        let (first, second) = (Arc::<Counts>::default(), Arc::<Counts>::default());
        let tracker = Tracker::new();
        // More slots than there are clients: everybody is let in, and gives his slot back.
        let admission = Admission::new(FIRST, 4_096)?;
        let layer = |name| {
            DeadlineLayer::new(name, policy())
                .outermost(true)
                .tracker(&tracker)
        };
        let app = self::app(&world)
            .layer(layer(SECOND))
            .layer(ProbeLayer(second.clone()));
        world.behind = Some(serve(app, &stop, &mut served).await?);
        let app = self::app(&world)
            .layer(AdmissionLayer::new(admission.clone()))
            .layer(layer(FIRST))
            .layer(ProbeLayer(first.clone()));
        let address = serve(app, &stop, &mut served).await?;
        let calls = Arc::<Counts>::default();
        let (grpc, grpc_served) = grpc::serve(&world.working, &calls, layer(GRPC), &stop).await?;
        served.push(grpc_served);
        Ok(Self {
            address,
            first,
            second,
            calls,
            grpc,
            tracker,
            admission,
            working: world.working,
            stop,
            served,
        })
    }

    /// Handlers, and tasks of handlers, that are at work.
    #[must_use]
    pub fn working(&self) -> i64 {
        self.working.0.load(Relaxed)
    }

    /// Ends them, with every connection that is idle.
    pub async fn stop(self) {
        self.stop.cancel();
        for served in self.served {
            let _ = served.await;
        }
    }
}

fn policy() -> Policy {
    Policy::new()
        .max(Duration::from_secs(60))
        .trust(Trust::Full)
}

fn app(world: &World) -> Router {
    Router::new()
        .route("/fast", get(fast))
        .route("/slow", get(slow))
        .route("/tasks", get(tasks))
        .route("/call", get(call))
        .route("/behind", get(behind))
        .route("/drip", get(drip))
        .route("/upload", post(upload))
        .layer(DefaultBodyLimit::max(1 << 20))
        .with_state(world.clone())
}

async fn serve(
    app: Router,
    stop: &CancellationToken,
    served: &mut Vec<JoinHandle<()>>,
) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let stopped = stop.clone().cancelled_owned();
    served.push(tokio::spawn(async move {
        let served = axum::serve(listener, app).with_graceful_shutdown(stopped);
        let _ = served.await;
    }));
    Ok(address)
}

#[deadline]
async fn fast(State(world): State<World>) -> Result<&'static str, Stopped> {
    let _working = world.working.begin();
    tokio::task::yield_now().await;
    Ok("fast")
}

#[deadline]
async fn slow(State(world): State<World>) -> Result<&'static str, Stopped> {
    let _working = world.working.begin();
    tokio::time::sleep(Duration::from_secs(60)).await;
    Ok("slow")
}

/// Starts tasks that outlive it, unless they are stopped with it.
#[deadline]
async fn tasks(State(world): State<World>) -> Result<&'static str, Stopped> {
    let _working = world.working.begin();
    for _ in 0..4 {
        tokio::spawn(child(world.clone()));
    }
    slow(State(world)).await
}

#[deadline]
async fn child(world: World) -> Result<(), Stopped> {
    let _working = world.working.begin();
    tokio::time::sleep(Duration::from_secs(60)).await;
    Ok(())
}

/// Asks the second server, which is slow.
#[deadline]
async fn call(State(world): State<World>) -> Result<&'static str, Stopped> {
    let _working = world.working.begin();
    let Some(behind) = world.behind else {
        return Ok("nobody");
    };
    let url = format!("http://{behind}/behind");
    world.client.get(url).send_within_deadline().await?;
    Ok("called")
}

/// What the second server does.
#[deadline]
async fn behind(State(world): State<World>) -> Result<&'static str, Stopped> {
    let _working = world.working.begin();
    tokio::time::sleep(Duration::from_secs(60)).await;
    Ok("behind")
}

/// An answer that takes for ever.
async fn drip(State(world): State<World>) -> Body {
    let working = world.working.begin();
    let chunks = futures::stream::unfold(working, |working| async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        Some((Ok::<_, Stopped>("x"), working))
    });
    Body::from_stream(chunks)
}

#[deadline]
async fn upload(State(world): State<World>, body: Bytes) -> Result<String, Stopped> {
    let _working = world.working.begin();
    Ok(body.len().to_string())
}
