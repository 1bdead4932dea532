//! nginx in front of an API with a deadline.
//!
//! The main scenes are those of the example `nginx_lab`, whose configuration is used here, with bytes, causes and counts; the rest
//! is what nginx does with time that people do not expect.
#![allow(missing_docs, clippy::pedantic)]

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::Query;
use axum::http::HeaderMap;
use axum::routing::{get, post};
use deadline_runtime::http::{DeadlineLayer, Policy, RequestBuilderExt as _, Trust};
use deadline_runtime::{Budget, Cause, Context, Stopped};
use deadline_tests::events::Events;
use deadline_tests::nginx::Nginx;
use deadline_tests::peers::ours::{Ours, client};
use deadline_tests::peers::proto::Ask;
use deadline_tests::{peers, raw};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

const EXAMPLE: &str = include_str!("../../examples/src/bin/nginx_lab/nginx.conf");
const TRAPS: &str = include_str!("../peers/nginx.conf");

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

async fn serve(router: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    address
}

fn policy() -> Policy {
    Policy::new()
        .max(Duration::from_secs(20))
        .trust(Trust::Full)
}

/// How long the work takes, in milliseconds.
fn work(query: &[(String, String)]) -> u64 {
    query[0].1.parse().unwrap()
}

/// Every copy of the header.
fn told(headers: &HeaderMap) -> Vec<String> {
    let copies = headers.get_all("x-request-timeout-ms").iter();
    copies
        .map(|copy| copy.to_str().unwrap().to_owned())
        .collect()
}

/// Why a handler was dropped; nothing if it came to its end.
struct Dropped(Arc<Mutex<Vec<Option<Cause>>>>, Context);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.lock().unwrap().push(self.1.cause());
    }
}

async fn settled(events: &Events, id: &str, count: usize) -> Vec<(String, String)> {
    let start = Instant::now();
    while events.about(id).len() < count && start.elapsed() < Duration::from_secs(10) {
        tokio::time::sleep(ms(10)).await;
    }
    tokio::time::sleep(ms(100)).await;
    let mut about: Vec<(String, String)> = events
        .about(id)
        .iter()
        .map(|event| (event.get("op").to_owned(), event.get("cause").to_owned()))
        .collect();
    about.sort();
    assert_eq!(about.len(), count, "{about:?}");
    about
}

/// Everything here starts nginx; `tests/run --without-peers` leaves it out.
mod needs_peers {
    use super::*;

