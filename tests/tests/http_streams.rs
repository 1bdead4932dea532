//! Streams, early refusals and unread bytes, over raw sockets and in real time.
#![allow(missing_docs, clippy::pedantic)]

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use axum::routing::{get, post};
use deadline_runtime::Context;
use deadline_runtime::http::{DeadlineLayer, FinishOnDisconnectLayer, HeaderSet, Policy, Trust};
use deadline_tests::raw;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc::unbounded_channel;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn policy() -> Policy {
    Policy::new().max(ms(1_500)).trust(Trust::Full)
}

async fn serve(router: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    addr
}

/// An event every `gap`, and silence after `events` of them.
fn server_sent(gap: Duration, events: usize) -> Response {
    let items = futures::stream::unfold(0, move |n| async move {
        if n >= events {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(gap).await;
        Some((Ok::<_, Infallible>(format!("data: {n}\n\n")), n + 1))
    });
    let mut response = Response::new(Body::from_stream(items));
    let value = http::HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert("content-type", value);
    response
}

#[tokio::test]
async fn an_event_stream_outlives_its_heads_budget_and_dies_of_silence() {
    let policy = policy().stream_idle(ms(1_000));
    let router = Router::new()
        .route("/", get(|| async { server_sent(ms(300), 8) }))
        .layer(DeadlineLayer::new("sse", policy));
    let addr = serve(router).await;
    let answer = raw::exchange(addr, &raw::get("/", &[])).await;
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.body.matches("data: ").count(), 8, "{answer:?}");
    // Eight events take longer than the budget of 1,500 ms; a second of silence ends it.
    assert!(
        answer.after >= ms(8 * 300 + 900) && answer.after < ms(7_000),
        "{answer:?}"
    );
    assert!(!answer.body.ends_with("0\r\n\r\n"), "{answer:?}");
}

#[tokio::test]
async fn a_client_that_leaves_a_stream_stops_its_source() {
    struct OnDrop(tokio::sync::mpsc::UnboundedSender<()>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            let _ = self.0.send(());
        }
    }
    let (said, mut hear) = unbounded_channel();
    let handler = get(move || {
        let guard = OnDrop(said.clone());
        async move {
            let items = futures::stream::unfold(guard, |guard| async {
                tokio::time::sleep(ms(100)).await;
                Some((Ok::<_, Infallible>("data: x\n\n"), guard))
            });
            let mut response = Response::new(Body::from_stream(items));
            let value = http::HeaderValue::from_static("text/event-stream");
            response.headers_mut().insert("content-type", value);
            response
        }
    });
    let layer = DeadlineLayer::new("sse", policy()).outermost(true);
    let addr = serve(Router::new().route("/", handler).layer(layer)).await;
    let mut client = raw::send(addr, &raw::get("/", &[])).await;
    let mut some = [0; 256];
    // Longer than the budget of the head, so that it is the stream's own end.
    let start = Instant::now();
    while start.elapsed() < ms(2_000) {
        assert!(client.read(&mut some).await.unwrap() > 0);
    }
    drop(client);
    tokio::time::timeout(Duration::from_secs(5), hear.recv())
        .await
        .unwrap();
}

#[tokio::test]
async fn what_is_refused_is_refused_before_the_body_is_read() {
    let entered = Arc::new(AtomicUsize::new(0));
    let count = entered.clone();
    let handler = post(move |body: bytes::Bytes| {
        count.fetch_add(1, SeqCst);
        async move { body.len().to_string() }
    });
    let addr = serve(
        Router::new()
            .route("/", handler)
            .layer(DeadlineLayer::new("post", policy().min(ms(50)))),
    )
    .await;
    for (asked, status) in [("0", 504), ("20", 504), ("-1", 400)] {
        // Only the head: the body never comes.
        let request = format!(
            "POST / HTTP/1.1\r\nhost: test\r\nconnection: close\r\nexpect: 100-continue\r\n\
             x-request-timeout-ms: {asked}\r\ncontent-length: 200000\r\n\r\n"
        );
        let answer = raw::exchange(addr, request.as_bytes()).await;
        assert_eq!(answer.status(), status, "{answer:?}");
        // Not even asked for.
        assert!(!answer.head.contains("100 Continue"), "{answer:?}");
        assert!(answer.after < ms(1_000), "{answer:?}");
    }
    assert_eq!(entered.load(SeqCst), 0);
}

