//! Header bytes and answers of real servers, over raw sockets and in real time.
#![allow(missing_docs, clippy::pedantic)]

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use axum::Router;
use axum::routing::{get, post};
use bytes::Bytes;
use deadline_runtime::http::{DeadlineLayer, Policy, Trust};
use deadline_runtime::{Cause, Context, Mode, Stopped};
use deadline_tests::raw;
use http::{Request, Response};
use http_body_util::Full;
use tokio::net::TcpListener;
use tower::Layer;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn policy() -> Policy {
    Policy::new().max(Duration::from_secs(5)).trust(Trust::Full)
}

async fn serve(router: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    addr
}

/// A handler that counts its entries and answers with the milliseconds it was given.
fn counting(policy: Policy) -> (Router, Arc<AtomicUsize>) {
    let entered = Arc::new(AtomicUsize::new(0));
    let count = entered.clone();
    let handler = get(move |cx: Context| async move {
        count.fetch_add(1, SeqCst);
        format!("{}", cx.remaining().map_or(0, |left| left.as_millis()))
    });
    let router = Router::new()
        .route("/", handler)
        .layer(DeadlineLayer::new("wire", policy));
    (router, entered)
}

/// The same behind hyper alone.
async fn serve_hyper(policy: Policy) -> (SocketAddr, Arc<AtomicUsize>) {
    let entered = Arc::new(AtomicUsize::new(0));
    let count = entered.clone();
    let service =
        DeadlineLayer::new("hyper", policy).layer(tower::service_fn(move |request: Request<_>| {
            count.fetch_add(1, SeqCst);
            let cx = request.extensions().get::<Context>().cloned().unwrap();
            async move {
                let left = cx.remaining().map_or(0, |left| left.as_millis());
                Ok::<_, Infallible>(Response::new(Full::<Bytes>::from(format!("{left}"))))
            }
        }));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let service = hyper_util::service::TowerToHyperService::new(service.clone());
            tokio::spawn(async move {
                let io = hyper_util::rt::TokioIo::new(stream);
                let _ = hyper::server::conn::http1::Builder::new()
                    .serve_connection(io, service)
                    .await;
            });
        }
    });
    (addr, entered)
}

#[tokio::test]
async fn header_bytes_are_read_strictly_behind_axum_and_hyper() {
    const NAME: &[u8] = b"x-request-timeout-ms: ";
    let with = |value: &[u8]| [NAME, value].concat();
    let (router, entered_axum) = counting(policy());
    let axum = (serve(router).await, entered_axum);
    let hyper = serve_hyper(policy()).await;
    let mut refused: Vec<Vec<Vec<u8>>> = [
        &b"-1"[..],
        b"-0",
        b"+5",
        b"+100",
        b"0x64",
        b"1_000",
        b"1.5",
        b"1e3",
        b"1e400",
        b"Infinity",
        b"inf",
        b"NaN",
        b"abc",
        b"",
        b"100 ms",
        b"\xb1\xb0",
        b"9999999999999",
        b"100, 200",
        b"100,100",
        "１００".as_bytes(),
        "١٠٠".as_bytes(),
    ]
    .into_iter()
    .map(|value| vec![with(value)])
    .collect();
    refused.extend([
        vec![b"X-Request-Timeout-Ms: 100".to_vec(), with(b"99999")],
        vec![with(b"99999"), b"X-Request-Timeout-Ms: 100".to_vec()],
        vec![with(b"100"), with(b"abc")],
    ]);
    let accepted: Vec<(Vec<Vec<u8>>, u64)> = vec![
        (vec![with(b"2000")], 1_900),
        (vec![with(b"00002000")], 1_900),
        (
            vec![with(b"2000"), b"X-REQUEST-TIMEOUT-MS: 2000".to_vec()],
            1_900,
        ),
        // Blanks around a value are not part of it in HTTP.
        (vec![with(b"  2000  ")], 1_900),
        (vec![with(b"999999999999")], 4_900),
        (vec![], 4_900),
    ];
    for (addr, entered) in [axum, hyper] {
        for lines in &refused {
            let lines: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
            let answer = raw::exchange(addr, &raw::get("/", &lines)).await;
            assert_eq!(answer.status(), 400, "{lines:?}: {answer:?}");
            assert_eq!(answer.header("x-deadline-cause"), "bad_deadline");
            assert_eq!(answer.header("content-type"), "application/problem+json");
            assert!(answer.body.contains("x-request-timeout-ms"), "{answer:?}");
            assert_eq!(entered.load(SeqCst), 0, "{lines:?}");
        }
        for (lines, most) in &accepted {
            let lines: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
            let answer = raw::exchange(addr, &raw::get("/", &lines)).await;
            assert_eq!(answer.status(), 200, "{lines:?}: {answer:?}");
            let left: u64 = answer.body.parse().unwrap();
            assert!((most - 800..=*most).contains(&left), "{answer:?}");
            assert_eq!(entered.swap(0, SeqCst), 1);
        }
    }
}

