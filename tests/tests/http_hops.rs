//! From one service to the next with reqwest: what is sent, what is not, and what comes back.
#![allow(missing_docs, clippy::pedantic)]

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::routing::get;
use deadline_runtime::http::{DeadlineLayer, Policy, RequestBuilderExt as _, Trust};
use deadline_runtime::{Budget, Cause, Context, Mode, Phase, Stopped};
use deadline_tests::raw;
use http::HeaderMap;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

async fn serve(router: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    addr
}

/// A peer of bytes: keeps every head it is sent, answers with `answer`, or never if that is empty.
async fn peer(answer: &'static str) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let kept = heads.clone();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let kept = kept.clone();
            tokio::spawn(async move {
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).await.unwrap() == 1 {
                    head.push(byte[0]);
                }
                kept.lock().unwrap().push(String::from_utf8(head).unwrap());
                if answer.is_empty() {
                    tokio::time::sleep(Duration::from_secs(60)).await;
                }
                stream.write_all(answer.as_bytes()).await.unwrap();
            });
        }
    });
    (addr, heads)
}

fn lines<'h>(head: &'h str, name: &str) -> Vec<&'h str> {
    head.lines()
        .filter_map(|line| line.split_once(": "))
        .filter(|(found, _)| *found == name)
        .map(|(_, value)| value)
        .collect()
}

