//! A server of tonic's behind the receiving layer: what arrives at clients, as bytes and at tonic's own.
#![allow(missing_docs, clippy::pedantic)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use bytes::Bytes;
use deadline_runtime::http::{DeadlineLayer, Policy, Trust};
use deadline_runtime::{Context, Stopped};
use deadline_tests::grpc::{self, TextService};
use futures::StreamExt;
use http::HeaderMap;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn policy() -> Policy {
    Policy::new()
        .max(Duration::from_secs(10))
        .trust(Trust::Full)
        .stream_idle(ms(700))
}

fn layer() -> DeadlineLayer {
    DeadlineLayer::new("grpc", policy()).outermost(true)
}

/// With so much kept for the answer that tonic's own clock is not first on a busy machine either.
fn roomy() -> DeadlineLayer {
    DeadlineLayer::new("grpc", policy().reserve(ms(1_200))).outermost(true)
}

async fn channel(to: SocketAddr) -> Channel {
    let endpoint = Endpoint::from_shared(format!("http://{to}")).unwrap();
    endpoint.connect().await.unwrap()
}

/// What has happened to the handlers of a service.
#[derive(Clone, Default)]
struct Count {
    entered: Arc<AtomicUsize>,
    dropped: Arc<AtomicUsize>,
}

struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

impl Count {
    fn enter(&self) -> Dropped {
        self.entered.fetch_add(1, SeqCst);
        Dropped(self.dropped.clone())
    }

    async fn all_dropped(&self) {
        let start = Instant::now();
        while self.dropped.load(SeqCst) < self.entered.load(SeqCst) {
            assert!(start.elapsed() < Duration::from_secs(5), "still running");
            tokio::time::sleep(ms(5)).await;
        }
    }
}

/// Answers after so many milliseconds as it is asked to.
fn slow(count: Count) -> TextService {
    TextService::new(move |request| {
        let guard = count.enter();
        async move {
            let millis: u64 = request.get_ref().parse().unwrap();
            tokio::time::sleep(ms(millis)).await;
            drop(guard);
            Ok("done".to_owned())
        }
    })
}

struct Raw {
    status: u16,
    head: HeaderMap,
    body: Bytes,
    trailers: HeaderMap,
    /// Nothing follows the head: what the specification calls Trailers-Only.
    only_a_head: bool,
    after: Duration,
}

