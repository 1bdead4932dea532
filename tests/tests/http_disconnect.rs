//! Clients that leave: the handler and what it started stop, and it is recorded.
#![allow(missing_docs, clippy::pedantic)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use axum::Router;
use axum::routing::{get, post};
use deadline_runtime::Context;
use deadline_runtime::http::{DeadlineLayer, Policy, RequestBuilderExt as _, Trust};
use deadline_tests::events::{Event, Events};
use deadline_tests::raw;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn layer(operation: &'static str) -> DeadlineLayer {
    let policy = Policy::new()
        .max(Duration::from_secs(30))
        .trust(Trust::Full);
    DeadlineLayer::new(operation, policy).outermost(true)
}

async fn serve(router: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    addr
}

/// Says that it was dropped.
struct OnDrop(UnboundedSender<&'static str>, &'static str);

impl Drop for OnDrop {
    fn drop(&mut self) {
        let _ = self.0.send(self.1);
    }
}

/// What the service says next, within much more time than it may take.
async fn next(receiver: &mut UnboundedReceiver<&'static str>) -> &'static str {
    let next = tokio::time::timeout(Duration::from_secs(10), receiver.recv());
    next.await.expect("in time").expect("a message")
}

/// The events of a request, once there are `count`, and a little later.
async fn settled(events: &Events, id: &str, count: usize) -> Vec<Event> {
    let start = Instant::now();
    while events.about(id).len() < count && start.elapsed() < Duration::from_secs(10) {
        tokio::time::sleep(ms(10)).await;
    }
    tokio::time::sleep(ms(100)).await;
    let about = events.about(id);
    assert_eq!(about.len(), count, "{about:?}");
    about
}

/// One listener serves the process, so the stories are told one after the other; each has requests of its own.
#[tokio::test]
async fn clients_that_leave() {
    let events = Events::listen();
    close_and_half_close_stop_the_handler_and_its_children(&events).await;
    ten_that_leave_are_ten_in_the_log(&events).await;
    the_call_to_the_next_service_stops_too(&events).await;
    what_hyper_does_not_notice_ends_at_the_deadline(&events).await;
    leaving_within_the_answer_is_leaving(&events).await;
    nothing_planted_is_in_any_event(&events).await;
}

async fn close_and_half_close_stop_the_handler_and_its_children(events: &Events) {
    let (said, mut hear) = unbounded_channel();
    let handler = get(move |cx: Context| {
        let said = said.clone();
        async move {
            let _dropped = OnDrop(said.clone(), "handler");
            let child = cx.child(Duration::from_secs(60));
            tokio::spawn(async move {
                let stopped = child.run(std::future::pending::<()>()).await.unwrap_err();
                let _ = said.send(stopped.cause().as_str());
            });
            tokio::time::sleep(Duration::from_secs(30)).await;
        }
    });
    let addr = serve(Router::new().route("/", handler).layer(layer("leave"))).await;
    for (id, half) in [("close", false), ("half-close", true)] {
        let line = format!("x-request-id: {id}");
        let mut client = raw::send(addr, &raw::get("/", &[line.as_bytes()])).await;
        tokio::time::sleep(ms(100)).await;
        let left = Instant::now();
        if half {
            // The documented default: closing the sending side is leaving, and there is no answer.
            client.shutdown().await.unwrap();
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).await.unwrap();
            assert_eq!(answer, b"");
        } else {
            drop(client);
        }
        let mut both = [next(&mut hear).await, next(&mut hear).await];
        both.sort_unstable();
        assert_eq!(both, ["client_cancelled", "handler"]);
        assert!(left.elapsed() < ms(2_000), "{:?}", left.elapsed());
        let about = settled(events, id, 1).await;
        assert_eq!(about[0].get("cause"), "client_cancelled");
        assert_eq!(about[0].get("op"), "leave");
        assert_eq!(about[0].get("budget"), "30s");
    }
}

async fn ten_that_leave_are_ten_in_the_log(events: &Events) {
    let entered = Arc::new(AtomicUsize::new(0));
    let count = entered.clone();
    let handler = get(move || {
        count.fetch_add(1, SeqCst);
        tokio::time::sleep(Duration::from_secs(30))
    });
    let addr = serve(Router::new().route("/", handler).layer(layer("ten"))).await;
    for _ in 0..10 {
        let client = raw::send(addr, &raw::get("/", &[b"x-request-id: ten"])).await;
        tokio::time::sleep(ms(50)).await;
        drop(client);
    }
    let about = settled(events, "ten", 10).await;
    assert_eq!(entered.load(SeqCst), 10);
    for event in about {
        assert_eq!(event.get("cause"), "client_cancelled");
        assert_ne!(event.get("elapsed"), "0ms");
    }
}

