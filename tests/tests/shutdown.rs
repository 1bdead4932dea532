//! Ending a server within a budget, with real sockets.
#![allow(missing_docs, clippy::pedantic)]

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use axum::Router;
use axum::routing::get;
use deadline_runtime::Context;
use deadline_runtime::http::{DeadlineLayer, Policy, Shutdown, ShutdownReport, serve};
use deadline_tests::raw;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

struct Server {
    at: SocketAddr,
    shutdown: Shutdown,
    task: JoinHandle<std::io::Result<()>>,
}

async fn start() -> Server {
    let shutdown = Shutdown::new();
    let wait = |millis| async move {
        tokio::time::sleep(ms(millis)).await;
        "done"
    };
    let critical = async || {
        let journal =
            Context::current().critical("journal", ms(20_000), |_cx| tokio::time::sleep(ms(400)));
        drop(journal);
        "written"
    };
    let app = Router::new()
        .route("/200", get(move || wait(200)))
        .route("/60000", get(move || wait(60_000)))
        .route("/critical", get(critical))
        .layer(
            DeadlineLayer::new("api", Policy::new().max(Duration::from_secs(120)))
                .shutdown(&shutdown),
        );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let task = tokio::spawn(serve(listener, app, shutdown.clone()));
    Server { at, shutdown, task }
}

impl Server {
    /// Begins the shutdown, and waits for the server as well.
    async fn end(self, budget: Duration) -> (ShutdownReport, Duration) {
        let start = Instant::now();
        let report = self.shutdown.begin(budget).await;
        let ended = tokio::time::timeout(ms(20_000), self.task).await;
        ended.expect("the server ends").unwrap().unwrap();
        (report, start.elapsed())
    }

    async fn in_flight(&self, count: usize) {
        let start = Instant::now();
        while self.shutdown.in_flight() != count {
            assert!(start.elapsed() < ms(10_000), "{:?}", self.shutdown);
            tokio::time::sleep(ms(5)).await;
        }
    }
}

fn request(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n").into_bytes()
}

/// Reads until so many answers have come whose bodies end with these words, or the connection ends.
async fn read_to(stream: &mut TcpStream, end: &str) -> String {
    let mut text = String::new();
    let mut bytes = [0; 1024];
    let read = async {
        while !text.ends_with(end) {
            match stream.read(&mut bytes).await {
                Ok(0) | Err(_) => break,
                Ok(length) => text.push_str(&String::from_utf8_lossy(&bytes[..length])),
            }
        }
    };
    tokio::time::timeout(ms(20_000), read)
        .await
        .expect("an answer or an end");
    text
}

#[tokio::test]
async fn what_is_in_flight_ends_and_nothing_else_is_waited_for() {
    let server = start().await;
    // An idle one that was used, one that was never used, half a head, and half a head on a used one.
    let mut idle = raw::send(server.at, &request("/200")).await;
    read_to(&mut idle, "done").await;
    let _never = TcpStream::connect(server.at).await.unwrap();
    let _half = raw::send(server.at, b"GET / HT").await;
    let mut second = raw::send(server.at, &request("/200")).await;
    read_to(&mut second, "done").await;
    second.write_all(b"GET / HT").await.unwrap();
    let mut busy = raw::send(server.at, &request("/200")).await;
    server.in_flight(1).await;

    let begun = Instant::now();
    let shutdown = server.shutdown.clone();
    let (ended, answer) = tokio::join!(server.end(ms(30_000)), read_to(&mut busy, "done"));
    let (report, took) = ended;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(report.is_clean(), "{report}");
    assert_eq!(
        (report.at_first, report.stopped, report.cut, report.refused),
        (1, 0, 0, 0)
    );
    // 200 ms, and nothing of what the budget would have allowed.
    assert!(took < ms(10_000), "{took:?}");
    assert!(begun.elapsed() >= ms(50));
    assert_eq!(shutdown.in_flight(), 0);
    assert_eq!(read_to(&mut idle, "never").await, "");
}