/// One call as HTTP/2, with these headers.
async fn raw(to: SocketAddr, path: &str, text: &str, lines: &[(&'static str, &str)]) -> Raw {
    let io = TokioIo::new(TcpStream::connect(to).await.unwrap());
    let (mut sender, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), io)
        .await
        .unwrap();
    tokio::spawn(connection);
    let mut message = vec![0];
    message.extend_from_slice(&u32::try_from(text.len()).unwrap().to_be_bytes());
    message.extend_from_slice(text.as_bytes());
    let mut request = http::Request::post(format!("http://{to}{path}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers");
    for (name, value) in lines {
        request = request.header(*name, value.as_bytes());
    }
    let start = Instant::now();
    let request = request.body(Full::new(Bytes::from(message))).unwrap();
    let (head, body) = sender.send_request(request).await.unwrap().into_parts();
    let only_a_head = http_body::Body::is_end_stream(&body);
    let whole = body.collect().await.unwrap();
    Raw {
        only_a_head,
        status: head.status.as_u16(),
        head: head.headers,
        trailers: whole.trailers().cloned().unwrap_or_default(),
        body: whole.to_bytes(),
        after: start.elapsed(),
    }
}

#[tokio::test]
async fn a_stop_has_the_bytes_of_a_grpc_answer() {
    let count = Count::default();
    let addr = grpc::serve(roomy(), slow(count.clone())).await;
    let lines = [("grpc-timeout", "2S"), ("x-request-id", "id-1")];
    let answer = raw(addr, grpc::ONCE, "20000", &lines).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.head["content-type"], "application/grpc");
    assert_eq!(answer.head["grpc-status"], "4");
    assert_eq!(answer.head["grpc-message"], "deadline_exceeded");
    assert_eq!(answer.head["x-deadline-cause"], "deadline_exceeded");
    assert_eq!(answer.head["x-request-id"], "id-1");
    assert!(!answer.head.contains_key("x-deadline-detail"));
    assert!(answer.body.is_empty() && answer.trailers.is_empty());
    assert!(answer.only_a_head);
    assert!(
        answer.after >= ms(750) && answer.after < ms(2_000),
        "{:?}",
        answer.after
    );
    count.all_dropped().await;
    assert_eq!(count.entered.load(SeqCst), 1);
    // In time.
    let answer = raw(addr, grpc::ONCE, "1", &lines).await;
    assert_eq!((answer.status, &answer.body[5..]), (200, &b"done"[..]));
    assert_eq!(answer.trailers["grpc-status"], "0");
}

#[tokio::test]
async fn zero_and_unreadable_timeouts_never_enter_the_handler() {
    let count = Count::default();
    let addr = grpc::serve(layer(), slow(count.clone())).await;
    for (value, status, cause) in [
        ("0n", "4", "deadline_exceeded"),
        ("0m", "4", "deadline_exceeded"),
        ("0S", "4", "deadline_exceeded"),
        ("00000000H", "4", "deadline_exceeded"),
        ("-1S", "3", "bad_deadline"),
        ("+5S", "3", "bad_deadline"),
        ("-0m", "3", "bad_deadline"),
        ("5", "3", "bad_deadline"),
        ("S", "3", "bad_deadline"),
        ("5s", "3", "bad_deadline"),
        ("abc", "3", "bad_deadline"),
        ("", "3", "bad_deadline"),
        ("1234567890m", "3", "bad_deadline"),
    ] {
        let answer = raw(addr, grpc::ONCE, "0", &[("grpc-timeout", value)]).await;
        assert_eq!(answer.status, 200, "{value}");
        assert!(answer.only_a_head, "{value}");
        assert_eq!(answer.head["grpc-status"], status, "{value}");
        assert_eq!(answer.head["x-deadline-cause"], cause, "{value}");
        assert_eq!(count.entered.load(SeqCst), 0, "{value}");
    }
}

#[tokio::test]
async fn tonics_own_client_hears_deadline_exceeded_and_not_cancelled() {
    let count = Count::default();
    let addr = grpc::serve(roomy(), slow(count.clone())).await;
    let mut request = Request::new("20000".to_owned());
    request.set_timeout(ms(2_000));
    let start = Instant::now();
    let status = grpc::once(channel(addr).await, request).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status:?}");
    assert_eq!(
        status.metadata().get("x-deadline-cause").unwrap(),
        "deadline_exceeded"
    );
    assert!(start.elapsed() < ms(4_000));
    count.all_dropped().await;
}

#[tokio::test]
async fn a_stream_ends_by_its_timeout_with_the_right_code() {
    let service = slow(Count::default()).many(|_| {
        futures::stream::unfold(0, |n| async move {
            tokio::time::sleep(ms(50)).await;
            Some((Ok(n.to_string()), n + 1))
        })
    });
    let addr = grpc::serve(layer(), service).await;
    let answer = raw(addr, grpc::MANY, "", &[("grpc-timeout", "500m")]).await;
    assert_eq!(answer.trailers["grpc-status"], "4");
    assert_eq!(answer.trailers["x-deadline-cause"], "deadline_exceeded");
    assert!(!answer.body.is_empty());
    assert!(answer.after < ms(2_000), "{:?}", answer.after);

    let mut request = Request::new(String::new());
    request.set_timeout(ms(1_000));
    let mut texts = grpc::many(channel(addr).await, request).await.unwrap();
    let (mut seen, mut end) = (0, None);
    while let Some(text) = texts.next().await {
        match text {
            Ok(_) => seen += 1,
            Err(status) => end = Some(status.code()),
        }
    }
    assert!(seen >= 1);
    assert_eq!(end, Some(Code::DeadlineExceeded));
}

