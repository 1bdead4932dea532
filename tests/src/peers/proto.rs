//! Our end of `tests/peers/peer.proto`.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::Stream;
use futures::future::BoxFuture;
use http::uri::PathAndQuery;
use tonic::body::Body;
use tonic::client::GrpcService;
use tonic::server::NamedService;
use tonic::{IntoRequest, Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;
use tower::Service;

const CALL: &str = "/peer.Peer/Call";
const ITEMS: &str = "/peer.Peer/Items";

/// What is asked of a peer.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Ask {
    /// Names the call in what peers print.
    #[prost(string, tag = "1")]
    pub id: String,
    /// How long to work, in milliseconds.
    #[prost(uint32, tag = "2")]
    pub work_ms: u32,
    /// How many items a stream has.
    #[prost(uint32, tag = "3")]
    pub items: u32,
    /// Whom to ask after the work; nobody if empty.
    #[prost(string, tag = "4")]
    pub next: String,
    /// How long that one works.
    #[prost(uint32, tag = "5")]
    pub next_work_ms: u32,
    /// What to fail with after the work; 0 for a value.
    #[prost(uint32, tag = "6")]
    pub fail_with: u32,
}

/// What a peer answers.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Told {
    /// Who.
    #[prost(string, tag = "1")]
    pub by: String,
    /// What was left of the deadline at the start, -1 without one.
    #[prost(int64, tag = "2")]
    pub left_ms: i64,
    /// What the next one told.
    #[prost(message, optional, boxed, tag = "3")]
    pub next: Option<Box<Told>>,
    /// Which item of a stream.
    #[prost(uint32, tag = "4")]
    pub item: u32,
}

/// The items of a stream.
pub type Items = Pin<Box<dyn Stream<Item = Result<Told, Status>> + Send>>;

/// What a server of ours does.
pub trait Serve: Clone + Send + Sync + 'static {
    /// One answer.
    fn call(&self, ask: Request<Ask>) -> impl Future<Output = Result<Told, Status>> + Send;
    /// A stream of them.
    fn items(&self, ask: Request<Ask>) -> impl Future<Output = Result<Items, Status>> + Send;
}

/// The tower service, as generated code would have it.
#[derive(Debug, Clone)]
pub struct PeerServer<S>(pub S);

impl<S> NamedService for PeerServer<S> {
    const NAME: &'static str = "peer.Peer";
}

impl<S, B> Service<http::Request<B>> for PeerServer<S>
where
    S: Serve,
    B: http_body::Body + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let served = self.0.clone();
        let mut grpc = tonic::server::Grpc::new(ProstCodec::<Told, Ask>::default());
        Box::pin(async move {
            let one = tower::service_fn(|ask| async { served.call(ask).await.map(Response::new) });
            let many =
                tower::service_fn(|ask| async { served.items(ask).await.map(Response::new) });
            Ok(match request.uri().path() {
                CALL => grpc.unary(one, request).await,
                ITEMS => grpc.server_streaming(many, request).await,
                _ => Status::unimplemented("no such method").into_http(),
            })
        })
    }
}

/// A client of any peer.
#[derive(Debug, Clone)]
pub struct PeerClient<T>(pub T);

impl<T> PeerClient<T>
where
    T: GrpcService<Body> + Clone,
    T::ResponseBody: http_body::Body<Data = Bytes> + Send + 'static,
    <T::ResponseBody as http_body::Body>::Error:
        Into<Box<dyn std::error::Error + Send + Sync>> + Send,
{
    async fn ready(&self) -> Result<tonic::client::Grpc<T>, Status> {
        let mut grpc = tonic::client::Grpc::new(self.0.clone());
        let ready = grpc.ready().await;
        ready.map_err(|error| Status::from_error(error.into()))?;
        Ok(grpc)
    }

    /// One answer.
    ///
    /// # Errors
    /// What the peer or the transport says.
    pub async fn call(&self, ask: impl IntoRequest<Ask>) -> Result<Told, Status> {
        let codec = ProstCodec::<Ask, Told>::default();
        let path = PathAndQuery::from_static(CALL);
        let mut grpc = self.ready().await?;
        let answer = grpc.unary(ask.into_request(), path, codec).await?;
        Ok(answer.into_inner())
    }

    /// A stream of answers.
    ///
    /// # Errors
    /// What the peer or the transport says before the first of them.
    pub async fn items(&self, ask: impl IntoRequest<Ask>) -> Result<Streaming<Told>, Status> {
        let codec = ProstCodec::<Ask, Told>::default();
        let path = PathAndQuery::from_static(ITEMS);
        let mut grpc = self.ready().await?;
        let answer = grpc
            .server_streaming(ask.into_request(), path, codec)
            .await?;
        Ok(answer.into_inner())
    }
}
