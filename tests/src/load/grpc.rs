//! The gRPC server that is loaded, and calls of it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use deadline_runtime::http::{DeadlineLayer, InternalHosts, PropagateDeadlineLayer};
use deadline_runtime::{Budget, Cause, Context, Stopped, deadline};
use futures::StreamExt as _;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic::metadata::MetadataValue;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Code, Request, Status};
use tower::{Layer as _, ServiceBuilder};

use super::probe::{Counts, ProbeLayer};
use super::service::{CLIENT, Gauge};
use super::watch::SECRET;
use crate::peers::ours::Telling;
use crate::peers::proto::{Ask, Items, PeerClient, PeerServer, Serve, Told};

#[derive(Clone)]
struct Handlers(Gauge);

impl Serve for Handlers {
    #[deadline(name = "grpc")]
    async fn call(&self, ask: Request<Ask>) -> Result<Told, Status> {
        let _working = self.0.begin();
        work(ask.get_ref()).await;
        Ok(Told::default())
    }

    async fn items(&self, ask: Request<Ask>) -> Result<Items, Status> {
        let ask = ask.into_inner();
        let working = self.0.begin();
        let items = futures::stream::unfold((ask, working), |(ask, working)| async {
            work(&ask).await;
            Some((Ok(Told::default()), (ask, working)))
        });
        Ok(items.boxed())
    }
}

async fn work(ask: &Ask) {
    tokio::time::sleep(Duration::from_millis(u64::from(ask.work_ms))).await;
}

pub(super) async fn serve(
    gauge: &Gauge,
    counts: &Arc<Counts>,
    layer: DeadlineLayer,
    stop: &CancellationToken,
) -> std::io::Result<(SocketAddr, JoinHandle<()>)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let layers = ServiceBuilder::new()
        .layer(ProbeLayer(counts.clone()))
        .layer(layer);
    let server = Server::builder()
        // Many calls that end early on one connection are no attack here.
        .http2_max_pending_accept_reset_streams(Some(4_096))
        .layer(layers)
        .add_service(PeerServer(Handlers(gauge.clone())));
    let incoming = TcpIncoming::from(listener);
    let stopped = stop.clone().cancelled_owned();
    let task = tokio::spawn(async move {
        let ended = server.serve_with_incoming_shutdown(incoming, stopped);
        let _ = ended.await;
    });
    Ok((address, task))
}

/// Calls over one connection at a time.
#[derive(Debug, Clone)]
pub struct Caller {
    to: SocketAddr,
    used: u32,
    plain: PeerClient<Channel>,
    telling: Telling,
}

impl Caller {
    /// A caller that connects when it calls.
    ///
    /// # Panics
    /// Never: every address can be written into a URL.
    #[must_use]
    pub fn new(to: SocketAddr) -> Self {
        let endpoint = Endpoint::from_shared(format!("http://{to}")).expect("an address");
        let channel = endpoint.connect_lazy();
        let layer = PropagateDeadlineLayer::new(InternalHosts::all());
        Self {
            to,
            used: 0,
            plain: PeerClient(channel.clone()),
            telling: PeerClient(layer.layer(channel)),
        }
    }

    /// Counts, and connects anew now and then: the HTTP/2 library closes a connection of its own after 1024 frames that
    /// came for calls it had given up, with every other call on it, and tonic's `Endpoint` cannot be told another number.
    pub fn renew(&mut self) {
        self.used += 1;
        if self.used > 2_000 {
            *self = Self::new(self.to);
        }
    }

    /// How a call ends that has so much time: `OK`, or the cause of its stop.
    pub async fn call(&self, work_ms: u32, time: Duration) -> String {
        let call = async {
            self.telling.call(request(work_ms)).await?;
            Ok("OK".to_owned())
        };
        within(time, call).await
    }

    /// The same of a stream.
    pub async fn read(&self, work_ms: u32, time: Duration) -> String {
        let read = async {
            let mut items = self.telling.items(request(work_ms)).await?;
            while items.message().await?.is_some() {}
            Ok("OK".to_owned())
        };
        within(time, read).await
    }

    /// With what a call ends whose timeout cannot be read.
    pub async fn malformed(&self) -> String {
        let mut request = request(0);
        let soon = MetadataValue::from_static("soon");
        request.metadata_mut().insert("grpc-timeout", soon);
        match self.plain.call(request).await {
            Ok(_) => "OK".to_owned(),
            Err(status) if status.code() == Code::InvalidArgument => "INVALID_ARGUMENT".to_owned(),
            Err(status) => format!("{status:?}"),
        }
    }
}

async fn within(time: Duration, call: impl Future<Output = Result<String, Stopped>>) -> String {
    let ended = Context::root(CLIENT, Budget::new(time)).run(call).await;
    match ended.and_then(|ended| ended) {
        Ok(said) => said,
        Err(stopped) if format!("{stopped:?}").contains(SECRET) => "the secret".to_owned(),
        Err(stopped) if stopped.cause() == Cause::DependencyFailed => format!("{stopped:?}"),
        Err(stopped) => stopped.cause().to_string(),
    }
}

fn request(work_ms: u32) -> Request<Ask> {
    let mut request = Request::new(Ask {
        id: SECRET.to_owned(),
        work_ms,
        ..Ask::default()
    });
    let secret = MetadataValue::from_static(SECRET);
    request.metadata_mut().insert("authorization", secret);
    request
}
