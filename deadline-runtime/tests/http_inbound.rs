//! What the receiving layer reads of a head besides the relative timeout, and how each kind of answer ends.
#![cfg(feature = "http")]
#![allow(missing_docs, clippy::pedantic)]

mod http_support;

use std::convert::Infallible;
use std::future::pending;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use deadline_runtime::http::{
    DeadlineLayer, FinishOnDisconnectLayer, HeaderSet, Malformed, Policy, RequestBody, Trust,
};
use deadline_runtime::{Cause, Context, Mode, Overrides, Stopped, WallClock};
use futures::StreamExt;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use http_support::Events;
use tokio::time::{Instant, sleep};
use tower::{Layer, ServiceExt, service_fn};

type NoBody = Empty<Bytes>;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn policy() -> Policy {
    Policy::new()
        .max(ms(1_000))
        .reserve(ms(100))
        .trust(Trust::Full)
}

const NOW: u64 = 1_767_225_600_000;

/// A clock that stands still.
fn clock(millis: u64) -> WallClock {
    WallClock::from_fn(move || UNIX_EPOCH + ms(millis))
}

fn with(lines: &[(&'static str, &str)]) -> Request<NoBody> {
    let mut request = Request::new(NoBody::new());
    for (name, value) in lines {
        let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
        request.headers_mut().append(*name, value);
    }
    request
}

fn grpc(lines: &[(&'static str, &str)]) -> Request<NoBody> {
    let mut request = with(lines);
    *request.method_mut() = http::Method::POST;
    let value = HeaderValue::from_static("application/grpc+proto");
    request.headers_mut().insert("content-type", value);
    request
}

struct Answered {
    status: u16,
    headers: HeaderMap,
    trailers: HeaderMap,
    body: String,
    broken: bool,
    after: Duration,
}

impl Answered {
    fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    fn trailer(&self, name: &str) -> &str {
        self.trailers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    fn cause(&self) -> &str {
        self.header("x-deadline-cause")
    }
}

type Boxed = http_body_util::combinators::UnsyncBoxBody<Bytes, Infallible>;

async fn ask<H, F>(layer: DeadlineLayer, request: Request<NoBody>, handler: H) -> Answered
where
    H: Fn(Request<RequestBody<NoBody>>) -> F + Clone,
    F: Future<Output = Response<Boxed>>,
{
    let start = Instant::now();
    let service = layer.layer(service_fn(move |request| {
        let answer = handler(request);
        async move { Ok::<_, Infallible>(answer.await) }
    }));
    let (head, body) = service.oneshot(request).await.unwrap().into_parts();
    let mut body = std::pin::pin!(body);
    let (mut text, mut trailers, mut broken) = (String::new(), HeaderMap::new(), false);
    while let Some(frame) = body.frame().await {
        match frame {
            Err(_) => broken = true,
            Ok(frame) => match frame.into_data() {
                Ok(data) => text.push_str(std::str::from_utf8(&data).unwrap()),
                Err(frame) => trailers = frame.into_trailers().unwrap(),
            },
        }
    }
    Answered {
        status: head.status.as_u16(),
        headers: head.headers,
        trailers,
        body: text,
        broken,
        after: start.elapsed(),
    }
}

/// What a handler behind the policy has left, or why it was not entered.
async fn left(policy: Policy, request: Request<NoBody>) -> Result<u64, (u16, String)> {
    let left = Arc::new(AtomicU64::new(u64::MAX));
    let seen = left.clone();
    let answer = ask(DeadlineLayer::new("test", policy), request, move |_| {
        let left = Context::current().remaining().unwrap_or_default();
        seen.store(u64::try_from(left.as_millis()).unwrap(), SeqCst);
        async { text("handler") }
    })
    .await;
    match left.load(SeqCst) {
        u64::MAX => Err((answer.status, answer.cause().to_owned())),
        left => Ok(left),
    }
}

fn text(text: &'static str) -> Response<Boxed> {
    Response::new(Full::from(text).boxed_unsync())
}

/// An item every `gap`, and so many of them.
fn drip(gap: Duration, items: usize) -> Boxed {
    let stream = futures::stream::iter(0..items).then(move |_| async move {
        sleep(gap).await;
        Ok(Frame::data(Bytes::from_static(b"x")))
    });
    StreamBody::new(stream).boxed_unsync()
}

fn refused(status: u16, cause: &str) -> Result<u64, (u16, String)> {
    Err((status, cause.to_owned()))
}

// --- Which headers are read.

#[tokio::test(start_paused = true)]
async fn only_the_headers_in_the_set_are_read() {
    let table: [(HeaderSet, &'static str, &str, u64); 9] = [
        (HeaderSet::RELATIVE, "x-request-timeout-ms", "500", 400),
        (HeaderSet::NONE, "x-request-timeout-ms", "500", 900),
        (HeaderSet::NONE, "x-request-timeout-ms", "nonsense", 900),
        (HeaderSet::CONNECT, "connect-timeout-ms", "500", 400),
        (HeaderSet::STANDARD, "connect-timeout-ms", "500", 900),
        (
            HeaderSet::ENVOY,
            "x-envoy-expected-rq-timeout-ms",
            "500",
            400,
        ),
        (
            HeaderSet::STANDARD,
            "x-envoy-expected-rq-timeout-ms",
            "-5",
            900,
        ),
        // Not a gRPC request.
        (HeaderSet::STANDARD, "grpc-timeout", "500m", 900),
        (HeaderSet::STANDARD, "x-request-deadline", "1", 900),
    ];
    for (set, name, value, millis) in table {
        let request = with(&[(name, value)]);
        assert_eq!(
            left(policy().headers(set), request).await,
            Ok(millis),
            "{name}"
        );
    }
    assert_eq!(
        left(policy(), grpc(&[("grpc-timeout", "500m")])).await,
        Ok(400)
    );
}

#[tokio::test(start_paused = true)]
async fn of_several_the_shortest_counts_and_one_unreadable_is_enough() {
    let all = HeaderSet::STANDARD
        .with(HeaderSet::CONNECT)
        .with(HeaderSet::ENVOY);
    let table = [
        ("600", "500", "700", 400),
        ("600", "700", "400", 300),
        ("300", "700", "400", 200),
    ];
    for (relative, connect, envoy, millis) in table {
        let request = with(&[
            ("x-request-timeout-ms", relative),
            ("connect-timeout-ms", connect),
            ("x-envoy-expected-rq-timeout-ms", envoy),
        ]);
        assert_eq!(left(policy().headers(all), request).await, Ok(millis));
    }
    let request = || {
        with(&[
            ("x-request-timeout-ms", "600"),
            ("connect-timeout-ms", "-1"),
        ])
    };
    let outcome = left(policy().headers(all), request()).await;
    assert_eq!(outcome, refused(400, "bad_deadline"));
    let lenient = policy().headers(all).malformed(Malformed::Default);
    assert_eq!(left(lenient, request()).await, Ok(900));
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_is_not_trusted_is_not_heard_and_not_handed_on() {
    const NAMES: [&str; 7] = [
        "x-request-timeout-ms",
        "x-request-deadline",
        "grpc-timeout",
        "connect-timeout-ms",
        "x-envoy-expected-rq-timeout-ms",
        "x-request-attempt",
        "grpc-previous-rpc-attempts",
    ];
    let lines = NAMES.map(|name| (name, "1"));
    let layer = DeadlineLayer::new("test", policy().trust(Trust::Ignore));
    ask(layer, with(&lines), |request| async move {
        assert!(
            NAMES
                .iter()
                .all(|name| !request.headers().contains_key(*name))
        );
        assert_eq!(Context::current().remaining(), Some(ms(900)));
        assert_eq!(Context::current().attempt(), None);
        text("")
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn which_limit_won_is_in_the_event() {
    let overrides: Overrides = "test=300ms".parse().unwrap();
    let table = [
        (policy(), Some("500"), "x-request-timeout-ms", "500ms"),
        (policy(), Some("5000"), "max", "1s"),
        (policy(), None, "max", "1s"),
        (policy().default(ms(400)), None, "default", "400ms"),
        (
            policy().overrides(overrides.clone()),
            None,
            "override",
            "300ms",
        ),
        (
            policy().overrides(overrides),
            Some("200"),
            "x-request-timeout-ms",
            "200ms",
        ),
    ];
    for (policy, asked, granted_by, budget) in table {
        let (events, _guard) = Events::listen();
        let request = with(
            &asked
                .map(|value| ("x-request-timeout-ms", value))
                .into_iter()
                .collect::<Vec<_>>(),
        );
        ask(DeadlineLayer::new("test", policy), request, |_| pending()).await;
        let event = events.one();
        assert_eq!(event.get("granted_by"), granted_by);
        assert_eq!(event.get("budget"), budget);
        let received = events.all();
        let received = received
            .iter()
            .find(|event| event.get("message") == "received");
        assert_eq!(received.unwrap().get("granted_by"), granted_by);
    }
    // A layer further out.
    let (events, _guard) = Events::listen();
    let service = tower::ServiceBuilder::new()
        .layer(DeadlineLayer::new("outer", policy().max(ms(300))))
        .layer(DeadlineLayer::new("inner", policy()))
        .service(service_fn(|_| {
            pending::<Result<Response<Boxed>, Infallible>>()
        }));
    let response = service.oneshot(with(&[])).await.unwrap();
    response.into_body().collect().await.unwrap();
    assert_eq!(
        (events.one().get("op"), events.one().get("granted_by")),
        ("inner", "outer")
    );
}

// --- Dates.

fn dated(headers: &[(&'static str, &str)], now: u64) -> (Policy, Request<NoBody>) {
    let set = HeaderSet::STANDARD
        .with(HeaderSet::ABSOLUTE)
        .with(HeaderSet::REQUEST_START);
    (
        policy()
            .default(ms(600))
            .headers(set)
            .wall_clock(clock(now)),
        with(headers),
    )
}

#[tokio::test(start_paused = true)]
async fn a_date_counts_where_it_is_alone_and_plausible() {
    let of = |ahead: i64| (i64::try_from(NOW).unwrap() + ahead).to_string();
    for (ahead, millis, suspected) in [
        (400, 300, false),
        (900, 800, false),
        (30_000, 900, false),
        (61_000, 900, false),
        // In the past, or too little to begin with: the default counts.
        (0, 500, true),
        (-1, 500, true),
        (50, 500, true),
        (-3_000, 500, true),
        (-30_000, 500, true),
        (-31_536_000_000, 500, true),
        // Further ahead than anybody would wait.
        (61_001, 500, true),
        (31_536_000_000, 500, true),
    ] {
        let (events, _guard) = Events::listen();
        let (policy, request) = dated(&[("x-request-deadline", &of(ahead))], NOW);
        assert_eq!(left(policy, request).await, Ok(millis), "{ahead}");
        let suspicion = events.all().iter().any(|event| {
            event.get("clock_skew_suspected") == "1" && event.get("header") == "x-request-deadline"
        });
        assert_eq!(suspicion, suspected, "{ahead}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_relative_header_is_preferred_to_the_date() {
    for (ahead, suspected) in [
        (200, false),
        (-3_000, true),
        (59_000, false),
        (700_000, true),
    ] {
        let (events, _guard) = Events::listen();
        let date = (i64::try_from(NOW).unwrap() + ahead).to_string();
        let lines = [
            ("x-request-timeout-ms", "500"),
            ("x-request-deadline", date.as_str()),
        ];
        let (policy, request) = dated(&lines, NOW);
        assert_eq!(left(policy, request).await, Ok(400), "{ahead}");
        let suspicion = events.text().contains("clock_skew_suspected");
        assert_eq!(suspicion, suspected, "{ahead}");
    }
}

#[tokio::test(start_paused = true)]
async fn seconds_in_the_place_of_milliseconds_are_refused_and_not_expired() {
    for value in [
        "1767225600",
        "0",
        "-1",
        "1767225600000000",
        "1767225600.0",
        "",
    ] {
        let (policy, request) = dated(&[("x-request-deadline", value)], NOW);
        assert_eq!(
            left(policy, request).await,
            refused(400, "bad_deadline"),
            "{value}"
        );
    }
}

/// Deadlines of every length, from callers whose clocks are 3 s off either way.
#[tokio::test(start_paused = true)]
async fn a_machine_three_seconds_off_is_never_answered_504() {
    let mut stopped = 0;
    for off in [-3_000_i64, 3_000] {
        for budget in (50..3_000).step_by(7) {
            let date = (i64::try_from(NOW).unwrap() + off + budget).to_string();
            let (policy, request) = dated(&[("x-request-deadline", &date)], NOW);
            let answer = ask(DeadlineLayer::new("test", policy), request, |_| async {
                sleep(ms(1)).await;
                text("")
            });
            stopped += usize::from(answer.await.status != 200);
        }
    }
    assert_eq!(stopped, 0);
}

#[tokio::test(start_paused = true)]
async fn a_step_of_the_wall_clock_changes_nothing_of_a_request_that_runs() {
    let millis = Arc::new(AtomicU64::new(NOW));
    let (now, step) = (millis.clone(), millis);
    let clock = WallClock::from_fn(move || UNIX_EPOCH + ms(now.load(SeqCst)));
    let (policy, request) = dated(&[("x-request-deadline", &(NOW + 500).to_string())], NOW);
    let layer = DeadlineLayer::new("test", policy.wall_clock(clock));
    let answer = ask(layer, request, move |_| {
        let step = step.clone();
        async move {
            step.store(NOW - 3_600_000, SeqCst);
            assert_eq!(Context::current().remaining(), Some(ms(400)));
            pending().await
        }
    });
    let answer = answer.await;
    assert_eq!((answer.status, answer.after), (504, ms(405)));
}

#[tokio::test(start_paused = true)]
async fn the_guard_can_be_narrower() {
    for (ahead, millis) in [(2_000, 900), (2_001, 500)] {
        let date = (NOW + ahead).to_string();
        let (policy, request) = dated(&[("x-request-deadline", &date)], NOW);
        let outcome = left(policy.clock_skew(ms(1_000)), request).await;
        assert_eq!(outcome, Ok(millis), "{ahead}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_suspicion_is_said_at_the_first_second_fourth() {
    let (events, _guard) = Events::listen();
    let (policy, _) = dated(&[], NOW);
    let layer = DeadlineLayer::new("test", policy);
    for _ in 0..9 {
        let request = with(&[("x-request-deadline", &(NOW - 3_000).to_string())]);
        ask(layer.clone(), request, |_| async { text("") }).await;
    }
    let all = events.all();
    let counts: Vec<_> = all
        .iter()
        .map(|event| event.get("clock_skew_suspected"))
        .filter(|count| !count.is_empty())
        .collect();
    assert_eq!(counts, ["1", "2", "4", "8"]);
}

#[tokio::test(start_paused = true)]
async fn time_in_the_queue_of_a_proxy_counts() {
    for (start, outcome) in [
        (format!("t={}", NOW - 200), Ok(200)),
        (format!("{}", NOW - 200), Ok(200)),
        (
            format!("t={}.{:03}", (NOW - 200) / 1_000, (NOW - 200) % 1_000),
            Ok(200),
        ),
        (format!("t={}000", NOW - 200), Ok(200)),
        (format!("t={}", NOW + 3_000), Ok(400)),
        (
            format!("t={}", NOW - 500),
            refused(504, "deadline_exceeded"),
        ),
        (
            format!("t={}", NOW - 450),
            refused(504, "local_budget_rejected"),
        ),
        // Not believed, not read: the whole budget counts, which is a limit all the same.
        (format!("t={}", NOW - 60_001), Ok(400)),
        ("yesterday".to_owned(), Ok(400)),
    ] {
        let (policy, request) = dated(
            &[("x-request-timeout-ms", "500"), ("x-request-start", &start)],
            NOW,
        );
        assert_eq!(left(policy, request).await, outcome, "{start}");
    }
    // What the proxy says counts where the caller is not heard.
    let (policy, request) = dated(&[("x-request-start", &format!("t={}", NOW - 200))], NOW);
    assert_eq!(left(policy.trust(Trust::Ignore), request).await, Ok(300));
}

// --- Attempts.

#[tokio::test(start_paused = true)]
async fn the_context_knows_that_the_caller_repeats() {
    let table: [(&'static str, &str, Option<u32>); 6] = [
        ("x-request-attempt", "1", Some(1)),
        ("x-request-attempt", "3", Some(3)),
        ("grpc-previous-rpc-attempts", "2", Some(3)),
        ("x-request-attempt", "0", None),
        ("x-request-attempt", "many", None),
        ("x-other", "1", None),
    ];
    for (name, value, attempt) in table {
        let layer = DeadlineLayer::new("test", policy());
        let request = if name.starts_with("grpc") {
            grpc(&[(name, value)])
        } else {
            with(&[(name, value)])
        };
        let answer = ask(layer, request, move |_| async move {
            assert_eq!(Context::current().attempt().map(NonZeroU32::get), attempt);
            text("")
        });
        assert_eq!(answer.await.status, 200);
    }
}

// --- Streams.

fn event_stream(body: Boxed) -> Response<Boxed> {
    let mut response = Response::new(body);
    let value = HeaderValue::from_static("text/event-stream; charset=utf-8");
    response.headers_mut().insert("content-type", value);
    response
}

#[tokio::test(start_paused = true)]
async fn an_event_stream_outlives_the_budget_of_its_head() {
    let (events, _guard) = Events::listen();
    let policy = policy().max(ms(1_500)).stream_idle(ms(700));
    let layer = DeadlineLayer::new("test", policy);
    let answer = ask(layer, with(&[]), |_| async {
        event_stream(drip(ms(500), 20))
    })
    .await;
    assert_eq!(
        (answer.status, answer.body.len(), answer.broken),
        (200, 20, false)
    );
    assert_eq!(answer.after, ms(10_000));
    assert_eq!(events.info().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_ends_after_its_idle_limit() {
    let (events, _guard) = Events::listen();
    let policy = policy().max(ms(1_500)).stream_idle(ms(700));
    let answer = ask(DeadlineLayer::new("test", policy), with(&[]), |_| async {
        let items = drip(ms(600), 5)
            .into_data_stream()
            .map(|data| Ok(Frame::data(data.unwrap())));
        let stuck = futures::stream::pending();
        event_stream(StreamBody::new(items.chain(stuck)).boxed_unsync())
    })
    .await;
    assert_eq!((answer.body.len(), answer.broken), (5, true));
    assert_eq!(answer.after, ms(5 * 600 + 700));
    let event = events.one();
    assert_eq!(
        (event.get("cause"), event.get("phase")),
        ("deadline_exceeded", "body")
    );
    assert_eq!(event.get("budget"), "700ms");
}

#[tokio::test(start_paused = true)]
async fn a_stream_has_a_total_only_when_asked() {
    let policy = policy().stream_idle(ms(700)).stream_total(ms(2_200));
    let answer = ask(DeadlineLayer::new("test", policy), with(&[]), |_| async {
        event_stream(drip(ms(500), 20))
    })
    .await;
    assert_eq!(
        (answer.body.len(), answer.broken, answer.after),
        (4, true, ms(2_200))
    );
}

#[tokio::test(start_paused = true)]
async fn the_head_of_a_stream_is_bounded_by_the_deadline() {
    let layer = DeadlineLayer::new("test", policy());
    let answer = ask(layer, with(&[("x-request-timeout-ms", "500")]), |_| async {
        sleep(ms(600)).await;
        event_stream(drip(ms(1), 1))
    })
    .await;
    assert_eq!((answer.status, answer.after), (504, ms(405)));
}

#[tokio::test(start_paused = true)]
async fn work_inside_a_stream_is_not_under_the_deadline_of_the_head() {
    let layer = DeadlineLayer::new("test", policy().stream_idle(ms(5_000)));
    let answer = ask(
        layer,
        with(&[("x-request-timeout-ms", "500"), ("x-request-id", "id-1")]),
        |_| async {
            let items = futures::stream::iter(0..3).then(|_| async {
                sleep(ms(1_000)).await;
                let cx = Context::current();
                assert_eq!(cx.remaining(), None);
                assert_eq!(cx.request_id().as_deref(), Some("id-1"));
                deadline_runtime::timeout(ms(100), async {}).await.unwrap();
                Ok(Frame::data(Bytes::from_static(b"x")))
            });
            event_stream(StreamBody::new(items).boxed_unsync())
        },
    )
    .await;
    assert_eq!((answer.body.len(), answer.broken), (3, false));
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_cancelled_with_its_request_and_when_its_client_leaves() {
    for leave in [false, true] {
        let (events, _guard) = Events::listen();
        let start = Instant::now();
        let service = DeadlineLayer::new("test", policy().stream_idle(ms(60_000)))
            .outermost(true)
            .layer(service_fn(|_| async {
                Ok::<_, Infallible>(event_stream(drip(ms(10_000), 1)))
            }));
        let response = service.oneshot(with(&[])).await.unwrap();
        let cx = response.extensions().get::<Context>().cloned().unwrap();
        assert_eq!(cx.remaining(), None);
        let mut body = Box::pin(response.into_body());
        let cause = if leave {
            let waiting = tokio::time::timeout(ms(3_000), body.frame()).await;
            assert!(waiting.is_err());
            drop(body);
            Cause::ClientCancelled
        } else {
            let canceller = cx.clone();
            tokio::spawn(async move {
                sleep(ms(3_000)).await;
                canceller.cancel(Cause::Shutdown);
            });
            assert!(body.frame().await.unwrap().is_err());
            Cause::Shutdown
        };
        assert_eq!(start.elapsed(), ms(3_000));
        assert_eq!(cx.cause(), Some(cause));
        assert_eq!(events.one().get("cause"), cause.as_str());
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_handler_of_a_stream_has_spawned_stops_when_the_client_leaves() {
    let (said, mut hear) = tokio::sync::mpsc::unbounded_channel();
    let service = DeadlineLayer::new("test", policy())
        .outermost(true)
        .layer(service_fn(move |request: Request<_>| {
            let cx = request.extensions().get::<Context>().cloned().unwrap();
            let said = said.clone();
            tokio::spawn(async move {
                let _ = said.send(cx.cancelled().await);
            });
            async { Ok::<_, Infallible>(event_stream(drip(ms(100), 50))) }
        }));
    let start = Instant::now();
    let response = service.oneshot(with(&[])).await.unwrap();
    sleep(ms(300)).await;
    drop(response);
    assert_eq!(hear.recv().await, Some(Cause::ClientCancelled));
    assert_eq!(start.elapsed(), ms(300));
}

/// Whoever holds the context of the request, as a shutdown does, ends its stream with the cause that it gives.
#[tokio::test(start_paused = true)]
async fn a_cancel_of_the_head_is_not_taken_for_its_deadline() {
    let (events, _guard) = Events::listen();
    let answer = ask(
        DeadlineLayer::new("test", policy().stream_idle(ms(60_000))),
        with(&[]),
        |request| async move {
            let cx = request.extensions().get::<Context>().cloned().unwrap();
            tokio::spawn(async move {
                sleep(ms(3_000)).await;
                cx.cancel(Cause::Shutdown);
            });
            event_stream(drip(ms(10_000), 1))
        },
    )
    .await;
    assert_eq!((answer.broken, answer.after), (true, ms(3_000)));
    assert_eq!(events.one().get("cause"), "shutdown");
}

#[tokio::test(start_paused = true)]
async fn other_bodies_end_by_the_deadline_and_an_upgrade_is_left_alone() {
    let layer = DeadlineLayer::new("test", policy());
    for content_type in ["text/plain", "text/event-streams", "application/json"] {
        let answer = ask(layer.clone(), with(&[]), move |_| async move {
            let mut response = event_stream(drip(ms(300), 20));
            let value = HeaderValue::from_static(content_type);
            response.headers_mut().insert("content-type", value);
            response
        })
        .await;
        assert_eq!(
            (answer.body.len(), answer.broken, answer.after),
            (3, true, ms(1_000))
        );
    }
    let (events, _guard) = Events::listen();
    let answer = ask(layer, with(&[]), |_| async {
        let mut response = text("");
        *response.status_mut() = http::StatusCode::SWITCHING_PROTOCOLS;
        response
    });
    assert_eq!(answer.await.status, 101);
    assert_eq!(events.info().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_observed_stream_is_as_without_us() {
    let (events, _guard) = Events::listen();
    let policy = policy().stream_idle(ms(100)).mode(Mode::Observe);
    let answer = ask(DeadlineLayer::new("test", policy), with(&[]), |_| async {
        event_stream(drip(ms(500), 5))
    })
    .await;
    assert_eq!((answer.body.len(), answer.broken), (5, false));
    let event = events.one();
    assert_eq!(event.get("message"), "would stop: deadline_exceeded");
    assert_eq!((event.get("phase"), event.get("budget")), ("body", "100ms"));
    assert_eq!(event.get("late_by"), "400ms");
}

// --- gRPC.

#[tokio::test(start_paused = true)]
async fn grpc_is_answered_by_its_code_in_the_head() {
    type Lines = &'static [(&'static str, &'static str)];
    let table: [(Lines, u64, &str, &str, u64); 6] = [
        (
            &[("grpc-timeout", "500m")],
            10_000,
            "4",
            "deadline_exceeded",
            405,
        ),
        (&[("grpc-timeout", "0m")], 0, "4", "deadline_exceeded", 0),
        (
            &[("grpc-timeout", "50m")],
            0,
            "4",
            "local_budget_rejected",
            0,
        ),
        (&[("grpc-timeout", "-1S")], 0, "3", "bad_deadline", 0),
        (
            &[("grpc-timeout", "1234567890n")],
            0,
            "3",
            "bad_deadline",
            0,
        ),
        (
            &[("grpc-timeout", "500m"), ("grpc-timeout", "501m")],
            0,
            "3",
            "bad_deadline",
            0,
        ),
    ];
    for (lines, takes, code, cause, after) in table {
        let (events, _guard) = Events::listen();
        let entered = Arc::new(AtomicUsize::new(0));
        let count = entered.clone();
        let layer = DeadlineLayer::new("test", policy());
        let answer = ask(layer, grpc(lines), move |_| {
            count.fetch_add(1, SeqCst);
            async move {
                sleep(ms(takes)).await;
                text("")
            }
        })
        .await;
        assert_eq!(answer.status, 200, "{lines:?}");
        assert_eq!(answer.header("content-type"), "application/grpc");
        assert_eq!(answer.header("grpc-status"), code);
        assert_eq!(answer.cause(), cause);
        assert!(!answer.header("x-request-id").is_empty());
        assert_eq!(answer.body, "");
        assert_eq!(answer.after, ms(after));
        assert_eq!(entered.load(SeqCst), usize::from(takes > 0), "{lines:?}");
        assert_eq!(events.one().get("cause"), cause);
        if cause == "bad_deadline" {
            assert!(answer.header("grpc-message").starts_with("grpc-timeout: "));
        } else {
            assert_eq!(answer.header("grpc-message"), cause);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_grpc_answer_without_a_message_ends_with_its_head() {
    let service = DeadlineLayer::new("test", policy()).layer(service_fn(|_| async {
        Ok::<_, Infallible>(text("not reached"))
    }));
    let response = service
        .oneshot(grpc(&[("grpc-timeout", "0S")]))
        .await
        .unwrap();
    assert!(http_body::Body::is_end_stream(response.body()));
}

#[tokio::test(start_paused = true)]
async fn every_cause_has_its_code() {
    let table = [
        (Cause::ClientCancelled, 1),
        (Cause::DeadlineExceeded, 4),
        (Cause::DependencyTimeout, 4),
        (Cause::LocalBudgetRejected, 4),
        (Cause::Overload, 8),
        (Cause::Shutdown, 14),
        (Cause::SiblingFailed, 14),
        (Cause::Superseded, 13),
        (Cause::ParentFailed, 13),
        (Cause::UserCancelled, 14),
        (Cause::DependencyFailed, 14),
        (Cause::BadDeadline, 3),
        (Cause::Abandoned, 1),
    ];
    assert_eq!(table.len(), Cause::ALL.len());
    for (cause, code) in table {
        assert_eq!(deadline_runtime::http::grpc::code(cause), code);
        let layer = DeadlineLayer::new("test", policy().retry_after(ms(1_500)));
        let answer = ask(layer, grpc(&[]), move |_| async move {
            Context::current().cancel(cause);
            pending().await
        })
        .await;
        // By the time the layer is told it is cancelled, whatever the word.
        assert_eq!(answer.header("grpc-status"), code.to_string(), "{cause}");
        assert_eq!(answer.cause(), cause.as_str());
        let pushback = if matches!(code, 8 | 14) { "1500" } else { "" };
        assert_eq!(answer.header("grpc-retry-pushback-ms"), pushback);
    }
}

fn grpc_answer(body: Boxed) -> Response<Boxed> {
    let mut response = Response::new(body);
    let value = HeaderValue::from_static("application/grpc");
    response.headers_mut().insert("content-type", value);
    response
}

#[tokio::test(start_paused = true)]
async fn a_grpc_stream_ends_by_its_own_timeout_with_trailers() {
    let (events, _guard) = Events::listen();
    let answer = ask(
        DeadlineLayer::new("test", policy()),
        grpc(&[("grpc-timeout", "500m")]),
        |_| async { grpc_answer(drip(ms(95), 20)) },
    )
    .await;
    // A little before the peer's own clock: out of the reserve.
    assert_eq!(
        (answer.body.len(), answer.after, answer.broken),
        (4, ms(400), false)
    );
    assert_eq!(answer.trailer("grpc-status"), "4");
    assert_eq!(answer.trailer("grpc-message"), "deadline_exceeded");
    assert_eq!(answer.trailer("x-deadline-cause"), "deadline_exceeded");
    assert_eq!(events.one().get("phase"), "body");
}

#[tokio::test(start_paused = true)]
async fn a_grpc_stream_without_a_timeout_is_a_stream() {
    let policy = || policy().stream_idle(ms(700));
    let answer = ask(DeadlineLayer::new("test", policy()), grpc(&[]), |_| async {
        grpc_answer(drip(ms(500), 10))
    })
    .await;
    assert_eq!((answer.body.len(), answer.after), (10, ms(5_000)));
    assert_eq!(answer.trailer("grpc-status"), "");
    let answer = ask(DeadlineLayer::new("test", policy()), grpc(&[]), |_| async {
        grpc_answer(drip(ms(800), 10))
    })
    .await;
    assert_eq!((answer.body.len(), answer.after), (0, ms(700)));
    assert_eq!(answer.trailer("grpc-status"), "4");
}

#[tokio::test(start_paused = true)]
async fn a_grpc_callers_deadline_bounds_its_stream_also_where_the_heads_is_shorter() {
    let policy = policy()
        .default(ms(500))
        .trust(Trust::ShortenOnly)
        .stream_idle(ms(700));
    let request = grpc(&[("grpc-timeout", "3S")]);
    let answer = ask(DeadlineLayer::new("test", policy), request, |_| async {
        grpc_answer(drip(ms(400), 20))
    })
    .await;
    // 3 s less the reserve of 100 ms.
    assert_eq!((answer.body.len(), answer.after), (7, ms(2_900)));
    assert_eq!(answer.trailer("grpc-status"), "4");
}

/// A service that knows only one way to fail.
fn unknown(code: &'static str) -> Response<Boxed> {
    let mut response = grpc_answer(Empty::new().boxed_unsync());
    let headers = response.headers_mut();
    headers.insert("grpc-status", HeaderValue::from_static(code));
    response
}

#[tokio::test(start_paused = true)]
async fn a_catch_all_status_does_not_hide_a_stop() {
    async fn load() -> Result<(), Stopped> {
        deadline_runtime::timeout(ms(50), pending()).await
    }
    for (says, answered, cause) in [
        ("2", "4", "dependency_timeout"),
        ("13", "4", "dependency_timeout"),
        ("5", "5", ""),
        ("0", "0", ""),
    ] {
        let layer = DeadlineLayer::new("test", policy());
        let answer = ask(layer, grpc(&[]), move |_| async move {
            let _ = load().await;
            unknown(says)
        })
        .await;
        assert_eq!(answer.header("grpc-status"), answered);
        assert_eq!(answer.cause(), cause);
    }
    let answer = ask(DeadlineLayer::new("test", policy()), grpc(&[]), |_| async {
        unknown("2")
    });
    assert_eq!(answer.await.header("grpc-status"), "2");
}

// --- Clients that leave.

#[tokio::test(start_paused = true)]
async fn an_endpoint_may_finish_without_its_client() {
    let (events, _guard) = Events::listen();
    let finish = FinishOnDisconnectLayer::new();
    let done = Arc::new(AtomicUsize::new(0));
    let count = done.clone();
    let service = tower::ServiceBuilder::new()
        .layer(DeadlineLayer::new("test", policy()).outermost(true))
        .layer(finish.clone())
        .service(service_fn(move |request: Request<_>| {
            let count = count.clone();
            async move {
                let cx = request.extensions().get::<Context>().cloned().unwrap();
                assert_eq!(cx.remaining(), Some(ms(900)));
                assert_eq!(cx.request_id().as_deref(), Some("id-1"));
                sleep(ms(500)).await;
                assert_eq!(Context::current().cause(), None);
                count.fetch_add(1, SeqCst);
                Ok::<_, Infallible>(text("done"))
            }
        }));
    let request = || with(&[("x-request-id", "id-1")]);
    // With its client.
    let response = service.clone().oneshot(request()).await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!((done.load(SeqCst), finish.working()), (1, 0));
    // Without.
    drop(response);
    let start = Instant::now();
    let leaving = tokio::time::timeout(ms(100), service.oneshot(request()));
    assert!(leaving.await.is_err());
    assert_eq!(finish.working(), 1);
    finish.settled().await;
    assert_eq!((done.load(SeqCst), start.elapsed()), (2, ms(500)));
    assert_eq!(
        events.info().last().unwrap().get("cause"),
        "client_cancelled"
    );
}

#[tokio::test(start_paused = true)]
async fn what_finishes_is_still_bounded_by_the_deadline_and_by_a_shutdown() {
    for (shutdown, after) in [(false, 900), (true, 300)] {
        let finish = FinishOnDisconnectLayer::new();
        let service = tower::ServiceBuilder::new()
            .layer(DeadlineLayer::new("test", policy()).outermost(true))
            .layer(finish.clone())
            .service(service_fn(move |request: Request<_>| async move {
                if shutdown {
                    let cx = request.extensions().get::<Context>().cloned().unwrap();
                    tokio::spawn(async move {
                        sleep(ms(300)).await;
                        cx.cancel(Cause::Shutdown);
                    });
                }
                pending::<Result<Response<Boxed>, Infallible>>().await
            }));
        let start = Instant::now();
        let leaving = tokio::time::timeout(ms(100), service.clone().oneshot(with(&[])));
        assert!(leaving.await.is_err());
        finish.settled().await;
        let elapsed = start.elapsed();
        assert!(
            elapsed >= ms(after) && elapsed <= ms(after + 10),
            "{elapsed:?}"
        );
        // With its client there is an answer.
        let response = service.oneshot(with(&[])).await.unwrap();
        let cause = if shutdown {
            "shutdown"
        } else {
            "deadline_exceeded"
        };
        assert_eq!(response.headers()["x-deadline-cause"], cause);
    }
}

#[tokio::test(start_paused = true)]
async fn trailers_come_within_the_deadline_too() {
    for (takes, cut) in [(100, false), (60_000, true)] {
        let (events, _guard) = Events::listen();
        let answer = ask(
            DeadlineLayer::new("test", policy()),
            with(&[]),
            move |_| async move {
                let trailers = async move {
                    sleep(ms(takes)).await;
                    let mut trailers = HeaderMap::new();
                    trailers.insert("x-sum", HeaderValue::from_static("1"));
                    Some(Ok(trailers))
                };
                let body = Full::from("all of it").with_trailers(trailers);
                Response::new(body.boxed_unsync())
            },
        )
        .await;
        assert_eq!((answer.body.as_str(), answer.broken), ("all of it", cut));
        assert_eq!(answer.trailer("x-sum"), if cut { "" } else { "1" });
        assert_eq!(answer.after, ms(if cut { 1_000 } else { 100 }));
        assert_eq!(events.info().len(), usize::from(cut));
    }
}

/// A thousand requests, each dropped after another number of polls: whoever was not answered is in the log, once, and
/// nothing is left behind.
#[tokio::test(start_paused = true)]
async fn every_request_that_is_dropped_is_counted_once() {
    let (events, _guard) = Events::listen();
    let finish = FinishOnDisconnectLayer::new();
    let service = tower::ServiceBuilder::new()
        .layer(DeadlineLayer::new("test", policy()).outermost(true))
        .layer(finish.clone())
        .service(service_fn(|_| async {
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
            Ok::<_, Infallible>(Response::new(drip(ms(1), 3)))
        }));
    let mut unanswered = 0;
    for n in 0..1_000_usize {
        let polls = (n * 7) % 11;
        let whole = async {
            let response = service.clone().oneshot(with(&[])).await.unwrap();
            response.into_body().collect().await.unwrap();
        };
        let mut whole = Box::pin(whole);
        let mut answered = false;
        for _ in 0..polls {
            answered = futures::FutureExt::now_or_never(whole.as_mut()).is_some();
            if answered {
                break;
            }
            tokio::time::sleep(Duration::from_micros(300)).await;
        }
        // One that was never polled has not begun.
        unanswered += usize::from(!answered && polls > 0);
        drop(whole);
    }
    finish.settled().await;
    assert_eq!(finish.working(), 0);
    assert!(unanswered > 100, "{unanswered}");
    assert!(unanswered < 1_000, "{unanswered}");
    let events = events.info();
    assert_eq!(events.len(), unanswered);
    assert!(
        events
            .iter()
            .all(|event| event.get("cause") == "client_cancelled")
    );
}
