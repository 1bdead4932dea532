//! What the errors of HTTP and gRPC clients say to a retry.
#![allow(missing_docs, clippy::pedantic, clippy::unit_arg)]

use std::cell::Cell;
use std::error::Error;
use std::time::Duration;

use deadline_runtime::http::{ResponseExt as _, Unavailable};
use deadline_runtime::retry::{Advice, Backoff, Retry, Retryable};
use deadline_runtime::{Budget, Cause, Context, Phase, Sent, Stopped};
use http::{HeaderMap, Response, StatusCode};
use tokio::time::Instant;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn answer(status: u16, headers: &[(&'static str, &'static str)]) -> Response<()> {
    let mut answer = Response::new(());
    *answer.status_mut() = StatusCode::from_u16(status).unwrap();
    for (name, value) in headers {
        answer.headers_mut().append(*name, value.parse().unwrap());
    }
    answer
}

#[test]
fn which_answers_may_be_better_later() {
    for status in 100..600 {
        let worth = answer(status, &[]).error_for_unavailable().is_err();
        assert_eq!(worth, [429, 502, 503, 504].contains(&status), "{status}");
    }
    let busy = answer(503, &[("retry-after", "2")]);
    let busy = busy.error_for_unavailable().unwrap_err();
    assert_eq!(busy.status(), 503);
    assert_eq!(busy.advice(), Advice::retry().after(ms(2_000)));
    assert_eq!(
        busy.to_string(),
        "answered 503 Service Unavailable, retry after 2s"
    );
    let silent = Unavailable::of(StatusCode::BAD_GATEWAY, &HeaderMap::new()).unwrap();
    assert_eq!(silent.advice(), Advice::retry());
    assert_eq!(silent.to_string(), "answered 502 Bad Gateway");
    // As the only error of a function.
    let stopped = Stopped::from(busy.clone());
    assert_eq!(
        (stopped.cause(), stopped.phase(), stopped.sent()),
        (Cause::DependencyFailed, Phase::Response, Sent::Unknown)
    );
    assert_eq!(stopped.advice(), Advice::retry().after(ms(2_000)));
    assert_eq!(stopped.source().unwrap().downcast_ref(), Some(&busy));
}

/// The waits between three attempts under this much, and what came of them.
async fn tried(
    budget: u64,
    retry: Retry,
    call: impl Fn() -> Result<(), Stopped>,
) -> (Vec<Duration>, Stopped) {
    let start = Instant::now();
    let (begun, call) = (std::cell::RefCell::new(Vec::new()), &call);
    let cx = Context::root("request", Budget::new(ms(budget)));
    let outcome = cx
        .run(retry.run(|_| {
            begun.borrow_mut().push(start.elapsed());
            async move { call() }
        }))
        .await
        .unwrap();
    (begun.into_inner(), outcome.unwrap_err())
}

#[tokio::test(start_paused = true)]
async fn retry_after_replaces_the_wait_if_it_fits() {
    let retry = Retry::idempotent("call").backoff(Backoff::fixed(ms(10)));
    let busy = |headers: &'static [(&'static str, &'static str)]| {
        move || Ok(drop(answer(503, headers).error_for_unavailable()?))
    };
    let (begun, last) = tried(9_000, retry, busy(&[("retry-after", "1")])).await;
    assert_eq!(begun, [ms(0), ms(1_000), ms(2_000)]);
    assert_eq!(last.cause(), Cause::DependencyFailed);
    // Nobody reads it: the backoff.
    let (begun, _) = tried(9_000, retry, busy(&[("retry-after", "soon")])).await;
    assert_eq!(begun, [ms(0), ms(10), ms(20)]);
    // It does not fit: the end at once, with the figures.
    let (begun, last) = tried(1_500, retry, busy(&[("retry-after", "2")])).await;
    assert_eq!(begun, [ms(0)]);
    assert_eq!(last.cause(), Cause::LocalBudgetRejected);
    assert_eq!(last.needed(), Some((ms(2_001), ms(1_500))));

    // A peer of ours that was stopped says it beside its cause.
    let stopped = || {
        let headers = [("x-deadline-cause", "overload"), ("retry-after", "3")];
        Ok(drop(answer(503, &headers).error_for_stop()?))
    };
    let (begun, last) = tried(9_000, retry, stopped).await;
    assert_eq!(begun, [ms(0), ms(3_000), ms(6_000)]);
    assert_eq!(last.cause(), Cause::DependencyFailed);
}

