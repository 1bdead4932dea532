//! A gRPC call as HTTP/2 frames, for what no library would send.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::{BufMut as _, Bytes, BytesMut};
use http::{HeaderMap, Request};
use prost::Message as _;
use tokio::net::{TcpListener, TcpStream};

use super::proto::Ask;
use crate::clock::real_time;

/// An answer as it came.
#[derive(Debug)]
pub struct Frames {
    /// The status of HTTP.
    pub status: u16,
    /// The headers of the first frame.
    pub headers: HeaderMap,
    /// Whether there was nothing else.
    pub trailers_only: bool,
    /// How many bytes of data came.
    pub data: usize,
    /// The trailers, wherever they were.
    pub trailers: HeaderMap,
    /// When it was over, from the sending of the last byte.
    pub after: Duration,
    /// The reason of a reset, if the peer ended the stream with one.
    pub reset: Option<h2::Reason>,
}

impl Frames {
    /// The gRPC code, -1 if there is none.
    #[must_use]
    pub fn code(&self) -> i64 {
        let code = self.trailers.get("grpc-status");
        let code = code.and_then(|code| code.to_str().ok()?.parse().ok());
        code.unwrap_or(-1)
    }
}

/// Calls a method of `peer.Peer` with `headers` as they are.
///
/// # Panics
/// If there is no connection, or no end within 20 s, or under a paused clock.
pub async fn call(to: SocketAddr, method: &str, ask: &Ask, headers: &[(&str, &[u8])]) -> Frames {
    real_time();
    let stream = TcpStream::connect(to).await.expect("connect");
    let (client, connection) = h2::client::handshake(stream).await.expect("handshake");
    tokio::spawn(connection);
    let mut request = Request::post(format!("http://{to}/peer.Peer/{method}"))
        .version(http::Version::HTTP_2)
        .header("content-type", "application/grpc")
        .header("te", "trailers");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(()).expect("a request");
    let mut client = client.ready().await.expect("ready");
    let (answer, mut body) = client.send_request(request, false).expect("sent");
    body.send_data(framed(ask), true).expect("sent");
    let start = Instant::now();
    let whole = async {
        let mut frames = Frames {
            status: 0,
            headers: HeaderMap::new(),
            trailers_only: false,
            data: 0,
            trailers: HeaderMap::new(),
            after: Duration::ZERO,
            reset: None,
        };
        let received: Result<(), h2::Error> = async {
            let answer = answer.await?;
            frames.status = answer.status().as_u16();
            frames.headers = answer.headers().clone();
            let mut body = answer.into_body();
            frames.trailers_only = body.is_end_stream();
            while let Some(data) = body.data().await {
                frames.data += data?.len();
            }
            frames.trailers = match body.trailers().await? {
                Some(trailers) => trailers,
                None => frames.headers.clone(),
            };
            Ok(())
        }
        .await;
        frames.after = start.elapsed();
        frames.reset = received.err().map(|error| error.reason().expect("a reset"));
        frames
    };
    let whole = tokio::time::timeout(Duration::from_secs(20), whole);
    whole.await.expect("an end")
}

/// A message with its length before it.
fn framed(ask: &Ask) -> Bytes {
    let length = u32::try_from(ask.encoded_len()).expect("a short message");
    let mut bytes = BytesMut::new();
    bytes.put_u8(0);
    bytes.put_u32(length);
    ask.encode(&mut bytes).expect("room");
    bytes.freeze()
}

/// A server that resets every stream with `CANCEL` a while after its head has come.
///
/// # Panics
/// If it cannot listen, or under a paused clock.
pub async fn resetting(after: Duration) -> SocketAddr {
    real_time();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let Ok(mut connection) = h2::server::handshake(stream).await else {
                    return;
                };
                while let Some(Ok((_request, mut answer))) = connection.accept().await {
                    tokio::spawn(async move {
                        tokio::time::sleep(after).await;
                        answer.send_reset(h2::Reason::CANCEL);
                    });
                }
            });
        }
    });
    address
}
