//! The sending layer, in process and on the paused clock.
#![cfg(feature = "http")]
#![allow(missing_docs, clippy::pedantic)]

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use deadline_runtime::__rt::{Scoped, Spec};
use deadline_runtime::http::{InternalHosts, PropagateDeadlineLayer, ResponseExt};
use deadline_runtime::{Budget, Cause, Context, Millis, Mode, Phase, Sent, Stopped};
use http::{HeaderMap, Request, Response};
use tokio::time::{Instant, sleep};
use tower::{Layer, Service, ServiceExt, service_fn};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn root(millis: u64, mode: Mode) -> Context {
    Context::builder("root")
        .budget(Budget::new(ms(millis)).reserve(ms(100)))
        .mode(mode)
        .request_id("id-1")
        .build()
}

/// The headers that arrive at the other side.
async fn sent(uri: &str) -> Result<HeaderMap, Box<dyn std::error::Error + Send + Sync>> {
    let hosts = InternalHosts::new(["profile", ".internal", "::1"]);
    let client =
        PropagateDeadlineLayer::new(hosts).layer(service_fn(|request: Request<()>| async move {
            Ok::<_, Infallible>(Response::new(request.headers().clone()))
        }));
    let request = Request::builder()
        .uri(uri)
        .header("x-request-timeout-ms", "77777")
        .header("x-request-timeout-ms", "88888")
        .header("x-request-id", "theirs")
        .body(())
        .unwrap();
    Ok(client
        .oneshot(request)
        .await?
        .into_body()
        .into_inner()
        .unwrap())
}

