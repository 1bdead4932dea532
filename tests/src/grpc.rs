//! A gRPC service without `protoc`: its messages are texts, one call answers once and one with a stream.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, BufMut};
use futures::Stream;
use futures::future::BoxFuture;
use http::uri::PathAndQuery;
use http_body::Body;
use tokio::net::TcpListener;
use tonic::body::Body as TonicBody;
use tonic::client::GrpcService;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};

use tonic::server::{Grpc, NamedService};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status, Streaming};
use tower::{Layer, Service, service_fn};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The path of the call that answers once.
pub const ONCE: &str = "/test.Text/Once";
/// The path of the call that answers with a stream.
pub const MANY: &str = "/test.Text/Many";

/// Texts as they are.
#[derive(Debug, Clone, Copy, Default)]
pub struct Text;

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

/// A stream of texts.
pub type Texts = Pin<Box<dyn Stream<Item = Result<String, Status>> + Send>>;

type Handler<T> =
    Arc<dyn Fn(Request<String>) -> BoxFuture<'static, Result<Response<T>, Status>> + Send + Sync>;

/// The service: what it answers once, and with a stream.
#[derive(Clone)]
pub struct TextService {
    once: Handler<String>,
    many: Handler<Texts>,
}

impl TextService {
    /// A service whose stream is empty.
    pub fn new<F>(once: impl Fn(Request<String>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<String, Status>> + Send + 'static,
    {
        Self {
            once: Arc::new(move |request| {
                let answer = once(request);
                Box::pin(async move { answer.await.map(Response::new) })
            }),
            many: Arc::new(|_| {
                let none: Texts = Box::pin(futures::stream::empty());
                Box::pin(std::future::ready(Ok(Response::new(none))))
            }),
        }
    }

    /// With this stream.
    #[must_use]
    pub fn many<S>(mut self, many: impl Fn(Request<String>) -> S + Send + Sync + 'static) -> Self
    where
        S: Stream<Item = Result<String, Status>> + Send + 'static,
    {
        self.many = Arc::new(move |request| {
            let texts: Texts = Box::pin(many(request));
            Box::pin(std::future::ready(Ok(Response::new(texts))))
        });
        self
    }
}

impl NamedService for TextService {
    const NAME: &'static str = "test.Text";
}

impl<B> Service<http::Request<B>> for TextService
where
    B: Body + Send + 'static,
    B::Error: Into<BoxError> + Send,
{
    type Response = http::Response<TonicBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let Self { once, many } = self.clone();
        Box::pin(async move {
            let mut grpc = Grpc::new(Text);
            Ok(match request.uri().path() {
                ONCE => {
                    let once = service_fn(move |request| once(request));
                    grpc.unary(once, request).await
                }
                MANY => {
                    let many = service_fn(move |request| many(request));
                    grpc.server_streaming(many, request).await
                }
                _ => Status::unimplemented("").into_http(),
            })
        })
    }
}

/// Serves on a free port of this machine, behind a layer.
///
/// # Panics
/// If there is none.
pub async fn serve<L, B>(layer: L, service: TextService) -> SocketAddr
where
    L: Layer<tonic::service::Routes> + Clone + Send + 'static,
    L::Service:
        Service<http::Request<TonicBody>, Response = http::Response<B>> + Clone + Send + 'static,
    <L::Service as Service<http::Request<TonicBody>>>::Future: Send,
    <L::Service as Service<http::Request<TonicBody>>>::Error: Into<BoxError> + Send,
    B: Body<Data = bytes::Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let server = Server::builder().layer(layer).add_service(service);
    tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
    address
}

/// Calls once.
///
/// # Errors
/// The status of the call.
pub async fn once<C>(client: C, request: Request<String>) -> Result<String, Status>
where
    C: GrpcService<TonicBody> + Send,
    C::Future: Send,
    C::ResponseBody: Body<Data = bytes::Bytes> + Send + 'static,
    <C::ResponseBody as Body>::Error: Into<BoxError>,
{
    let mut client = tonic::client::Grpc::new(client);
    let ready = client.ready().await;
    ready.map_err(|error| Status::from_error(error.into()))?;
    let path = PathAndQuery::from_static(ONCE);
    let answer = client.unary(request, path, Text).await;
    answer.map(Response::into_inner)
}

/// Calls for a stream.
///
/// # Errors
/// The status of the call.
pub async fn many<C>(client: C, request: Request<String>) -> Result<Streaming<String>, Status>
where
    C: GrpcService<TonicBody> + Send,
    C::Future: Send,
    C::ResponseBody: Body<Data = bytes::Bytes> + Send + 'static,
    <C::ResponseBody as Body>::Error: Into<BoxError>,
{
    let mut client = tonic::client::Grpc::new(client);
    let ready = client.ready().await;
    ready.map_err(|error| Status::from_error(error.into()))?;
    let path = PathAndQuery::from_static(MANY);
    let answer = client.server_streaming(request, path, Text).await;
    answer.map(Response::into_inner)
}