    /// One listener serves the process, so the stories that look at events are told one after the other.
    #[tokio::test]
    async fn an_api_behind_nginx() {
        let events = Events::listen();
        let causes = Arc::new(Mutex::new(Vec::new()));
        let headers_seen = Arc::new(Mutex::new(Vec::new()));

        let slow = get(|Query(query): Query<Vec<(String, String)>>| async move {
            tokio::time::sleep(ms(work(&query))).await;
        });
        let dependency = Router::new()
            .route("/", slow)
            .layer(DeadlineLayer::new("dependency", policy()).outermost(true));
        let dependency = serve(dependency).await;
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let (dropped, seen) = (causes.clone(), headers_seen.clone());
        let ask = get(
            move |cx: Context, headers: HeaderMap, Query(query): Query<Vec<(String, String)>>| {
                let dropped = Dropped(dropped.clone(), cx);
                seen.lock().unwrap().push(told(&headers));
                let url = format!("http://{dependency}/?ms={}", work(&query));
                let call = client.get(url);
                async move {
                    let _dropped = dropped;
                    call.send_within_deadline().await?;
                    Ok::<_, Stopped>("done")
                }
            },
        );
        let api = Router::new()
            .route("/", ask)
            .layer(DeadlineLayer::new("api", policy().default(ms(2_000))).outermost(true));
        let nginx = Nginx::start(EXAMPLE, &[("api", serve(api).await.to_string())]);
        let at = nginx.ports[0];

        // What the API is told is what the edge decides.
        type Row<'r> = (&'r str, &'r str, &'r [&'r [u8]], &'r [&'r str]);
        let rows: [Row<'_>; 6] = [
            ("plain", "/?ms=1", &[], &["1500"]),
            (
                "twice",
                "/?ms=1",
                &[b"X-Request-Timeout-Ms: 100", b"x-request-timeout-ms: 99999"],
                &["1500"],
            ),
            (
                "less",
                "/inside/?ms=1",
                &[b"x-request-timeout-ms: 700"],
                &["700"],
            ),
            (
                "more",
                "/inside/?ms=1",
                &[b"x-request-timeout-ms: 60000"],
                &["1500"],
            ),
            (
                "sign",
                "/inside/?ms=1",
                &[b"x-request-timeout-ms: +5"],
                &["1500"],
            ),
            (
                "bare",
                "/stripped/?ms=1",
                &[b"x-request-timeout-ms: 100"],
                &[],
            ),
        ];
        for (id, path, lines, expected) in rows {
            let line = format!("x-request-id: {id}");
            let mut lines = lines.to_vec();
            lines.push(line.as_bytes());
            let answer = raw::exchange(at, &raw::get(path, &lines)).await;
            assert_eq!(answer.status(), 200, "{id}: {answer:?}");
            assert_eq!(
                headers_seen.lock().unwrap().pop().unwrap(),
                expected,
                "{id}"
            );
            assert_eq!(causes.lock().unwrap().pop(), Some(None), "{id}");
            assert!(nginx.logged(id).await.starts_with("200 "));
        }

        // The API answers before nginx loses patience, and says why.
        let slow = raw::get("/?ms=20000", &[b"x-request-id: slow"]);
        let answer = raw::exchange(at, &slow).await;
        assert_eq!(answer.status(), 504, "{answer:?}");
        assert_eq!(answer.header("x-deadline-cause"), "dependency_timeout");
        assert_eq!(answer.header("content-type"), "application/problem+json");
        assert_eq!(answer.header("x-request-id"), "slow");
        assert!((ms(1_000)..ms(2_900)).contains(&answer.after), "{answer:?}");
        assert!(nginx.logged("slow").await.starts_with("504 1."));
        let stopped = |op: &str, cause: &str| (op.to_owned(), cause.to_owned());
        assert_eq!(
            settled(&events, "slow", 2).await,
            [
                stopped("api", "dependency_timeout"),
                stopped("dependency", "deadline_exceeded")
            ]
        );

        // A client that leaves takes both handlers with it.
        let count = causes.lock().unwrap().len();
        let leave = raw::get("/?ms=20000", &[b"x-request-id: leave"]);
        let client = raw::send(at, &leave).await;
        tokio::time::sleep(ms(300)).await;
        drop(client);
        assert!(nginx.logged("leave").await.starts_with("499 0."));
        assert_eq!(
            settled(&events, "leave", 2).await,
            [
                stopped("api", "client_cancelled"),
                stopped("dependency", "client_cancelled")
            ]
        );
        let causes = causes.lock().unwrap();
        assert_eq!(causes[count..], [Some(Cause::ClientCancelled)]);
    }

    /// An API that must never be asked.
    const NOBODY: &str = "127.0.0.1:1";

    fn traps(api: &str, failing: &str, grpc: &str) -> Nginx {
        let peers = concat!(env!("CARGO_MANIFEST_DIR"), "/peers");
        let filled = [
            ("api", api),
            ("failing", failing),
            ("grpc", grpc),
            ("peers", peers),
        ];
        Nginx::start(TRAPS, &filled.map(|(name, value)| (name, value.to_owned())))
    }

    /// A server that takes 200 ms to fail, and writes down when it was asked and what it was told.
    async fn failing() -> (SocketAddr, Arc<Mutex<Vec<(Instant, String)>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let attempts = Arc::new(Mutex::new(Vec::new()));
        let seen = attempts.clone();
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let seen = seen.clone();
                tokio::spawn(async move {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        if stream.read_buf(&mut head).await.unwrap() == 0 {
                            return;
                        }
                    }
                    let head = String::from_utf8(head).unwrap();
                    let line = head
                        .lines()
                        .find_map(|line| line.strip_prefix("X-Request-Timeout-Ms: "));
                    let told = line.unwrap_or("").to_owned();
                    seen.lock().unwrap().push((Instant::now(), told));
                    tokio::time::sleep(ms(200)).await;
                });
            }
        });
        (address, attempts)
    }

    /// The trap: nginx makes the head of a request once, so the eighth attempt is promised as much as the first. The cap is on when
    /// an attempt may *begin*.
    #[tokio::test]
    async fn retries_of_a_proxy_promise_time_that_is_gone() {
        let (server, attempts) = failing().await;
        let nginx = traps(NOBODY, &server.to_string(), NOBODY);
        let at = nginx.ports[0];
        for (path, id) in [("/retried/", "retried"), ("/capped/", "capped")] {
            attempts.lock().unwrap().clear();
            let line = format!("x-request-id: {id}");
            let answer = raw::exchange(at, &raw::get(path, &[line.as_bytes()])).await;
            assert_eq!(answer.status(), 502, "{answer:?}");
            assert_eq!(
                answer.header("x-deadline-cause"),
                "",
                "not ours: {answer:?}"
            );
            assert!(nginx.logged(id).await.starts_with("502 "));
            let attempts = attempts.lock().unwrap();
            assert!(attempts.iter().all(|(_, told)| told == "1500"));
            let (first, last) = (attempts[0].0, attempts[attempts.len() - 1].0);
            if id == "retried" {
                assert_eq!(attempts.len(), 8);
                // Nothing is left of 1500, and 1500 is promised.
                assert!(last - first >= ms(1_400), "{:?}", last - first);
            } else {
                assert!((1..=3).contains(&attempts.len()), "{}", attempts.len());
            }
        }
    }

    /// `?every=N&first=N`: a chunk every N ms, twelve of them, after a first pause.
    async fn drip(Query(query): Query<Vec<(String, String)>>) -> Body {
        let number = |index: usize| query[index].1.parse::<u64>().unwrap();
        let (every, pause) = (number(0), number(1));
        let chunks = futures::stream::unfold(0, move |n| async move {
            if n == 12 {
                return None;
            }
            let wait = if n == 1 { pause } else { every };
            tokio::time::sleep(ms(wait)).await;
            Some((Ok::<_, std::convert::Infallible>("x"), n + 1))
        });
        Body::from_stream(chunks)
    }

    /// The trap: `proxy_read_timeout` counts between reads, and after the head it cannot change the status any more.
    #[tokio::test]
    async fn a_read_timeout_of_a_proxy_does_not_bound_an_answer() {
        let router = Router::new()
            .route("/", get(drip))
            .layer(DeadlineLayer::new("drip", policy()));
        let api = serve(router).await;
        let nginx = traps(&api.to_string(), NOBODY, NOBODY);
        let whole = |answer: &raw::Raw| answer.body.ends_with("0\r\n\r\n");
        let chunks = |answer: &raw::Raw| answer.body.matches('x').count();
        let ask = async |id: &str, path: &str, line: &[u8]| {
            let id_line = format!("x-request-id: {id}");
            let request = raw::get(path, &[id_line.as_bytes(), line]);
            let answer = raw::exchange(nginx.ports[0], &request).await;
            assert_eq!(answer.status(), 200, "{answer:?}");
            let logged = nginx.logged(id).await;
            assert!(logged.starts_with("200 "), "{logged}");
            answer
        };
        // 12 x 120 ms under a limit of 750 ms: whole.
        let answer = ask("drip", "/between/?every=120&first=120", b"a: b").await;
        assert!(whole(&answer) && chunks(&answer) == 12, "{answer:?}");
        assert!(answer.after > ms(1_200), "{answer:?}");
        // One pause that is too long: cut after one chunk, and still logged 200.
        let answer = ask("pause", "/between/?every=1&first=10000", b"a: b").await;
        assert!(!whole(&answer) && chunks(&answer) == 1, "{answer:?}");
        // Our deadline bounds the whole of it, and nginx passes the cut on.
        let line = b"x-request-timeout-ms: 600";
        let answer = ask("ours", "/between/?every=120&first=120", line).await;
        assert!(!whole(&answer), "{answer:?}");
        assert!((1..=5).contains(&chunks(&answer)), "{answer:?}");
    }

    /// The trap: nginx reads a request's body before it asks the API, and a constant does not know how long that took.
    #[tokio::test]
    async fn a_constant_header_forgets_how_long_the_upload_took() {
        let seen = post(|headers: HeaderMap, body: String| async move {
            format!("{} {}", told(&headers).join(","), body)
        });
        let router = Router::new()
            .route("/", seen)
            .layer(DeadlineLayer::new("upload", policy()));
        let api = serve(router).await;
        let nginx = traps(&api.to_string(), NOBODY, NOBODY);
        for (path, most) in [("/static/", 1_500), ("/computed/", 1_350)] {
            let head = format!(
                "POST {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\ncontent-length: 4\r\n\r\nab"
            );
            let mut client = raw::send(nginx.ports[0], head.as_bytes()).await;
            // Counted from when nginx has seen the first half, which may be a while after it was sent.
            tokio::time::sleep(ms(700)).await;
            client.write_all(b"cd").await.unwrap();
            let mut answer = String::new();
            client.read_to_string(&mut answer).await.unwrap();
            assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
            let body = answer.rsplit("\r\n").next().unwrap();
            let (told, sent) = body.split_once(' ').unwrap();
            assert_eq!(sent, "abcd");
            let told: u64 = told.parse().unwrap();
            if path == "/static/" {
                assert_eq!(told, most);
            } else {
                assert!((1..=most).contains(&told), "{told}");
            }
        }
    }

    #[tokio::test]
    async fn deadlines_and_cancels_of_grpc_pass_through() {
        let ours = Ours::start().await;
        let nginx = traps(NOBODY, NOBODY, &ours.address.to_string());
        let at = nginx.ports[1];
        let ask = |id: &str| Ask {
            id: id.to_owned(),
            work_ms: 20_000,
            ..Ask::default()
        };

        // As bytes: our status, with our cause, through nginx.
        let lines = [("grpc-timeout", &b"400m"[..])];
        let frames = peers::raw::call(at, "Call", &ask("frames"), &lines).await;
        assert_eq!((frames.status, frames.code()), (200, 4), "{frames:?}");
        assert_eq!(frames.trailers["x-deadline-cause"], "deadline_exceeded");
        let (left, end) = ours.ended("frames").await;
        assert_eq!(end.word(), "deadline_exceeded");
        assert!((1..=390).contains(&left), "{left}");

        // From a client of ours: it is told what is left, not more. The server answers out of its reserve, 20 ms before
        // the client's own time is over; on a busy machine the client may be first.
        let client = client(&at.to_string());
        let cx = Context::root("test", Budget::new(ms(400)));
        let answer = cx.run(async { Ok::<_, Stopped>(client.call(ask("ours")).await?) });
        let stopped = answer.await.and_then(|answer| answer).unwrap_err();
        let causes = [Cause::DependencyTimeout, Cause::DeadlineExceeded];
        assert!(causes.contains(&stopped.cause()), "{stopped:?}");
        let (left, end) = ours.ended("ours").await;
        assert_eq!(end.word(), "deadline_exceeded");
        assert!((1..=390).contains(&left), "{left}");

        // A cancel is one at the far end as well, and 499 here.
        let cx = Context::builder("test")
            .budget(ms(9_000))
            .request_id("cancelled")
            .build();
        let call = cx.run(client.call(ask("cancelled")));
        assert!(tokio::time::timeout(ms(300), call).await.is_err());
        let (_, end) = ours.ended("cancelled").await;
        assert_eq!(end.word(), "client_cancelled");
        assert!(nginx.logged("cancelled").await.starts_with("499 0."));
    }
}