fn root(millis: u64, mode: Mode) -> Context {
    Context::builder("root")
        .budget(Budget::new(ms(millis)).reserve(ms(100)))
        .mode(mode)
        .request_id("id-1")
        .build()
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

fn call(to: SocketAddr) -> reqwest::RequestBuilder {
    reqwest::Client::new().get(format!("http://{to}/?token=s3cr3t"))
}

#[tokio::test]
async fn copies_are_replaced_and_the_figure_is_what_is_left() {
    let (addr, heads) = peer(OK).await;
    let before = root(2_000, Mode::Enforce);
    let sent = before.run(async {
        tokio::time::sleep(ms(300)).await;
        let call = call(addr)
            .header("x-request-timeout-ms", "99999")
            .header("X-Request-Timeout-Ms", "88888")
            .header("x-request-id", "theirs");
        call.send_within_deadline().await
    });
    assert_eq!(sent.await.unwrap().unwrap().status(), 200);
    let heads = heads.lock().unwrap();
    assert_eq!(heads.len(), 1);
    let told = lines(&heads[0], "x-request-timeout-ms");
    assert_eq!(told.len(), 1, "{heads:?}");
    let told: u64 = told[0].parse().unwrap();
    assert!((1_000..=1_600).contains(&told), "{told}");
    assert_eq!(lines(&heads[0], "x-request-id"), ["id-1"]);
}

#[tokio::test]
async fn no_header_without_a_deadline_or_where_it_is_not_handed_on() {
    let (addr, heads) = peer(OK).await;
    call(addr).send_within_deadline().await.unwrap();
    for mode in [Mode::Off, Mode::Observe] {
        let sent = root(2_000, mode).run(async { call(addr).send_within_deadline().await });
        sent.await.unwrap().unwrap();
    }
    let heads = heads.lock().unwrap();
    assert_eq!(heads.len(), 3);
    assert!(!heads.concat().contains("x-request"), "{heads:?}");
}

#[tokio::test]
async fn with_nothing_left_not_a_byte_is_sent() {
    let (addr, heads) = peer(OK).await;
    let cx = root(150, Mode::Enforce);
    tokio::time::sleep(ms(60)).await;
    let stopped = cx
        .enter(|| call(addr).send_within_deadline())
        .await
        .unwrap_err();
    assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
    assert_eq!(stopped.phase(), Phase::Start);
    let cx = root(5_000, Mode::Enforce);
    cx.cancel(Cause::ClientCancelled);
    let stopped = cx
        .enter(|| call(addr).send_within_deadline())
        .await
        .unwrap_err();
    assert_eq!(stopped.cause(), Cause::ClientCancelled);
    tokio::time::sleep(ms(100)).await;
    assert_eq!(heads.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn a_silent_a_stopped_and_an_unreachable_peer_are_told_apart() {
    // Silent: our own time ends.
    let (silent, _) = peer("").await;
    let start = Instant::now();
    let cx = root(500, Mode::Enforce);
    let stopped = cx
        .enter(|| call(silent).send_within_deadline())
        .await
        .unwrap_err();
    assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
    assert_eq!(stopped.phase(), Phase::Response);
    assert!((ms(350)..ms(3_000)).contains(&start.elapsed()));

    // It stopped before we did.
    let (stopping, _) = peer(
        "HTTP/1.1 504 Gateway Timeout\r\nx-deadline-cause: deadline_exceeded\r\n\
         content-length: 0\r\nconnection: close\r\n\r\n",
    )
    .await;
    let cx = root(5_000, Mode::Enforce);
    let stopped = cx
        .enter(|| call(stopping).send_within_deadline())
        .await
        .unwrap_err();
    assert_eq!(stopped.cause(), Cause::DependencyTimeout);

    // A 504 of somebody else is an answer like any other.
    let (proxy, _) =
        peer("HTTP/1.1 504 Gateway Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            .await;
    let answer = cx
        .enter(|| call(proxy).send_within_deadline())
        .await
        .unwrap();
    assert_eq!(answer.status(), 504);

    // reqwest's own limit is a dependency that was too slow.
    let limited = cx.enter(|| call(silent).timeout(ms(200)).send_within_deadline());
    assert_eq!(limited.await.unwrap_err().cause(), Cause::DependencyTimeout);

    // Nobody listens: not a timeout, and the error does not repeat the query.
    let gone = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    };
    let stopped = cx
        .enter(|| call(gone).send_within_deadline())
        .await
        .unwrap_err();
    assert_eq!(stopped.cause(), Cause::DependencyFailed);
    assert_eq!(stopped.phase(), Phase::Connect);
    let source = std::error::Error::source(&stopped).unwrap();
    assert!(
        source
            .downcast_ref::<reqwest::Error>()
            .unwrap()
            .is_connect()
    );
    assert!(!format!("{stopped} {stopped:?} {source} {source:?}").contains("s3cr3t"));
}

#[tokio::test]
async fn a_chain_hands_on_only_the_rest_and_answers_inside_the_clients_patience() {
    let policy = Policy::new()
        .max(Duration::from_secs(10))
        .trust(Trust::Full);
    let told = Arc::new(Mutex::new(Vec::new()));

    // The last hop never answers; the two before it call on.
    let seen = told.clone();
    let last = get(move |headers: HeaderMap| {
        seen.lock()
            .unwrap()
            .push(headers["x-request-timeout-ms"].clone());
        std::future::pending::<()>()
    });
    let layer = |name| DeadlineLayer::new(name, policy.clone());
    let mut next = serve(Router::new().route("/", last).layer(layer("last"))).await;
    for name in ["middle", "first"] {
        let (seen, to) = (told.clone(), next);
        let forward = get(move |headers: HeaderMap| async move {
            seen.lock()
                .unwrap()
                .push(headers["x-request-timeout-ms"].clone());
            tokio::time::sleep(ms(200)).await;
            let answer = call(to).send_within_deadline().await?;
            Ok::<_, Stopped>(answer.status().to_string())
        });
        next = serve(Router::new().route("/", forward).layer(layer(name))).await;
    }
    let request = raw::get(
        "/",
        &[b"x-request-timeout-ms: 3000", b"x-request-id: chain"],
    );
    let answer = raw::exchange(next, &request).await;
    assert_eq!(answer.status(), 504, "{answer:?}");
    assert_eq!(answer.header("x-deadline-cause"), "dependency_timeout");
    assert_eq!(answer.header("x-request-id"), "chain");
    assert!(answer.after < ms(3_000), "{:?}", answer.after);
    let told = told.lock().unwrap();
    let told: Vec<u64> = told
        .iter()
        .map(|value| value.to_str().unwrap().parse().unwrap())
        .collect();
    assert_eq!(told.len(), 3, "each hop once: {told:?}");
    assert_eq!(told[0], 3_000);
    // Less the reserve of 100 ms and the 200 ms spent there.
    assert!(told[1] <= 2_700 && told[1] > 1_500, "{told:?}");
    assert!(told[2] <= told[1] - 300, "{told:?}");
}
