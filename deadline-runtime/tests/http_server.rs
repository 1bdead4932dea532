//! The receiving layer, in process and on the paused clock.
#![cfg(feature = "http")]
#![allow(missing_docs, clippy::pedantic)]

mod http_support;

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use deadline_runtime::__rt::{Holds, Scoped, Spec};
use deadline_runtime::http::{DeadlineLayer, Malformed, Policy, Trust, status};
use deadline_runtime::{Cause, Context, Millis, Mode, Outcome, Stopped};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, Full};
use http_support::Events;
use tokio::time::{Instant, sleep};
use tower::{Layer, ServiceExt, service_fn};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn policy() -> Policy {
    Policy::new()
        .max(ms(1_000))
        .reserve(ms(100))
        .trust(Trust::Full)
}

type Body = Empty<Bytes>;
type Answer = Response<Full<Bytes>>;

fn get() -> Request<Body> {
    Request::new(Body::new())
}

fn asking(values: &[&str]) -> Request<Body> {
    let mut request = get();
    for value in values {
        let value = http::HeaderValue::from_bytes(value.as_bytes()).unwrap();
        request.headers_mut().append("x-request-timeout-ms", value);
    }
    request
}

fn ok() -> Answer {
    Response::new(Full::from("handler"))
}

struct Seen {
    status: u16,
    headers: HeaderMap,
    body: String,
    after: Duration,
}

impl Seen {
    fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    fn cause(&self) -> &str {
        self.header("x-deadline-cause")
    }
}

