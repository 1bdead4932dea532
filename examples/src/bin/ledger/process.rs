//! The service as a process: a runtime of its own, that can be killed.

use std::net::SocketAddr;
use std::path::PathBuf;

use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::error::BoxError;
use crate::fault::Faults;
use crate::provider::Provider;
use crate::service::Service;
use crate::store::{Postgres, Sqlite, Store};
use crate::{http, outbox};

/// Where one story's ledger lies; it outlives processes.
#[derive(Debug, Clone)]
pub enum Place {
    File(PathBuf),
    Schema { url: String, name: String },
}

pub struct Process {
    pub address: SocketAddr,
    runtime: Option<Runtime>,
}

impl Process {
    pub async fn start(place: &Place, provider: &str, faults: Faults) -> Result<Self, BoxError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let (place, provider) = (place.clone(), Provider::at(provider.to_owned())?);
        let starting = runtime.spawn(async move {
            match place {
                Place::File(path) => {
                    serve(Sqlite::open(&path, faults.clone()).await?, provider, faults).await
                }
                Place::Schema { url, name } => {
                    let store = Postgres::open(&url, &name, faults.clone()).await?;
                    serve(store, provider, faults).await
                }
            }
        });
        let mut process = Self {
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            runtime: Some(runtime),
        };
        process.address = starting.await??;
        Ok(process)
    }

    /// Ends everything in it where it stands: no answer is sent, no destructor awaits anything.
    pub fn kill(mut self) {
        self.end();
    }

    fn end(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

async fn serve<S: Store>(
    store: S,
    provider: Provider,
    faults: Faults,
) -> Result<SocketAddr, BoxError> {
    let service = Service {
        store,
        provider,
        faults,
    };
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(outbox::relay(service.clone()));
    tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, http::app(service)).await {
            tracing::error!(%error, "the server ended");
        }
    });
    Ok(address)
}