#[tokio::test]
async fn a_stream_without_a_timeout_lives_while_it_says_something() {
    let service = slow(Count::default()).many(|_| {
        futures::stream::unfold(0, |n| async move {
            let gap = if n < 5 { 300 } else { 60_000 };
            tokio::time::sleep(ms(gap)).await;
            Some((Ok(n.to_string()), n + 1))
        })
    });
    let policy = Policy::new().max(ms(600)).stream_idle(ms(2_000));
    let addr = grpc::serve(DeadlineLayer::new("grpc", policy), service).await;
    let request = Request::new(String::new());
    let texts = grpc::many(channel(addr).await, request).await.unwrap();
    let all: Vec<_> = texts.collect().await;
    assert_eq!(all.iter().filter(|text| text.is_ok()).count(), 5);
    let end = all.last().unwrap().as_ref().unwrap_err();
    assert_eq!(end.code(), Code::DeadlineExceeded);
}

#[tokio::test]
async fn a_handlers_stop_is_its_status_and_a_catch_all_does_not_hide_it() {
    async fn load() -> Result<(), Stopped> {
        deadline_runtime::timeout(ms(50), std::future::pending::<()>()).await
    }
    let service = TextService::new(|request| async move {
        match request.get_ref().as_str() {
            "as it is" => load().await?,
            "internal" => load().await.map_err(|_| Status::internal("oops"))?,
            "unknown" => load().await.map_err(|_| Status::unknown("oops"))?,
            _ => return Err(Status::not_found("nothing was stopped")),
        }
        Ok(String::new())
    });
    let addr = grpc::serve(layer(), service).await;
    for text in ["as it is", "internal", "unknown"] {
        let mut answer = raw(addr, grpc::ONCE, text, &[]).await;
        // A stop that is 50 ms old was ignored by the handler: a busy machine may take us off for so long.
        for _ in 0..5 {
            if answer.head["grpc-status"] == "4" {
                break;
            }
            answer = raw(addr, grpc::ONCE, text, &[]).await;
        }
        assert_eq!(answer.head["grpc-status"], "4", "{text}");
        assert_eq!(answer.head["grpc-message"], "dependency_timeout", "{text}");
        assert_eq!(
            answer.head["x-deadline-cause"], "dependency_timeout",
            "{text}"
        );
    }
    let answer = raw(addr, grpc::ONCE, "", &[]).await;
    assert_eq!(answer.head["grpc-status"], "5");
    assert!(!answer.head.contains_key("x-deadline-cause"));
}

#[tokio::test]
async fn a_client_that_cancels_stops_the_handler() {
    let count = Count::default();
    let (said, mut hear) = tokio::sync::mpsc::unbounded_channel();
    let counted = count.clone();
    let service = TextService::new(move |_| {
        let (guard, said) = (counted.enter(), said.clone());
        async move {
            let cx = Context::current();
            let child = cx.child(Duration::from_secs(60));
            tokio::spawn(async move {
                let stopped = child.run(std::future::pending::<()>()).await.unwrap_err();
                let _ = said.send(stopped.cause().as_str());
            });
            tokio::time::sleep(Duration::from_secs(30)).await;
            drop(guard);
            Ok(String::new())
        }
    });
    let addr = grpc::serve(layer(), service).await;
    let call = grpc::once(channel(addr).await, Request::new(String::new()));
    assert!(tokio::time::timeout(ms(300), call).await.is_err());
    let cause = tokio::time::timeout(Duration::from_secs(5), hear.recv()).await;
    assert_eq!(cause.unwrap(), Some("client_cancelled"));
    count.all_dropped().await;
    assert_eq!(count.entered.load(SeqCst), 1);
}