#[tokio::test]
async fn expired_on_arrival_is_answered_at_once() {
    let (router, entered) = counting(policy().min(ms(50)));
    let addr = serve(router).await;
    for (asked, cause) in [
        ("0", "deadline_exceeded"),
        ("0000", "deadline_exceeded"),
        ("20", "local_budget_rejected"),
    ] {
        let line = format!("x-request-timeout-ms: {asked}");
        let lines = [line.as_bytes(), b"x-request-id: r-1"];
        let answer = raw::exchange(addr, &raw::get("/", &lines)).await;
        assert_eq!(answer.status(), 504);
        assert_eq!(answer.header("x-deadline-cause"), cause);
        assert_eq!(answer.header("x-request-id"), "r-1");
        assert_eq!(
            answer.body,
            format!(
                r#"{{"title":"Gateway Timeout","status":504,"error":"{cause}","request_id":"r-1"}}"#
            )
        );
        assert_eq!(entered.load(SeqCst), 0);
    }
}

#[tokio::test]
async fn every_stop_of_a_handler_has_its_status_on_the_wire() {
    async fn stop(
        axum::extract::Path(word): axum::extract::Path<String>,
        cx: Context,
    ) -> Result<(), Stopped> {
        let child = cx.child(ms(4_000));
        child.cancel(Cause::from_word(&word).unwrap());
        child.check()
    }
    let router = Router::new()
        .route("/{cause}", get(stop))
        .layer(DeadlineLayer::new("stops", policy()));
    let addr = serve(router).await;
    let table = [
        ("client_cancelled", 499, ""),
        ("deadline_exceeded", 504, ""),
        ("dependency_timeout", 504, ""),
        ("local_budget_rejected", 504, ""),
        ("overload", 503, "1"),
        ("shutdown", 503, "1"),
        ("sibling_failed", 502, ""),
        ("superseded", 500, ""),
        ("parent_failed", 500, ""),
        ("user_cancelled", 503, "1"),
        ("dependency_failed", 502, ""),
        ("bad_deadline", 400, ""),
        ("abandoned", 499, ""),
    ];
    assert_eq!(table.len(), Cause::ALL.len());
    for (cause, status, retry_after) in table {
        let request = raw::get(&format!("/{cause}"), &[b"x-request-id: id-7"]);
        let answer = raw::exchange(addr, &request).await;
        assert_eq!(answer.status(), status, "{answer:?}");
        assert_eq!(answer.header("x-deadline-cause"), cause);
        assert_eq!(answer.header("x-deadline-detail"), "");
        assert_eq!(answer.header("x-request-id"), "id-7");
        assert_eq!(answer.header("retry-after"), retry_after);
        assert_eq!(answer.header("content-type"), "application/problem+json");
        let end = format!(r#""error":"{cause}","request_id":"id-7"}}"#);
        assert!(answer.body.ends_with(&end), "{answer:?}");
    }
}

#[tokio::test]
async fn a_catch_all_error_becomes_what_it_was_and_trusted_callers_see_more() {
    async fn load() -> Result<(), Stopped> {
        deadline_runtime::timeout(ms(100), std::future::pending::<()>()).await
    }
    async fn handler() -> Result<(), http::StatusCode> {
        load()
            .await
            .map_err(|_| http::StatusCode::INTERNAL_SERVER_ERROR)
    }
    for detail in [false, true] {
        let router = Router::new()
            .route("/", get(handler))
            .layer(DeadlineLayer::new("catch-all", policy().detail(detail)));
        let answer = raw::exchange(serve(router).await, &raw::get("/", &[])).await;
        assert_eq!(answer.status(), 504);
        assert_eq!(answer.header("x-deadline-cause"), "dependency_timeout");
        let shown = answer.header("x-deadline-detail");
        let expected = "op=timeout; limited_by=timeout; limit=100ms; elapsed=1";
        assert_eq!(shown.starts_with(expected), detail, "{shown}");
    }
}

#[tokio::test]
async fn an_observed_request_is_answered_as_without_us() {
    async fn slow() -> http::StatusCode {
        tokio::time::sleep(ms(400)).await;
        http::StatusCode::INTERNAL_SERVER_ERROR
    }
    let observed = DeadlineLayer::new("observed", policy().default(ms(200)).mode(Mode::Observe));
    let plain = Router::new().route("/", get(slow));
    let with = serve(plain.clone().layer(observed)).await;
    let without = serve(plain).await;
    for line in [
        &b"x-request-timeout-ms: 0"[..],
        b"x-request-timeout-ms: -1",
        b"x-a: b",
    ] {
        let request = raw::get("/", &[line]);
        let (with, without) = (
            raw::exchange(with, &request).await,
            raw::exchange(without, &request).await,
        );
        let comparable = |answer: &raw::Raw| -> Vec<String> {
            let lines = answer.head.lines();
            lines
                .filter(|line| !line.starts_with("date: "))
                .map(str::to_owned)
                .collect()
        };
        assert_eq!(comparable(&with), comparable(&without));
        assert_eq!((with.status(), &with.body), (500, &without.body));
    }
}

#[tokio::test]
async fn a_body_is_cut_at_the_deadline_and_seen_as_incomplete() {
    async fn drip() -> axum::body::Body {
        let stream = futures::stream::unfold((), |()| async {
            tokio::time::sleep(ms(50)).await;
            Some((Ok::<_, Infallible>("x"), ()))
        });
        axum::body::Body::from_stream(stream)
    }
    let router = Router::new()
        .route("/", get(drip))
        .layer(DeadlineLayer::new("drip", policy()));
    let request = raw::get("/", &[b"x-request-timeout-ms: 400"]);
    let answer = raw::exchange(serve(router).await, &request).await;
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.header("transfer-encoding"), "chunked");
    let chunks = answer.body.matches("1\r\nx\r\n").count();
    assert!((1..=8).contains(&chunks), "{answer:?}");
    // The last chunk would say that it is whole.
    assert!(!answer.body.ends_with("0\r\n\r\n"), "{answer:?}");
    assert!((ms(350)..ms(2_000)).contains(&answer.after), "{answer:?}");
}

#[tokio::test]
async fn a_client_that_does_not_deliver_is_answered_408_and_a_slow_handler_504() {
    let read = post(|body: Bytes| async move { format!("{}", body.len()) });
    let slow = post(|_: Bytes| tokio::time::sleep(Duration::from_secs(10)));
    let router = Router::new()
        .route("/read", read)
        .route("/slow", slow)
        .layer(DeadlineLayer::new("bodies", policy()));
    let addr = serve(router).await;
    for (path, sent, status) in [("read", "123", 408), ("slow", "12345", 504)] {
        let request = format!(
            "POST /{path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\
             x-request-timeout-ms: 300\r\ncontent-length: 5\r\n\r\n{sent}"
        );
        let answer = raw::exchange(addr, request.as_bytes()).await;
        assert_eq!(answer.status(), status, "{answer:?}");
        assert_eq!(answer.header("x-deadline-cause"), "deadline_exceeded");
    }
}