#[tokio::test]
async fn a_new_request_on_an_old_connection_is_refused_and_the_connection_closes() {
    let server = start().await;
    // It keeps the shutdown going.
    let mut busy = raw::send(server.at, &request("/60000")).await;
    server.in_flight(1).await;
    let (at, shutdown) = (server.at, server.shutdown.clone());
    // A connection whose first request is on its way when the shutdown begins.
    let mut late = raw::send(at, b"GET /200 HTTP/1.1\r\n").await;
    tokio::time::sleep(ms(100)).await;
    let client = async {
        while !shutdown.is_begun() {
            tokio::time::sleep(ms(1)).await;
        }
        late.write_all(b"host: a\r\n\r\n").await.unwrap();
        let answer = read_to(&mut late, "never").await;
        let connect = TcpStream::connect(at).await;
        (answer, connect.is_err())
    };
    let (ended, (answer, refused)) = tokio::join!(server.end(ms(2_500)), client);
    let (report, _) = ended;
    assert!(
        answer.starts_with("HTTP/1.1 503 Service Unavailable"),
        "{answer}"
    );
    let head = answer.to_ascii_lowercase();
    for line in [
        "connection: close\r\n",
        "x-deadline-cause: shutdown\r\n",
        "retry-after: 1\r\n",
    ] {
        assert!(head.contains(line), "{answer}");
    }
    assert!(refused, "nothing is accepted any more");
    assert_eq!(report.refused, 1);
    let stopped = read_to(&mut busy, "never").await;
    assert!(stopped.starts_with("HTTP/1.1 503"), "{stopped}");
}

#[tokio::test]
async fn what_does_not_end_is_stopped_with_an_answer_within_the_budget() {
    let server = start().await;
    let mut busy = raw::send(server.at, &request("/60000")).await;
    server.in_flight(1).await;
    let (ended, answer) = tokio::join!(server.end(ms(1_000)), read_to(&mut busy, "never"));
    let (report, took) = ended;
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(answer.contains("x-deadline-cause: shutdown"), "{answer}");
    assert_eq!((report.at_first, report.stopped, report.cut), (1, 1, 0));
    assert!(took >= ms(800) && took < ms(10_000), "{took:?}");
    assert_eq!(
        report.to_string().split(", after").next().unwrap(),
        "1 in flight, 0 ended, 1 stopped, 0 cut, 0 refused"
    );
}

/// A client that does not read its answer, and a body that never ends, do not hold it longer than its budget.
#[tokio::test]
async fn the_budget_is_the_end_whatever_is_open() {
    let shutdown = Shutdown::new();
    let app = Router::new()
        .route(
            "/",
            get(async || {
                // Ignores every stop: its thread is gone for longer than the shutdown may take.
                tokio::task::block_in_place(|| std::thread::sleep(ms(3_000)));
                "late"
            }),
        )
        .layer(DeadlineLayer::new("api", Policy::new()).shutdown(&shutdown));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let listener = listener.into_std().unwrap();
    let served = runtime.spawn({
        let shutdown = shutdown.clone();
        async move { serve(TcpListener::from_std(listener).unwrap(), app, shutdown).await }
    });
    let _busy = raw::send(at, &request("/")).await;
    while shutdown.in_flight() == 0 {
        tokio::time::sleep(ms(5)).await;
    }
    let start = Instant::now();
    let report = shutdown.begin(ms(500)).await;
    assert!(start.elapsed() < ms(2_500), "{:?}", start.elapsed());
    assert_eq!((report.stopped, report.cut), (1, 1));
    assert!(!report.is_clean());
    drop(served);
    runtime.shutdown_background();
}

#[tokio::test]
async fn critical_work_is_waited_for() {
    let server = start().await;
    let mut stream = raw::send(server.at, &request("/critical")).await;
    read_to(&mut stream, "written").await;
    assert_eq!(server.shutdown.tracker().stats().critical, 1);
    let (report, took) = server.end(ms(20_000)).await;
    assert!(report.is_clean(), "{report}");
    assert!(took >= ms(200) && took < ms(15_000), "{took:?}");

    let server = start().await;
    let mut stream = raw::send(server.at, &request("/critical")).await;
    read_to(&mut stream, "written").await;
    let (report, _) = server.end(ms(50)).await;
    let still = report.still_running.expect("longer than the budget");
    assert_eq!(still.stats().critical, 1);
}
