//! A gRPC service of texts, written by hand so that the example needs no `protoc`: what a generated one would do.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf as _, BufMut as _};
use deadline_runtime::http::{
    DeadlineLayer, InternalHosts, PropagateDeadline, PropagateDeadlineLayer,
};
use futures::Stream;
use futures::future::BoxFuture;
use http::uri::PathAndQuery;
use http_body::Body;
use tokio::net::TcpListener;
use tonic::client::Grpc as Client;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::server::{Grpc, NamedService};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status, Streaming};
use tower::{Layer as _, Service, service_fn};

pub const ONCE: &str = "/chain.Text/Once";
const MANY: &str = "/chain.Text/Many";

pub type Texts = Pin<Box<dyn Stream<Item = Result<String, Status>> + Send>>;

/// What a hop does.
pub trait Hop: Send + Sync + 'static {
    fn once(&self, text: String) -> BoxFuture<'static, Result<String, Status>>;
    fn many(&self, text: String) -> Texts;
}

/// Serves a hop on a free port of this machine.
pub async fn serve(layer: DeadlineLayer, hop: Arc<dyn Hop>) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = Server::builder().layer(layer).add_service(HopService(hop));
    tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
    Ok(address)
}

/// A client of one hop, which is told what is left.
#[derive(Clone)]
pub struct TextClient(Client<PropagateDeadline<Channel>>);

impl TextClient {
    pub fn of(address: SocketAddr) -> Result<Self, tonic::transport::Error> {
        let channel = Endpoint::from_shared(format!("http://{address}"))?.connect_lazy();
        let channel = PropagateDeadlineLayer::new(InternalHosts::all()).layer(channel);
        Ok(Self(Client::new(channel)))
    }

    pub async fn once(mut self, text: String) -> Result<String, Status> {
        let ready = self.0.ready().await;
        ready.map_err(Status::from_error)?;
        let path = PathAndQuery::from_static(ONCE);
        let answer = self.0.unary(Request::new(text), path, Text).await?;
        Ok(answer.into_inner())
    }

    pub async fn many(mut self, text: String) -> Result<Streaming<String>, Status> {
        let ready = self.0.ready().await;
        ready.map_err(Status::from_error)?;
        let path = PathAndQuery::from_static(MANY);
        let answer = self.0.server_streaming(Request::new(text), path, Text);
        answer.await.map(Response::into_inner)
    }
}

#[derive(Clone)]
struct HopService(Arc<dyn Hop>);

impl NamedService for HopService {
    const NAME: &'static str = "chain.Text";
}

impl<B> Service<http::Request<B>> for HopService
where
    B: Body + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send,
{
    type Response = http::Response<tonic::body::Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let hop = self.0.clone();
        Box::pin(async move {
            let mut grpc = Grpc::new(Text);
            Ok(match request.uri().path() {
                ONCE => {
                    let once = service_fn(move |request: Request<String>| {
                        let answer = hop.once(request.into_inner());
                        async move { answer.await.map(Response::new) }
                    });
                    grpc.unary(once, request).await
                }
                MANY => {
                    let many = service_fn(move |request: Request<String>| {
                        let texts = hop.many(request.into_inner());
                        std::future::ready(Ok::<_, Status>(Response::new(texts)))
                    });
                    grpc.server_streaming(many, request).await
                }
                _ => Status::unimplemented("").into_http(),
            })
        })
    }
}

#[derive(Clone, Copy)]
struct Text;

impl Codec for Text {
    type Encode = String;
    type Decode = String;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Text {
    type Item = String;
    type Error = Status;

    fn encode(&mut self, text: String, into: &mut EncodeBuf<'_>) -> Result<(), Status> {
        into.put_slice(text.as_bytes());
        Ok(())
    }
}

impl Decoder for Text {
    type Item = String;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<String>, Status> {
        let bytes = from.copy_to_bytes(from.remaining());
        let text = String::from_utf8(bytes.to_vec());
        text.map(Some)
            .map_err(|_| Status::invalid_argument("not a text"))
    }
}