/// Each of these leaves with something unread, which keeps hyper from noticing.
#[tokio::test]
async fn clients_that_leave_unnoticed_are_worked_for_until_the_deadline_and_no_longer() {
    let (said, mut hear) = unbounded_channel();
    let handler = move || {
        let (said, start) = (said.clone(), Instant::now());
        async move {
            struct OnDrop(tokio::sync::mpsc::UnboundedSender<Duration>, Instant);
            impl Drop for OnDrop {
                fn drop(&mut self) {
                    let _ = self.0.send(self.1.elapsed());
                }
            }
            let _guard = OnDrop(said, start);
            tokio::time::sleep(Duration::from_secs(60)).await;
        }
    };
    let router = Router::new()
        .route("/", get(handler.clone()).post(handler))
        .layer(DeadlineLayer::new("unread", policy()).outermost(true));
    let addr = serve(router).await;
    let head = "x-request-timeout-ms: 800\r\nhost: test\r\n";
    let large = format!(
        "POST / HTTP/1.1\r\n{head}content-length: 200000\r\n\r\n{}",
        "x".repeat(200_000)
    );
    let partial = format!("POST / HTTP/1.1\r\n{head}content-length: 200000\r\n\r\nxxx");
    let pipelined = format!("GET / HTTP/1.1\r\n{head}\r\nGET / HTTP/1.1\r\n{head}\r\n");
    for request in [large, partial, pipelined] {
        let client = raw::send(addr, request.as_bytes()).await;
        tokio::time::sleep(ms(100)).await;
        drop(client);
        let worked = tokio::time::timeout(Duration::from_secs(10), hear.recv()).await;
        let worked = worked.unwrap().unwrap();
        assert!(worked < ms(2_500), "{worked:?}: {}", &request[..20]);
    }
}

#[tokio::test]
async fn a_payment_finishes_without_its_client() {
    let done = Arc::new(AtomicUsize::new(0));
    let count = done.clone();
    let finish = FinishOnDisconnectLayer::new();
    let handler = post(move || {
        let count = count.clone();
        async move {
            tokio::time::sleep(ms(600)).await;
            assert_eq!(Context::current().cause(), None);
            count.fetch_add(1, SeqCst);
        }
    });
    let router = Router::new()
        .route("/", handler.layer(finish.clone()))
        .layer(DeadlineLayer::new("pay", policy()).outermost(true));
    let addr = serve(router).await;
    let request =
        b"POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let mut client = raw::send(addr, request).await;
    tokio::time::sleep(ms(150)).await;
    assert_eq!(finish.working(), 1);
    client.shutdown().await.unwrap();
    drop(client);
    finish.settled().await;
    assert_eq!(done.load(SeqCst), 1);
    // With its client it is an endpoint like any other.
    let answer = raw::exchange(addr, request).await;
    assert_eq!((answer.status(), done.load(SeqCst)), (200, 2));
}

#[tokio::test]
async fn dates_in_the_wrong_unit_are_400_on_the_wire_and_past_ones_are_not_504() {
    let headers = HeaderSet::STANDARD.with(HeaderSet::ABSOLUTE);
    let router = Router::new()
        .route("/", get(|| async { "ok" }))
        .layer(DeadlineLayer::new("dates", policy().headers(headers)));
    let addr = serve(router).await;
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_millis();
    for (value, status) in [
        (format!("{}", now / 1_000), 400),
        (format!("{}", now * 1_000), 400),
        (format!("{now}.5"), 400),
        (format!("+{now}"), 400),
        (format!("{}", now - 3_000), 200),
        (format!("{}", now - 31_536_000_000), 200),
        (format!("{}", now + 31_536_000_000), 200),
        (format!("{}", now + 3_000), 200),
    ] {
        let line = format!("x-request-deadline: {value}");
        let answer = raw::exchange(addr, &raw::get("/", &[line.as_bytes()])).await;
        assert_eq!(answer.status(), status, "{value}: {answer:?}");
    }
}

/// Some proxies close their sending side and wait. Where they do, hyper is told to keep serving.
#[tokio::test]
async fn a_half_closed_client_is_answered_where_hyper_is_told_so() {
    for half_close in [false, true] {
        let layer = DeadlineLayer::new("half", policy()).outermost(true);
        let service = tower::Layer::layer(
            &layer,
            tower::service_fn(|_: http::Request<_>| async {
                tokio::time::sleep(ms(300)).await;
                let body = http_body_util::Full::<bytes::Bytes>::from("done");
                Ok::<_, Infallible>(http::Response::new(body))
            }),
        );
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let service = hyper_util::service::TowerToHyperService::new(service);
            let _ = hyper::server::conn::http1::Builder::new()
                .half_close(half_close)
                .serve_connection(hyper_util::rt::TokioIo::new(stream), service)
                .await;
        });
        let mut client = raw::send(addr, &raw::get("/", &[])).await;
        client.shutdown().await.unwrap();
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer.ends_with(b"done"), half_close, "{answer:?}");
    }
}

#[tokio::test]
async fn a_connection_that_is_reset_stops_the_handler() {
    struct OnDrop(tokio::sync::mpsc::UnboundedSender<()>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            let _ = self.0.send(());
        }
    }
    let (said, mut hear) = unbounded_channel();
    let handler = get(move || {
        let guard = OnDrop(said.clone());
        async move {
            tokio::time::sleep(Duration::from_secs(60)).await;
            drop(guard);
        }
    });
    let policy = Policy::new().max(Duration::from_secs(60));
    let layer = DeadlineLayer::new("reset", policy).outermost(true);
    let addr = serve(Router::new().route("/", handler).layer(layer)).await;
    let client = raw::send(addr, &raw::get("/", &[])).await;
    tokio::time::sleep(ms(100)).await;
    // Dropped with this it sends a reset instead of an end.
    client.set_zero_linger().unwrap();
    drop(client);
    tokio::time::timeout(Duration::from_secs(5), hear.recv())
        .await
        .unwrap();
}