#[tokio::test(start_paused = true)]
async fn a_busy_peer_is_no_proof_that_nothing_was_done() {
    let charge = Retry::non_idempotent("charge").backoff(Backoff::none());
    let calls = Cell::new(0);
    let (begun, _) = tried(9_000, charge, || {
        calls.set(calls.get() + 1);
        Ok(drop(answer(503, &[]).error_for_unavailable()?))
    })
    .await;
    assert_eq!((begun.len(), calls.get()), (1, 1));
}

#[cfg(feature = "reqwest")]
#[tokio::test]
async fn errors_of_reqwest() {
    // A port that nobody listens on.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    drop(listener);
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let refused = client.get(format!("http://{at}/")).send().await;
    assert_eq!(
        refused.unwrap_err().advice(),
        Advice::retry().sent(Sent::NotSent)
    );
    let wrong = client.get("no url").send().await.unwrap_err();
    assert_eq!(wrong.advice(), Advice::give_up().sent(Sent::NotSent));

    for status in [400, 404, 408, 429, 500, 501, 502, 503, 504] {
        let answer = reqwest::Response::from(answer(status, &[]).map(|()| ""));
        let advice = answer.error_for_status().unwrap_err().advice();
        let expected = if [429, 502, 503, 504].contains(&status) {
            Advice::retry()
        } else {
            Advice::give_up()
        };
        assert_eq!(advice, expected, "{status}");
    }
    let busy = answer(429, &[("retry-after", "1")]).map(|()| "");
    let busy = reqwest::Response::from(busy).error_for_unavailable();
    assert_eq!(busy.unwrap_err().advice(), Advice::retry().after(ms(1_000)));
}

#[cfg(feature = "tonic")]
#[test]
fn statuses_of_tonic() {
    use deadline_runtime::http::grpc::StatusExt as _;
    use deadline_runtime::retry::Pushback;
    use tonic::{Code, Status};

    let of = |code, metadata: &[(&'static str, &'static str)]| {
        let mut status = Status::new(code, "anything");
        for (name, value) in metadata {
            status.metadata_mut().insert(*name, value.parse().unwrap());
        }
        status
    };
    const BACK: &str = "grpc-retry-pushback-ms";
    for code in (0..=16).map(Code::from) {
        let advice = of(code, &[]).advice();
        let expected = match code {
            Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled => Advice::retry(),
            _ => Advice::give_up(),
        };
        assert_eq!(advice, expected, "{code:?}");
    }
    for (value, pushback) in [
        ("20", Pushback::After(ms(20))),
        ("0", Pushback::After(ms(0))),
        ("-1", Pushback::Never),
        ("soon", Pushback::Never),
        ("", Pushback::Never),
        ("99999999999999999999", Pushback::Never),
    ] {
        for code in [Code::Unavailable, Code::ResourceExhausted] {
            let status = of(code, &[(BACK, value)]);
            assert_eq!(
                status.advice(),
                Advice::retry().pushback(pushback),
                "{value}"
            );
        }
        // Also when it has become a stop.
        let stopped = of(Code::Unavailable, &[(BACK, value)]).into_stopped();
        assert_eq!(
            stopped.unwrap().advice(),
            Advice::retry().pushback(pushback),
            "{value}"
        );
        let stopped = Stopped::from(of(Code::ResourceExhausted, &[(BACK, value)]));
        assert_eq!(stopped.advice(), Advice::retry().pushback(pushback));
    }
    // Another service of ours.
    for (word, code, worth) in [
        ("overload", Code::ResourceExhausted, true),
        ("deadline_exceeded", Code::DeadlineExceeded, true),
        ("bad_deadline", Code::InvalidArgument, false),
        ("what is this", Code::Internal, false),
    ] {
        let advice = of(code, &[("x-deadline-cause", word)]).advice();
        let expected = if worth {
            Advice::retry()
        } else {
            Advice::give_up()
        };
        assert_eq!(advice, expected, "{word}");
    }
    // A stop of this process.
    let cx = Context::root("request", Budget::new(ms(1_000)));
    cx.cancel(Cause::ClientCancelled);
    let ours = Status::from(cx.check().unwrap_err());
    assert_eq!(ours.advice(), Advice::give_up().sent(Sent::Unknown));
}