/// Sends one request to a handler behind the layer and reads the whole answer.
async fn exchange<H, F>(policy: Policy, request: Request<Body>, handler: H) -> Seen
where
    H: Fn(Context) -> F + Clone,
    F: Future<Output = Answer>,
{
    let start = Instant::now();
    let service = DeadlineLayer::new("test", policy).layer(service_fn(
        move |request: Request<deadline_runtime::http::RequestBody<Body>>| {
            let cx = request.extensions().get::<Context>().cloned().unwrap();
            let answer = handler(cx);
            async move { Ok::<_, Infallible>(answer.await) }
        },
    ));
    let response = service.oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Seen {
        status: parts.status.as_u16(),
        headers: parts.headers,
        body: String::from_utf8(body.to_vec()).unwrap(),
        after: start.elapsed(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_handler_is_dropped_and_answered_for_out_of_the_reserve() {
    let (events, _guard) = Events::listen();
    let seen = exchange(policy(), asking(&["500"]), |_| pending()).await;
    assert_eq!(seen.status, 504);
    assert_eq!(seen.cause(), "deadline_exceeded");
    assert_eq!(seen.header("content-type"), "application/problem+json");
    let id = seen.header("x-request-id");
    assert_eq!(
        seen.body,
        format!(
            r#"{{"title":"Gateway Timeout","status":504,"error":"deadline_exceeded","request_id":"{id}"}}"#
        )
    );
    assert_eq!(seen.header("x-deadline-detail"), "");
    assert_eq!(seen.after, ms(405));
    let event = events.one();
    assert_eq!(event.get("cause"), "deadline_exceeded");
    assert_eq!(event.get("phase"), "wait");
    assert_eq!(event.get("op"), "test");
    assert_eq!(event.get("limited_by"), "test");
    assert_eq!(event.get("budget"), "500ms");
    assert_eq!(event.get("elapsed"), "405ms");
    assert_eq!(event.get("request_id"), id);
    assert!(event.get("file").ends_with("http_server.rs"), "{event:?}");
}

#[tokio::test(start_paused = true)]
async fn the_handler_sees_what_is_left_for_work() {
    let table: [(Policy, &[&str], u64); 6] = [
        (policy(), &["500"], 400),
        (policy(), &["99999"], 900),
        (policy(), &[], 900),
        (policy().default(ms(300)), &[], 200),
        (policy().trust(Trust::Ignore), &["500"], 900),
        (policy().trust(Trust::Ignore), &["nonsense"], 900),
    ];
    for (policy, asked, left) in table {
        let seen = exchange(policy, asking(asked), move |cx| async move {
            assert_eq!(cx.remaining(), Some(ms(left)), "{asked:?}");
            assert_eq!(Context::current().remaining(), Some(ms(left)));
            ok()
        })
        .await;
        assert_eq!((seen.status, seen.body.as_str()), (200, "handler"));
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_is_refused_before_the_handler() {
    let refused: [&[&str]; 20] = [
        &["-1"],
        &["+5"],
        &["+100"],
        &["-0"],
        &["0x64"],
        &["1_000"],
        &["1.5"],
        &["1e3"],
        &["1e400"],
        &["Infinity"],
        &["NaN"],
        &["１００"],
        &["١٠٠"],
        &[""],
        &["100, 200"],
        &["100,100"],
        &["100 ms"],
        &["1000000000000"],
        &["100", "99999"],
        &["100", "100", "101"],
    ];
    for values in refused {
        let (events, _guard) = Events::listen();
        let entered = Arc::new(AtomicUsize::new(0));
        let count = entered.clone();
        let seen = exchange(policy(), asking(values), move |_| {
            count.fetch_add(1, Relaxed);
            async { ok() }
        })
        .await;
        assert_eq!(
            (seen.status, seen.cause()),
            (400, "bad_deadline"),
            "{values:?}"
        );
        assert!(
            seen.body.contains("x-request-timeout-ms: ")
                && seen
                    .body
                    .contains("accepted: one value of 1 to 12 ASCII digits"),
            "{}",
            seen.body
        );
        assert_eq!(entered.load(Relaxed), 0);
        assert_eq!(events.one().get("cause"), "bad_deadline");
    }
    let accepted: [&[&str]; 5] = [
        &["00000100"],
        &["000000000100"],
        &["100", "100"],
        &["100", "0100"],
        &["999999999999"],
    ];
    for values in accepted {
        let seen = exchange(policy().reserve(ms(10)), asking(values), |_| async { ok() }).await;
        assert_eq!(seen.status, 200, "{values:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn malformed_can_mean_the_default_and_never_no_limit() {
    let (events, _guard) = Events::listen();
    let policy = policy().default(ms(300)).malformed(Malformed::Default);
    let seen = exchange(policy, asking(&["abc"]), |cx| async move {
        assert_eq!(cx.remaining(), Some(ms(200)));
        ok()
    })
    .await;
    assert_eq!(seen.status, 200);
    assert_eq!(events.info().len(), 0);
    let told = events.all();
    let told = told.iter().find(|event| !event.get("header").is_empty());
    assert_eq!(told.unwrap().get("cause"), "bad_deadline");
}

#[tokio::test(start_paused = true)]
async fn expired_and_too_little_never_enter_the_handler() {
    let table = [
        ("0", 0, 504, "deadline_exceeded"),
        ("000", 0, 504, "deadline_exceeded"),
        ("100", 0, 504, "local_budget_rejected"),
        ("149", 50, 504, "local_budget_rejected"),
        ("150", 50, 200, ""),
        ("101", 0, 200, ""),
    ];
    for (asked, min, status, cause) in table {
        let (events, _guard) = Events::listen();
        let entered = Arc::new(AtomicUsize::new(0));
        let count = entered.clone();
        let seen = exchange(policy().min(ms(min)), asking(&[asked]), move |_| {
            count.fetch_add(1, Relaxed);
            async { ok() }
        })
        .await;
        assert_eq!((seen.status, seen.cause()), (status, cause), "{asked}");
        assert_eq!(entered.load(Relaxed), usize::from(status == 200));
        assert_eq!(seen.after, Duration::ZERO);
        assert_eq!(events.info().len(), usize::from(status != 200));
        if status != 200 {
            assert_eq!(events.one().get("phase"), "start");
        }
    }
}

#[test]
fn every_cause_has_its_status() {
    let table = [
        (Cause::ClientCancelled, 499),
        (Cause::DeadlineExceeded, 504),
        (Cause::DependencyTimeout, 504),
        (Cause::LocalBudgetRejected, 504),
        (Cause::Overload, 503),
        (Cause::Shutdown, 503),
        (Cause::SiblingFailed, 502),
        (Cause::Superseded, 500),
        (Cause::ParentFailed, 500),
        (Cause::UserCancelled, 503),
        (Cause::DependencyFailed, 502),
        (Cause::BadDeadline, 400),
        (Cause::Abandoned, 499),
    ];
    assert_eq!(table.len(), Cause::ALL.len());
    for (cause, code) in table {
        assert_eq!(status(cause).as_u16(), code, "{cause}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_request_is_answered_by_its_cause() {
    for (cause, code, retry) in [
        (Cause::Overload, 503, "3"),
        (Cause::Shutdown, 503, "3"),
        (Cause::DependencyFailed, 502, ""),
        (Cause::UserCancelled, 503, "3"),
    ] {
        let (events, _guard) = Events::listen();
        let policy = policy().retry_after(ms(2_500));
        let seen = exchange(policy, get(), move |cx| async move {
            sleep(ms(10)).await;
            cx.cancel(cause);
            pending().await
        })
        .await;
        assert_eq!((seen.status, seen.cause()), (code, cause.as_str()));
        assert_eq!(seen.header("retry-after"), retry);
        assert_eq!(seen.after, ms(10));
        assert_eq!(events.one().get("cause"), cause.as_str());
    }
}

/// An annotated function with a budget of 50 ms whose dependency never answers.
async fn load() -> Result<(), Stopped> {
    static SCOPE: Spec<Millis<50>> = Spec::new("load");
    Scoped::<_, Millis<50>>::new(SCOPE.here(), async {
        pending::<Result<(), Stopped>>().await
    })
    .await
}

fn server_error() -> Answer {
    let mut answer = Response::new(Full::from("oops"));
    *answer.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    answer
}

#[tokio::test(start_paused = true)]
async fn a_catch_all_error_does_not_hide_a_stop() {
    let (events, _guard) = Events::listen();
    let seen = exchange(policy().detail(true), get(), |_| async {
        match load().await {
            Ok(()) => ok(),
            Err(_) => server_error(),
        }
    })
    .await;
    assert_eq!((seen.status, seen.cause()), (504, "dependency_timeout"));
    assert_eq!(
        seen.header("x-deadline-detail"),
        "op=load; limited_by=load; limit=50ms; elapsed=50ms; phase=wait"
    );
    assert!(!seen.body.contains("oops"));
    assert!(!seen.body.contains("load"));
    let event = events.one();
    assert_eq!((event.get("op"), event.get("limited_by")), ("load", "load"));
}

#[tokio::test(start_paused = true)]
async fn an_error_without_a_stop_stays_what_it_is() {
    let (events, _guard) = Events::listen();
    let seen = exchange(policy(), get(), |_| async { server_error() }).await;
    assert_eq!((seen.status, seen.body.as_str()), (500, "oops"));
    assert_eq!(seen.cause(), "");
    // A fallback has replaced the stop: what fails afterwards fails for another reason.
    let seen = exchange(policy(), get(), |_| async {
        static SCOPE: Spec<Millis<50>> = Spec::new("load");
        Scoped::<_, Millis<50>, _>::with_fallback(SCOPE.here(), pending::<()>(), |_| ()).await;
        server_error()
    })
    .await;
    assert_eq!((seen.status, seen.body.as_str()), (500, "oops"));
    // With it what the function had spawned, which was stopped for the same reason.
    let seen = exchange(policy(), get(), |_| async {
        static SCOPE: Spec<Millis<50>> = Spec::new("load");
        let load = async {
            drop(Context::current().spawn(|_| pending::<()>()));
            pending::<()>().await;
        };
        let ending = Holds::<()>::new().deadline_fall_back(|_| ());
        Scoped::<_, Millis<50>, _>::ending(SCOPE.here(), load, ending).await;
        server_error()
    })
    .await;
    assert_eq!((seen.status, seen.body.as_str()), (500, "oops"));
    assert_eq!(events.info().len(), 0);
    // What is long past was ignored.
    let seen = exchange(policy(), get(), |_| async {
        let _ = load().await;
        sleep(ms(60)).await;
        server_error()
    })
    .await;
    assert_eq!((seen.status, seen.body.as_str()), (500, "oops"));
    // Unless the request itself is over.
    let seen = exchange(policy().reserve(ms(400)), asking(&["460"]), |_| async {
        let _ = load().await;
        sleep(ms(12)).await;
        std::thread::sleep(ms(1));
        server_error()
    })
    .await;
    assert_eq!((seen.status, seen.cause()), (504, "dependency_timeout"));
    assert_eq!(events.info().len(), 1);
    // Not a failure at all.
    let seen = exchange(policy(), get(), |_| async {
        let _ = load().await;
        ok()
    })
    .await;
    assert_eq!((seen.status, seen.body.as_str()), (200, "handler"));
    // Somebody else's answer that carries our header, as behind a proxy.
    let seen = exchange(policy(), get(), |_| async {
        let _ = load().await;
        let mut answer = server_error();
        answer
            .headers_mut()
            .insert("x-deadline-cause", "overload".parse().unwrap());
        answer
    })
    .await;
    assert_eq!((seen.status, seen.cause()), (500, "overload"));
}

#[tokio::test(start_paused = true)]
async fn observing_changes_nothing_and_says_what_would_have_been() {
    let table: [(&[&str], u64, &str, &str, &str); 5] = [
        (&["500"], 450, "deadline_exceeded", "50ms", "wait"),
        (&["500"], 600, "deadline_exceeded", "200ms", "wait"),
        (&["0"], 10, "deadline_exceeded", "10ms", "start"),
        (&["100"], 5, "local_budget_rejected", "5ms", "start"),
        (&["nonsense"], 5, "bad_deadline", "0ms", "start"),
    ];
    for mode in [Mode::Observe, Mode::Propagate] {
        for (asked, takes, cause, late_by, phase) in table {
            let (events, _guard) = Events::listen();
            let seen = exchange(policy().mode(mode), asking(asked), move |cx| async move {
                assert_eq!(cx.remaining().is_some(), mode == Mode::Propagate);
                sleep(ms(takes)).await;
                ok()
            })
            .await;
            assert_eq!((seen.status, seen.body.as_str()), (200, "handler"));
            assert!(seen.headers.is_empty(), "{:?}", seen.headers);
            assert_eq!(seen.after, ms(takes));
            let event = events.one();
            assert_eq!(event.get("cause"), cause, "{asked:?}");
            assert_eq!(event.get("late_by"), late_by, "{asked:?}");
            assert_eq!(event.get("phase"), phase);
            assert_eq!(event.get("message"), format!("would stop: {cause}"));
        }
        let (events, _guard) = Events::listen();
        exchange(policy().mode(mode), asking(&["500"]), |_| async { ok() }).await;
        assert_eq!(events.info().len(), 0);
    }
    // The catch-all answer stays as it is, too.
    let seen = exchange(policy().mode(Mode::Observe), get(), |_| async {
        let _ = tokio::time::timeout(ms(60), load()).await;
        server_error()
    })
    .await;
    assert_eq!((seen.status, seen.body.as_str()), (500, "oops"));
}

#[tokio::test(start_paused = true)]
async fn the_report_of_an_observed_request_says_it_too() {
    let seen = exchange(
        policy().mode(Mode::Observe),
        asking(&["500"]),
        |cx| async move {
            tokio::spawn(async move {
                sleep(ms(1_000)).await;
                let report = cx.report().unwrap();
                assert_eq!(report.granted, Some(ms(500)));
                // Work ends 5 ms into the reserve, where it is enforced.
                assert_eq!(report.scopes[0].outcome, Outcome::WouldStop(ms(45)));
            });
            sleep(ms(450)).await;
            ok()
        },
    )
    .await;
    assert_eq!(seen.status, 200);
    sleep(ms(2_000)).await;
}

#[tokio::test(start_paused = true)]
async fn off_is_off() {
    let (events, _guard) = Events::listen();
    let seen = exchange(policy().mode(Mode::Off), asking(&["-1"]), |cx| async move {
        assert_eq!(cx.remaining(), None);
        assert_eq!(cx.mode(), Mode::Off);
        sleep(ms(5_000)).await;
        let _ = tokio::time::timeout(ms(100), load()).await;
        ok()
    })
    .await;
    assert_eq!((seen.status, seen.after), (200, ms(5_100)));
    assert_eq!(events.info().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_dropped_stops_everything_it_started() {
    for (outermost, cause) in [(true, "client_cancelled"), (false, "abandoned")] {
        let (events, _guard) = Events::listen();
        let child = Arc::new(std::sync::Mutex::new(None));
        let result = child.clone();
        let service = DeadlineLayer::new("test", policy())
            .outermost(outermost)
            .layer(service_fn(move |_| {
                let result = result.clone();
                async move {
                    static SCOPE: Spec<Millis<800>> = Spec::new("child");
                    let work = Scoped::<_, Millis<800>>::new(SCOPE.here(), async {
                        pending::<Result<(), Stopped>>().await
                    });
                    tokio::spawn(async move {
                        let outcome = work.await;
                        *result.lock().unwrap() = outcome.err().map(|stopped| stopped.cause());
                    });
                    pending::<()>().await;
                    Ok::<_, Infallible>(ok())
                }
            }));
        let request = service.oneshot(get());
        assert!(tokio::time::timeout(ms(100), request).await.is_err());
        sleep(ms(1)).await;
        let event = events.one();
        assert_eq!(event.get("cause"), cause);
        assert_eq!(event.get("elapsed"), "100ms");
        let child = child.lock().unwrap().map(Cause::as_str);
        assert_eq!(child, Some(cause));
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_never_polled_is_recorded_as_well() {
    let (events, _guard) = Events::listen();
    let mut service = DeadlineLayer::new("test", policy())
        .outermost(true)
        .layer(service_fn(|_| async { Ok::<_, Infallible>(ok()) }));
    drop(tower::Service::call(&mut service, get()));
    assert_eq!(events.one().get("cause"), "client_cancelled");
    assert_eq!(events.one().get("phase"), "queue");
}

#[tokio::test(start_paused = true)]
async fn waiting_for_the_service_counts_and_is_named() {
    let (events, _guard) = Events::listen();
    let limiter = tower::limit::ConcurrencyLimitLayer::new(1);
    let service =
        DeadlineLayer::new("test", policy()).layer(limiter.layer(service_fn(|_| async {
            sleep(ms(600)).await;
            Ok::<_, Infallible>(ok())
        })));
    let first = service.clone().oneshot(get());
    let second = service.oneshot(asking(&["500"]));
    let (first, second) = tokio::join!(first, second);
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!(
        (first.status().as_u16(), second.status().as_u16()),
        (200, 504)
    );
    let event = events.one();
    assert_eq!(
        (event.get("phase"), event.get("elapsed")),
        ("queue", "405ms")
    );
    drop(first);
}

#[tokio::test(start_paused = true)]
async fn ids_are_taken_or_made_and_handed_to_the_service() {
    for (sent, kept) in [("8f14-e45f", true), ("with blank", false), ("", false)] {
        let mut request = get();
        request
            .headers_mut()
            .insert("x-request-id", sent.parse().unwrap());
        let service = DeadlineLayer::new("test", policy()).layer(service_fn(
            move |request: Request<_>| async move {
                let id = request.headers()["x-request-id"]
                    .to_str()
                    .unwrap()
                    .to_owned();
                assert_eq!(id == sent, kept);
                let cx = request.extensions().get::<Context>().unwrap();
                assert_eq!(cx.request_id().as_deref(), Some(id.as_str()));
                Ok::<_, Infallible>(ok())
            },
        ));
        service.oneshot(request).await.unwrap();
    }
}

/// A body of one chunk now and then one every 100 ms, `chunks` in all.
fn drip(chunks: u64) -> impl http_body::Body<Data = Bytes, Error = Infallible> + Unpin {
    let stream = futures::stream::unfold(0, move |n| async move {
        if n == chunks {
            return None;
        }
        if n > 0 {
            sleep(ms(100)).await;
        }
        let chunk = Ok::<_, Infallible>(http_body::Frame::data(Bytes::from_static(b"x")));
        Some((chunk, n + 1))
    });
    http_body_util::StreamBody::new(Box::pin(stream))
}

/// The bytes that came and the error with which they ended.
async fn read<B>(body: B) -> (usize, Option<Box<dyn std::error::Error + Send + Sync>>)
where
    B: http_body::Body<Data = Bytes, Error = Box<dyn std::error::Error + Send + Sync>>,
{
    let mut body = std::pin::pin!(body);
    let mut bytes = 0;
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => bytes += frame.into_data().map_or(0, |data| data.len()),
            Err(error) => return (bytes, Some(error)),
        }
    }
    (bytes, None)
}

#[tokio::test(start_paused = true)]
async fn a_body_ends_by_the_deadline_of_its_request() {
    for (mode, cause) in [
        (Mode::Enforce, Some("deadline_exceeded")),
        (Mode::Observe, None),
    ] {
        let (events, _guard) = Events::listen();
        let start = Instant::now();
        let service =
            DeadlineLayer::new("test", policy().mode(mode)).layer(service_fn(|_| async {
                Ok::<_, Infallible>(Response::new(drip(20)))
            }));
        let response = service.oneshot(asking(&["500"])).await.unwrap();
        assert_eq!(response.status(), 200);
        let (bytes, error) = read(response.into_body()).await;
        let stopped = error
            .as_ref()
            .and_then(|error| error.downcast_ref::<Stopped>());
        assert_eq!(stopped.map(|stopped| stopped.cause().as_str()), cause);
        let event = events.one();
        assert_eq!(
            (event.get("cause"), event.get("phase")),
            ("deadline_exceeded", "body")
        );
        if mode == Mode::Enforce {
            // The hard end, not that of the work: the reserve is there to send the answer.
            assert_eq!((bytes, start.elapsed()), (5, ms(500)));
            assert_eq!(event.get("message"), "stopped: deadline_exceeded");
        } else {
            assert_eq!((bytes, start.elapsed()), (20, ms(1_900)));
            assert_eq!(event.get("late_by"), "1.4s");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_always_ready_ends_as_well() {
    let service = DeadlineLayer::new("test", policy()).layer(service_fn(|_| async {
        let endless = futures::stream::repeat_with(|| {
            // Time passes without the stream ever waiting.
            Ok::<_, Infallible>(http_body::Frame::data(Bytes::from_static(b"x")))
        });
        Ok::<_, Infallible>(Response::new(http_body_util::StreamBody::new(endless)))
    }));
    let response = service.oneshot(asking(&["500"])).await.unwrap();
    let mut body = std::pin::pin!(response.into_body());
    for _ in 0..5 {
        assert!(body.frame().await.unwrap().is_ok());
        tokio::time::advance(ms(100)).await;
    }
    assert!(body.frame().await.unwrap().is_err());
    assert!(body.frame().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_body_in_time_is_no_event_and_one_that_is_dropped_is_a_client_that_left() {
    let (events, _guard) = Events::listen();
    let service = DeadlineLayer::new("test", policy())
        .outermost(true)
        .layer(service_fn(|_| async {
            Ok::<_, Infallible>(Response::new(drip(3)))
        }));
    let response = service.clone().oneshot(get()).await.unwrap();
    assert_eq!(read(response.into_body()).await.0, 3);
    assert_eq!(events.info().len(), 0);

    let response = service.clone().oneshot(get()).await.unwrap();
    let cx = response.extensions().get::<Context>().cloned().unwrap();
    drop(response);
    let event = events.one();
    assert_eq!(
        (event.get("cause"), event.get("phase")),
        ("client_cancelled", "body")
    );
    assert_eq!(cx.report().unwrap().cause, Some(Cause::ClientCancelled));
}

#[tokio::test(start_paused = true)]
async fn servers_that_do_not_ask_for_the_end_are_understood() {
    let (events, _guard) = Events::listen();
    // The length is known: after the last byte the body is dropped.
    let service = DeadlineLayer::new("test", policy()).layer(service_fn(|_| async {
        let mut response = Response::new(drip(1));
        response
            .headers_mut()
            .insert("content-length", "1".parse().unwrap());
        Ok::<_, Infallible>(response)
    }));
    let mut body = service.oneshot(get()).await.unwrap().into_body();
    assert!(body.frame().await.unwrap().is_ok());
    drop(body);
    // Nobody reads the body of an answer to HEAD, nor that of a 204.
    let service = DeadlineLayer::new("test", policy())
        .layer(service_fn(|_| async { Ok::<_, Infallible>(ok()) }));
    let mut head = get();
    *head.method_mut() = http::Method::HEAD;
    drop(service.oneshot(head).await.unwrap());
    let service = DeadlineLayer::new("test", policy()).layer(service_fn(|_| async {
        let mut response = ok();
        *response.status_mut() = StatusCode::NO_CONTENT;
        Ok::<_, Infallible>(response)
    }));
    drop(service.oneshot(get()).await.unwrap());
    assert_eq!(events.info().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_cuts_the_body() {
    let (events, _guard) = Events::listen();
    let start = Instant::now();
    let service =
        DeadlineLayer::new("test", policy()).layer(service_fn(|request: Request<_>| async move {
            let cx = request.extensions().get::<Context>().cloned().unwrap();
            tokio::spawn(async move {
                sleep(ms(150)).await;
                cx.cancel(Cause::Shutdown);
            });
            Ok::<_, Infallible>(Response::new(drip(20)))
        }));
    let response = service.oneshot(get()).await.unwrap();
    let (bytes, error) = read(response.into_body()).await;
    assert_eq!((bytes, start.elapsed()), (2, ms(150)));
    assert!(error.is_some());
    assert_eq!(events.one().get("cause"), "shutdown");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_deliver_its_body_is_told_so() {
    let (events, _guard) = Events::listen();
    let service = DeadlineLayer::new("test", policy()).layer(service_fn(
        |request: Request<deadline_runtime::http::RequestBody<_>>| async move {
            let body = request.into_body().collect().await.unwrap();
            Ok::<_, Infallible>(Response::new(Full::from(body.to_bytes())))
        },
    ));
    let stuck = http_body_util::StreamBody::new(futures::stream::pending::<
        Result<http_body::Frame<Bytes>, Infallible>,
    >());
    let response = service.oneshot(Request::new(stuck)).await.unwrap();
    assert_eq!(response.status(), 408);
    assert_eq!(response.headers()["x-deadline-cause"], "deadline_exceeded");
    assert_eq!(events.one().get("phase"), "body");

    // The handler is slow, the body was there.
    let service = DeadlineLayer::new("test", policy()).layer(service_fn(
        |request: Request<deadline_runtime::http::RequestBody<_>>| async move {
            let _ = request.into_body().collect().await.unwrap();
            pending::<()>().await;
            Ok::<_, Infallible>(ok())
        },
    ));
    let whole = Request::new(Full::<Bytes>::from("whole"));
    assert_eq!(service.oneshot(whole).await.unwrap().status(), 504);
}

#[tokio::test(start_paused = true)]
async fn nothing_of_the_request_stands_in_an_event_or_an_answer() {
    let (events, _guard) = Events::listen();
    let secret = "s3cr3t";
    for asked in ["100", "s3cr3t", "0"] {
        let mut request = Request::builder()
            .uri(format!("/{secret}?token={secret}"))
            .header("authorization", secret)
            .header("cookie", secret)
            .header("x-request-timeout-ms", asked)
            .body(Full::<Bytes>::from(secret))
            .unwrap();
        request
            .headers_mut()
            .insert("x-request-id", "id-1".parse().unwrap());
        let service =
            DeadlineLayer::new("test", policy().reserve(ms(10))).layer(service_fn(|_| async {
                pending::<Result<Answer, Infallible>>().await
            }));
        let response = service.oneshot(request).await.unwrap();
        assert!(!format!("{:?}", response.headers()).contains(secret));
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert!(!String::from_utf8_lossy(&body).contains(secret));
    }
    assert_eq!(events.info().len(), 3);
    assert!(!events.text().contains(secret), "{}", events.text());
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_not_the_clients_doing() {
    let (events, _guard) = Events::listen();
    let service = DeadlineLayer::new("test", policy()).layer(service_fn(|_| async {
        sleep(ms(1)).await;
        if true {
            panic!("handler");
        }
        Ok::<_, Infallible>(ok())
    }));
    let guard = std::panic::AssertUnwindSafe(service.oneshot(get()));
    let caught = futures::FutureExt::catch_unwind(guard).await;
    assert!(caught.is_err());
    assert_eq!(events.one().get("cause"), "abandoned");
}

#[tokio::test(start_paused = true)]
async fn two_layers_are_one_request_with_one_event() {
    // Who is the shorter one, when it ends, and what is left at first.
    for (outer, inner, after, left) in [(500, 300, 205, 200), (300, 500, 105, 100)] {
        let (events, _guard) = Events::listen();
        let start = Instant::now();
        let layers = tower::ServiceBuilder::new()
            .layer(DeadlineLayer::new("outer", policy().max(ms(outer))).outermost(true))
            .layer(DeadlineLayer::new("inner", policy().max(ms(inner))));
        let service = layers.service(service_fn(move |request: Request<_>| async move {
            let cx = request.extensions().get::<Context>().cloned().unwrap();
            assert_eq!(cx.remaining(), Some(ms(left)));
            pending::<Result<Answer, Infallible>>().await
        }));
        let response = service.clone().oneshot(get()).await.unwrap();
        assert_eq!(response.status(), 504);
        assert_eq!(start.elapsed(), ms(after));
        let id = response.headers()["x-request-id"].to_str().unwrap();
        assert_eq!(events.one().get("request_id"), id);

        let (events, _guard) = Events::listen();
        assert!(
            tokio::time::timeout(ms(50), service.oneshot(get()))
                .await
                .is_err()
        );
        assert_eq!(events.one().get("cause"), "client_cancelled");
        assert_eq!(events.one().get("op"), "outer");
    }
}