async fn the_call_to_the_next_service_stops_too(events: &Events) {
    let (said, mut hear) = unbounded_channel();
    let slow = get(move || {
        let dropped = OnDrop(said.clone(), "second");
        async move {
            tokio::time::sleep(Duration::from_secs(30)).await;
            drop(dropped);
        }
    });
    let second = serve(Router::new().route("/", slow).layer(layer("second"))).await;
    let client = reqwest::Client::new();
    let forward = get(move || {
        let call = client.get(format!("http://{second}/"));
        async move { call.send_within_deadline().await.map(|_| ()) }
    });
    let first = serve(Router::new().route("/", forward).layer(layer("first"))).await;
    let client = raw::send(first, &raw::get("/", &[b"x-request-id: two-hops"])).await;
    tokio::time::sleep(ms(200)).await;
    let left = Instant::now();
    drop(client);
    assert_eq!(next(&mut hear).await, "second");
    assert!(left.elapsed() < ms(2_000), "{:?}", left.elapsed());
    let about = settled(events, "two-hops", 2).await;
    let mut about = about
        .iter()
        .map(|event| (event.get("op"), event.get("cause")))
        .collect::<Vec<_>>();
    about.sort_unstable();
    let cause = "client_cancelled";
    assert_eq!(about, [("first", cause), ("second", cause)]);
}

async fn what_hyper_does_not_notice_ends_at_the_deadline(events: &Events) {
    let (said, mut hear) = unbounded_channel();
    let handler = post(move || {
        let dropped = OnDrop(said.clone(), "unread");
        async move {
            tokio::time::sleep(Duration::from_secs(60)).await;
            drop(dropped);
        }
    });
    let addr = serve(Router::new().route("/", handler).layer(layer("unread"))).await;
    let head = "POST / HTTP/1.1\r\nhost: test\r\nx-request-timeout-ms: 1000\r\n\
                x-request-id: unread\r\ncontent-length: 200000\r\n\r\n";
    let start = Instant::now();
    let mut client = raw::send(addr, head.as_bytes()).await;
    client.write_all(&[b'x'; 1_000]).await.unwrap();
    drop(client);
    assert_eq!(next(&mut hear).await, "unread");
    assert!(
        start.elapsed() < Duration::from_secs(4),
        "{:?}",
        start.elapsed()
    );
    settled(events, "unread", 1).await;
}

async fn leaving_within_the_answer_is_leaving(events: &Events) {
    let (said, mut hear) = unbounded_channel();
    let handler = get(move || {
        let dropped = OnDrop(said.clone(), "source");
        let stream = futures::stream::unfold(dropped, |dropped| async {
            tokio::time::sleep(ms(20)).await;
            Some((Ok::<_, std::convert::Infallible>("x"), dropped))
        });
        std::future::ready(axum::body::Body::from_stream(stream))
    });
    let addr = serve(Router::new().route("/", handler).layer(layer("answer"))).await;
    let mut client = raw::send(addr, &raw::get("/", &[b"x-request-id: answer"])).await;
    let mut some = [0; 64];
    assert!(client.read(&mut some).await.unwrap() > 0);
    drop(client);
    assert_eq!(next(&mut hear).await, "source");
    let about = settled(events, "answer", 1).await;
    assert_eq!(about[0].get("cause"), "client_cancelled");
    assert_eq!(about[0].get("phase"), "body");
}

async fn nothing_planted_is_in_any_event(events: &Events) {
    let handler = post(|_: bytes::Bytes| tokio::time::sleep(Duration::from_secs(30)));
    let addr = serve(
        Router::new()
            .route("/{path}", handler)
            .layer(layer("secret")),
    )
    .await;
    for asked in ["100", "s3cr3t", "0"] {
        let request = format!(
            "POST /s3cr3t?token=s3cr3t HTTP/1.1\r\nhost: s3cr3t\r\nconnection: close\r\n\
             authorization: s3cr3t\r\nx-request-id: secret\r\nx-request-timeout-ms: {asked}\r\n\
             content-length: 6\r\n\r\ns3cr3t"
        );
        let answer = raw::exchange(addr, request.as_bytes()).await;
        assert!(answer.status() >= 400, "{answer:?}");
        assert!(!format!("{answer:?}").contains("s3cr3t"), "{answer:?}");
    }
    settled(events, "secret", 3).await;
    assert!(!events.text().contains("s3cr3t"));
}
