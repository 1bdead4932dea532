//! The services, each a server of its own on loopback: a gateway, what it calls, and a chain of four hops.

pub mod chain;
mod crunch;
mod gateway;
pub mod invoices;
mod orders;
mod profile;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::http::HeaderMap;
use deadline_runtime::http::{DeadlineLayer, Policy, RequestBuilderExt as _};
use deadline_runtime::{Context, Mode, Report};
use tokio::net::TcpListener;

use crate::database::Database;
use crate::error::AppError;
use crate::journal::Journal;

/// What every service is given.
#[derive(Clone)]
pub struct World {
    pub journal: Journal,
    pub database: Database,
    pub client: reqwest::Client,
    /// The contexts of the gateway's requests: a context can be asked for its report when the request is over.
    contexts: Arc<Mutex<Vec<Context>>>,
}

/// Where they listen.
#[derive(Clone, Copy)]
pub struct Addresses {
    pub gateway: SocketAddr,
    /// The same gateway, in `Observe`.
    pub observing: SocketAddr,
    /// The first of four hops under one deadline.
    pub shared_chain: SocketAddr,
    /// The first of four hops that each have their own timeouts.
    pub own_chain: SocketAddr,
}

/// How long the gateway lets a request take, whatever the client asks for.
pub const GATEWAY_MAX: Duration = Duration::from_millis(1_500);
pub const GATEWAY_RESERVE: Duration = Duration::from_millis(100);
/// What the services behind it keep for their answers.
const INNER_RESERVE: Duration = Duration::from_millis(20);

impl World {
    pub async fn new() -> Result<Self, Box<dyn std::error::Error>> {
        let journal = Journal::new();
        Ok(Self {
            database: Database::open(journal.clone()).await?,
            journal,
            client: reqwest::Client::builder().no_proxy().build()?,
            contexts: Arc::default(),
        })
    }

    /// Starts everything; `gateway` is the gateway's address, port 0 for any.
    pub async fn start(&self, gateway: SocketAddr) -> std::io::Result<Addresses> {
        let inner = Policy::new()
            .max(Duration::from_secs(10))
            .reserve(INNER_RESERVE);
        let backends = gateway::Backends {
            profile: self.serve(profile::app(), "profile", inner.clone()).await?,
            orders: self.serve(orders::app(), "orders", inner.clone()).await?,
            crunch: self.serve(crunch::app(), "crunch", inner.clone()).await?,
        };
        let front = Policy::new()
            .max(GATEWAY_MAX)
            .default(GATEWAY_MAX)
            .reserve(GATEWAY_RESERVE);
        let app = || gateway::app(backends).merge(invoices::app());
        let (mut shared, mut own) = (None, None);
        for hop in chain::HOPS.into_iter().rev() {
            shared = Some(
                self.serve(chain::shared_app(hop, shared), hop, inner.clone())
                    .await?,
            );
            own = Some(
                self.serve(chain::own_app(hop, own), hop, inner.clone().mode(Mode::Off))
                    .await?,
            );
        }
        let (Some(shared_chain), Some(own_chain)) = (shared, own) else {
            return Err(std::io::Error::other("a chain of no hops"));
        };
        Ok(Addresses {
            gateway: self
                .serve_at(gateway, app(), "gateway", front.clone())
                .await?,
            observing: self
                .serve(app(), "gateway", front.mode(Mode::Observe))
                .await?,
            shared_chain,
            own_chain,
        })
    }

    async fn serve(
        &self,
        app: Router<Self>,
        name: &'static str,
        policy: Policy,
    ) -> std::io::Result<SocketAddr> {
        self.serve_at(SocketAddr::from(([127, 0, 0, 1], 0)), app, name, policy)
            .await
    }

    async fn serve_at(
        &self,
        at: SocketAddr,
        app: Router<Self>,
        name: &'static str,
        policy: Policy,
    ) -> std::io::Result<SocketAddr> {
        let listener = TcpListener::bind(at).await.map_err(|error| {
            std::io::Error::new(error.kind(), format!("cannot listen at {at}: {error}"))
        })?;
        let address = listener.local_addr()?;
        let app = app
            .with_state(self.clone())
            .layer(DeadlineLayer::new(name, policy).outermost(true));
        tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, app).await {
                tracing::error!(%error, "a server ended");
            }
        });
        Ok(address)
    }

    /// A call to another service, with what is left of the request.
    pub async fn call(&self, address: SocketAddr, path: &str) -> Result<String, AppError> {
        let url = format!("http://{address}{path}");
        let answer = self.client.get(url).send_within_deadline().await?;
        if !answer.status().is_success() {
            return Err(AppError::Dependency(format!(
                "{path} answered {}",
                answer.status()
            )));
        }
        Ok(answer.text().await?)
    }

    pub fn remember(&self, context: &Context) {
        self.contexts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(context.clone());
    }

    /// The breakdown of a request, as the gateway saw it.
    pub fn report(&self, request: &str) -> Option<Report> {
        let contexts = self.contexts.lock().unwrap_or_else(PoisonError::into_inner);
        contexts
            .iter()
            .find(|context| context.request_id().as_deref() == Some(request))?
            .report()
    }
}

/// The id of the request, which every hop logs under.
pub fn request_id(context: &Context) -> String {
    context
        .request_id()
        .map(|id| id.to_string())
        .unwrap_or_default()
}

/// The timeout header as it came in.
pub fn granted(headers: &HeaderMap) -> Option<String> {
    headers
        .get("x-request-timeout-ms")
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned)
}