fn all<'h>(headers: &'h HeaderMap, name: &str) -> Vec<&'h str> {
    headers
        .get_all(name)
        .iter()
        .map(|value| value.to_str().unwrap())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn internal_hosts_are_told_what_is_left_for_work() {
    let cx = root(500, Mode::Enforce);
    let told = cx.run(async {
        sleep(Duration::from_micros(150_500)).await;
        for uri in [
            "http://profile/a",
            "http://PROFILE:80/",
            "http://a.b.internal/",
            "http://[::1]:1/",
        ] {
            let headers = sent(uri).await.unwrap();
            // 500 - 100 reserve - 151 gone: timers here have a resolution of one millisecond.
            assert_eq!(all(&headers, "x-request-timeout-ms"), ["249"], "{uri}");
            assert_eq!(all(&headers, "x-request-id"), ["id-1"]);
        }
        for uri in [
            "http://profile.example.com/",
            "http://internal/",
            "http://xinternal/",
        ] {
            let headers = sent(uri).await.unwrap();
            assert_eq!(all(&headers, "x-request-timeout-ms"), ["77777", "88888"]);
            assert_eq!(all(&headers, "x-request-id"), ["theirs"]);
        }
    });
    told.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_shorter_of_the_callers_and_the_own_limit_is_sent() {
    for (outer, own, told) in [(300, 1_000, "200"), (1_000, 300, "300")] {
        let cx = root(outer, Mode::Enforce);
        let headers = cx
            .run(async { deadline_runtime::timeout(ms(own), sent("http://profile/")).await })
            .await
            .unwrap()
            .unwrap()
            .unwrap();
        assert_eq!(all(&headers, "x-request-timeout-ms"), [told]);
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_said_without_a_deadline_or_where_it_is_not_handed_on() {
    let headers = sent("http://profile/").await.unwrap();
    assert_eq!(all(&headers, "x-request-timeout-ms"), ["77777", "88888"]);
    for (mode, told) in [
        (Mode::Off, None),
        (Mode::Observe, None),
        (Mode::Propagate, Some("400")),
    ] {
        let cx = root(500, mode);
        let headers = cx.run(sent("http://profile/")).await.unwrap().unwrap();
        let first = all(&headers, "x-request-timeout-ms")[0];
        assert_eq!(first, told.unwrap_or("77777"), "{mode}");
    }
    // Over, and not enforced: never "no limit", never zero.
    let cx = root(500, Mode::Propagate);
    let late = cx.run(async {
        sleep(ms(600)).await;
        sent("http://profile/").await
    });
    let headers = late.await.unwrap().unwrap();
    assert_eq!(all(&headers, "x-request-timeout-ms"), ["1"]);
    // A request without any limit has an identity and no timeout.
    let cx = Context::builder("root").request_id("id-2").build();
    let headers = cx.run(sent("http://profile/")).await.unwrap().unwrap();
    assert_eq!(all(&headers, "x-request-id"), ["id-2"]);
}

#[tokio::test(start_paused = true)]
async fn with_nothing_left_nothing_is_sent() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = calls.clone();
    let client = PropagateDeadlineLayer::new(InternalHosts::all()).layer(service_fn(
        move |_: Request<()>| {
            count.fetch_add(1, Relaxed);
            async { Ok::<_, Infallible>(Response::new(())) }
        },
    ));
    for (left, mode, sent) in [
        (Duration::ZERO, Mode::Enforce, 0),
        (Duration::from_micros(400), Mode::Enforce, 0),
        (Duration::from_micros(400), Mode::Propagate, 1),
    ] {
        let cx = Context::builder("root").budget(ms(10)).mode(mode).build();
        tokio::time::advance(ms(10) - left).await;
        let outcome = cx.enter(|| client.clone().call(Request::new(()))).await;
        if let Err(error) = &outcome {
            let stopped = Stopped::find(error.as_ref()).unwrap();
            assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
            assert_eq!(stopped.phase(), Phase::Start);
        }
        assert_eq!(usize::from(outcome.is_ok()), sent);
        assert_eq!(calls.swap(0, Relaxed), sent);
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_context_sends_nothing() {
    let client = PropagateDeadlineLayer::new(InternalHosts::all()).layer(service_fn(
        |_: Request<()>| async { Ok::<_, Infallible>(Response::new(())) },
    ));
    let cx = root(500, Mode::Enforce);
    cx.cancel(Cause::ClientCancelled);
    let error = cx
        .enter(|| client.clone().call(Request::new(())))
        .await
        .unwrap_err();
    let cause = Stopped::find(error.as_ref()).unwrap().cause();
    assert_eq!(cause, Cause::ClientCancelled);
}

#[tokio::test(start_paused = true)]
async fn the_call_ends_with_the_context_it_was_made_in() {
    let client = PropagateDeadlineLayer::new(InternalHosts::all()).layer(service_fn(
        |_: Request<()>| async { pending::<Result<Response<()>, Infallible>>().await },
    ));
    let start = Instant::now();
    let cx = root(500, Mode::Enforce);
    // Made in one task and awaited in another.
    let call = cx.enter(|| client.clone().call(Request::new(())));
    let error = tokio::spawn(call).await.unwrap().unwrap_err();
    let stopped = Stopped::find(error.as_ref()).unwrap();
    assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
    assert_eq!(stopped.phase(), Phase::Response);
    assert_eq!(start.elapsed(), ms(405));
}

#[tokio::test(start_paused = true)]
async fn a_peers_stop_is_ours_once_our_own_time_is_over() {
    let answer = |cause: &str| {
        Response::builder()
            .status(504)
            .header("x-deadline-cause", cause)
            .body(())
            .unwrap()
    };
    let table = [
        ("deadline_exceeded", "dependency_timeout"),
        ("dependency_timeout", "dependency_timeout"),
        ("local_budget_rejected", "dependency_timeout"),
        ("overload", "dependency_failed"),
        ("shutdown", "dependency_failed"),
        ("bad_deadline", "dependency_failed"),
    ];
    for (theirs, before) in table {
        let cx = root(500, Mode::Enforce);
        let stopped = cx.enter(|| answer(theirs).error_for_stop()).unwrap_err();
        assert_eq!(stopped.cause().as_str(), before, "{theirs}");
        assert_eq!(stopped.phase(), Phase::Response);
        sleep(ms(400)).await;
        let stopped = cx.enter(|| answer(theirs).error_for_stop()).unwrap_err();
        assert_eq!(stopped.cause(), Cause::DeadlineExceeded, "{theirs}");
    }
    assert!(answer("a word nobody knows").error_for_stop().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_stop_of_a_call_names_the_function_that_made_it() {
    static SCOPE: Spec<Millis<300>> = Spec::new("load_profile");
    let work = Scoped::<_, Millis<300>>::new(SCOPE.here(), async {
        let answer = Response::builder()
            .header("x-deadline-cause", "deadline_exceeded")
            .body(())
            .unwrap();
        answer.error_for_stop().map(|_| ())
    });
    let stopped: Stopped = work.await.unwrap_err();
    assert_eq!(stopped.operation(), "load_profile");
    assert!(
        stopped
            .limited_by()
            .location()
            .file()
            .ends_with("http_client.rs")
    );
    assert_eq!(stopped.budget(), Some(ms(300)));
}

#[tokio::test(start_paused = true)]
async fn a_cold_connection_costs_a_part_of_what_is_told() {
    let layer = PropagateDeadlineLayer::new(InternalHosts::all()).connect_estimate(ms(30));
    let heard = service_fn(|request: Request<()>| async move {
        let told = request.headers()["x-request-timeout-ms"].to_str().unwrap();
        Ok::<_, Infallible>(Response::new(told.to_owned()))
    });
    let client = layer.layer(heard);
    let told = async |host: &str, cx: &Context| {
        let request = Request::builder()
            .uri(format!("http://{host}/"))
            .body(())
            .unwrap();
        let call = cx.enter(|| client.clone().call(request));
        call.await
            .map(|response| response.into_body().into_inner().unwrap())
    };
    let cx = root(500, Mode::Enforce);
    assert_eq!(told("a", &cx).await.unwrap(), "370");
    assert_eq!(told("a", &cx).await.unwrap(), "400");
    assert_eq!(told("b", &cx).await.unwrap(), "370");
    let later = root(60_100, Mode::Enforce);
    sleep(ms(51_000)).await;
    assert_eq!(told("a", &later).await.unwrap(), "8970");

    // Not even enough to connect: nothing is sent.
    let cx = root(130, Mode::Enforce);
    let error = told("c", &cx).await.unwrap_err();
    let stopped = Stopped::find(error.as_ref()).unwrap();
    assert_eq!(stopped.cause(), Cause::LocalBudgetRejected);
    assert_eq!(
        (stopped.phase(), stopped.sent()),
        (Phase::Start, Sent::NotSent)
    );
    // Where nothing is enforced it is, with the least there is.
    let cx = root(130, Mode::Propagate);
    assert_eq!(told("c", &cx).await.unwrap(), "1");
}

#[tokio::test(start_paused = true)]
async fn the_body_of_an_answer_ends_with_the_call_and_not_with_the_function() {
    use http_body_util::BodyExt;
    fn drip(
        gap: u64,
        items: usize,
    ) -> impl http_body::Body<Data = bytes::Bytes, Error = Infallible> {
        let items =
            futures::StreamExt::then(futures::stream::iter(0..items), move |_| async move {
                sleep(ms(gap)).await;
                Ok(http_body::Frame::data(bytes::Bytes::from_static(b"x")))
            });
        http_body_util::StreamBody::new(items)
    }
    let layer = PropagateDeadlineLayer::new(InternalHosts::all());
    for (mode, gap, items, bytes, end) in [
        (Mode::Enforce, 50, 5, 5, None),
        (Mode::Enforce, 60, 50, 6, Some(400)),
        (Mode::Enforce, 9_000, 1, 0, Some(400)),
        (Mode::Observe, 50, 50, 50, None),
    ] {
        let client = layer.layer(service_fn(move |_: Request<()>| async move {
            Ok::<_, Infallible>(Response::new(drip(gap, items)))
        }));
        let start = Instant::now();
        let cx = root(500, mode);
        let response = cx.run(async { client.oneshot(Request::new(())).await });
        let mut body = Box::pin(response.await.unwrap().unwrap().into_body());
        let (mut read, mut stop) = (0, None);
        while let Some(frame) = body.frame().await {
            match frame {
                Ok(_) => read += 1,
                Err(error) => stop = Some(error),
            }
        }
        assert_eq!(read, bytes);
        assert_eq!(stop.is_some(), end.is_some());
        if let Some((stop, end)) = stop.zip(end) {
            let stopped = Stopped::find(stop.as_ref()).unwrap();
            assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
            assert_eq!(
                (stopped.phase(), stopped.sent()),
                (Phase::Body, Sent::Unknown)
            );
            assert_eq!(start.elapsed(), ms(end));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_client_at_our_end_is_our_end() {
    for (after, ours) in [(399, false), (400, true)] {
        let client = PropagateDeadlineLayer::new(InternalHosts::all()).layer(service_fn(
            move |_: Request<()>| async move {
                sleep(ms(after)).await;
                Err::<Response<()>, _>(std::io::Error::from(std::io::ErrorKind::ConnectionReset))
            },
        ));
        let cx = root(500, Mode::Enforce);
        let call = cx.enter(|| client.clone().call(Request::new(())));
        let error = call.await.unwrap_err();
        let stopped = Stopped::find(error.as_ref());
        assert_eq!(
            stopped.map(Stopped::cause),
            ours.then_some(Cause::DeadlineExceeded)
        );
        assert_eq!(Sent::of(error.as_ref()), Sent::Unknown);
    }
}

#[tokio::test(start_paused = true)]
async fn three_tries_under_one_limit_are_told_what_is_left_each_time() {
    // 250 ms in all, 100 ms a try, none answers; then with a pause of 10 ms between them.
    for (pause, told) in [(0, ["100", "100", "50"]), (10, ["100", "100", "30"])] {
        let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
        let hear = heard.clone();
        let client = PropagateDeadlineLayer::new(InternalHosts::all()).layer(service_fn(
            move |request: Request<()>| {
                let told = request.headers()["x-request-timeout-ms"].clone();
                hear.lock().unwrap().push(told);
                pending::<Result<Response<()>, Infallible>>()
            },
        ));
        let cx = Context::root("root", Budget::new(ms(250)));
        let tries = cx.run(async {
            for _ in 0..3 {
                let call = async { client.clone().call(Request::new(())).await };
                let _ = deadline_runtime::timeout(ms(100), call).await;
                sleep(ms(pause)).await;
            }
        });
        let _ = tries.await;
        assert_eq!(*heard.lock().unwrap(), told);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_always_ready_ends_as_well() {
    use http_body_util::BodyExt;
    let client = PropagateDeadlineLayer::new(InternalHosts::all()).layer(service_fn(
        |_: Request<()>| async {
            let endless = futures::stream::repeat_with(|| {
                Ok::<_, Infallible>(http_body::Frame::data(bytes::Bytes::from_static(b"x")))
            });
            Ok::<_, Infallible>(Response::new(http_body_util::StreamBody::new(endless)))
        },
    ));
    let cx = root(500, Mode::Enforce);
    let response = cx.run(async { client.oneshot(Request::new(())).await });
    let mut body = std::pin::pin!(response.await.unwrap().unwrap().into_body());
    for _ in 0..4 {
        assert!(body.frame().await.unwrap().is_ok());
        tokio::time::advance(ms(100)).await;
    }
    let error = body.frame().await.unwrap().unwrap_err();
    assert!(Stopped::find(error.as_ref()).is_some());
    assert!(body.frame().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_grpc_call_is_told_in_grpcs_own_form() {
    let client = PropagateDeadlineLayer::new(InternalHosts::all()).layer(service_fn(
        |request: Request<()>| async move {
            Ok::<_, Infallible>(Response::new(request.headers().clone()))
        },
    ));
    let told = async |cx: &Context, option: &[&str]| {
        let mut request = Request::post("/a.B/C")
            .header("content-type", "application/grpc")
            .header("x-request-timeout-ms", "99999");
        for value in option {
            request = request.header("grpc-timeout", *value);
        }
        let call = cx.enter(|| client.clone().call(request.body(()).unwrap()));
        let headers = call.await.unwrap().into_body().into_inner().unwrap();
        assert_eq!(
            headers.contains_key("x-request-timeout-ms"),
            cx.remaining().is_none()
        );
        all(&headers, "grpc-timeout").join("|")
    };
    let cx = root(500, Mode::Enforce);
    for (option, value) in [
        (&[][..], "400000u"),
        (&["1S"], "400000u"),
        (&["300m"], "300000u"),
        (&["1m", "2m"], "400000u"),
        (&["nonsense"], "400000u"),
        (&["99999999H"], "400000u"),
        // Never a zero, which some peers refuse as unreadable.
        (&["0m"], "1n"),
    ] {
        assert_eq!(told(&cx, option).await, value, "{option:?}");
    }
    // Without a deadline the call's own stands, as it is.
    let cx = Context::builder("root").request_id("id-2").build();
    assert_eq!(told(&cx, &["1S"]).await, "1S");
    assert_eq!(told(&cx, &[]).await, "");
}
