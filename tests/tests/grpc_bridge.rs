//! From HTTP to gRPC and back: one deadline and one cause, whatever carries them.
#![allow(missing_docs, clippy::pedantic)]

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::routing::get;
use deadline_runtime::http::grpc::StatusExt as _;
use deadline_runtime::http::{
    DeadlineLayer, InternalHosts, Policy, PropagateDeadlineLayer, RequestBuilderExt as _, Trust,
};
use deadline_runtime::{Budget, Cause, Context, Stopped};
use deadline_tests::grpc::{self, TextService};
use deadline_tests::raw;
use tokio::net::TcpListener;
use tonic::transport::Endpoint;
use tonic::{Code, Request, Status};
use tower::Layer;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn layer(name: &'static str) -> DeadlineLayer {
    let policy = Policy::new()
        .max(Duration::from_secs(10))
        .trust(Trust::Full)
        // So that the one below is heard before our own end, on a busy machine as well.
        .reserve(ms(1_000));
    DeadlineLayer::new(name, policy).outermost(true)
}

async fn serve_http(router: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    addr
}

async fn call_grpc(to: SocketAddr, text: &str) -> Result<String, Status> {
    let channel = Endpoint::from_shared(format!("http://{to}"))
        .unwrap()
        .connect_lazy();
    let channel = PropagateDeadlineLayer::new(InternalHosts::all()).layer(channel);
    grpc::once(channel, Request::new(text.to_owned())).await
}

type Seen = Arc<Mutex<Vec<(Option<Duration>, Option<Arc<str>>)>>>;

fn see(seen: &Seen) {
    let cx = Context::current();
    seen.lock().unwrap().push((cx.remaining(), cx.request_id()));
}

/// A gRPC service that does as it is told.
fn told(seen: Seen) -> TextService {
    TextService::new(move |request| {
        see(&seen);
        async move {
            match request.get_ref().as_str() {
                "hang" => std::future::pending().await,
                "overload" => {
                    let cx = Context::current().child(ms(5_000));
                    cx.cancel(Cause::Overload);
                    cx.check()?;
                }
                _ => {}
            }
            Ok("done".to_owned())
        }
    })
}

#[tokio::test]
async fn from_http_to_grpc() {
    let seen = Seen::default();
    let below = grpc::serve(layer("grpc"), told(seen.clone())).await;
    let bridge = get(
        move |axum::extract::Path(text): axum::extract::Path<String>| async move {
            tokio::time::sleep(ms(200)).await;
            let answer = call_grpc(below, &text).await;
            answer.or_else(|status| {
                status
                    .into_stopped()
                    .map_or_else(|status| Ok(status.to_string()), Err)
            })
        },
    );
    let router = Router::new().route("/{text}", bridge).layer(layer("http"));
    let addr = serve_http(router).await;
    for (text, status, cause, body) in [
        ("go", 200, "", "done"),
        // The one below ran out of what it was given, before we ran out of ours.
        ("hang", 504, "dependency_timeout", ""),
        ("overload", 502, "dependency_failed", ""),
    ] {
        let lines = [&b"x-request-timeout-ms: 4000"[..], b"x-request-id: id-1"];
        let answer = raw::exchange(addr, &raw::get(&format!("/{text}"), &lines)).await;
        assert_eq!(answer.status(), status, "{answer:?}");
        assert_eq!(answer.header("x-deadline-cause"), cause, "{answer:?}");
        assert!(answer.body.contains(body), "{answer:?}");
        assert!(answer.after < ms(4_000), "{answer:?}");
        let (left, id) = seen.lock().unwrap().pop().unwrap();
        // 4000, less the reserve here, the 200 ms and the reserve there.
        let left = left.unwrap();
        assert!(left <= ms(1_800) && left > ms(600), "{left:?}");
        assert_eq!(id.as_deref(), Some("id-1"));
    }
}

#[tokio::test]
async fn from_grpc_to_http() {
    let seen = Seen::default();
    let keep = seen.clone();
    let handler = get(
        move |axum::extract::Path(text): axum::extract::Path<String>| {
            see(&keep);
            async move {
                match text.as_str() {
                    "hang" => std::future::pending().await,
                    "overload" => {
                        let cx = Context::current().child(ms(5_000));
                        cx.cancel(Cause::Overload);
                        cx.check()?;
                    }
                    _ => {}
                }
                Ok::<_, Stopped>("done")
            }
        },
    );
    let below = serve_http(Router::new().route("/{text}", handler).layer(layer("http"))).await;
    let client = reqwest::Client::new();
    let bridge = TextService::new(move |request| {
        let call = client.get(format!("http://{below}/{}", request.get_ref()));
        async move {
            tokio::time::sleep(ms(200)).await;
            let answer = call.send_within_deadline().await?;
            answer
                .text()
                .await
                .map_err(|error| Status::internal(error.to_string()))
        }
    });
    let addr = grpc::serve(layer("grpc"), bridge).await;
    for (text, code, cause) in [
        ("go", Code::Ok, ""),
        ("hang", Code::DeadlineExceeded, "dependency_timeout"),
        ("overload", Code::Unavailable, "dependency_failed"),
    ] {
        let start = Instant::now();
        let cx = Context::builder("client")
            .budget(Budget::new(ms(4_000)))
            .request_id("id-1")
            .build();
        let outcome = cx.run(call_grpc(addr, text)).await.unwrap();
        let status = match outcome {
            Ok(answer) => {
                assert_eq!(answer, "done");
                Status::ok("")
            }
            Err(status) => status,
        };
        assert_eq!(status.code(), code, "{status:?}");
        let word = status.metadata().get("x-deadline-cause");
        assert_eq!(word.map_or("", |word| word.to_str().unwrap()), cause);
        assert!(start.elapsed() < ms(4_000));
        let (left, id) = seen.lock().unwrap().pop().unwrap();
        let left = left.unwrap();
        assert!(left <= ms(1_800) && left > ms(600), "{left:?}");
        assert_eq!(id.as_deref(), Some("id-1"));
    }
}
