//! Slots in front of HTTP services: what the refused get, and how long an answer holds its slot.
#![cfg(feature = "http")]
#![allow(missing_docs, clippy::pedantic)]

use std::convert::Infallible;
use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use bytes::Bytes;
use deadline_runtime::admission::Admission;
use deadline_runtime::http::{AdmissionLayer, DeadlineLayer, Policy, Trust};
use http::{Request, Response};
use http_body::{Body, Frame};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Empty, Full};
use tokio::time::{sleep, timeout};
use tower::util::BoxCloneService;
use tower::{Layer as _, ServiceExt as _, service_fn};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

type Answer = Response<Full<Bytes>>;

type Boxed = BoxCloneService<Request<Empty<Bytes>>, Response<BoxBody>, Infallible>;
type BoxBody = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

fn service(admission: &Admission, work: Duration) -> Boxed {
    let handler = service_fn(move |_| async move {
        sleep(work).await;
        Ok::<_, Infallible>(Answer::new(Full::from("answer")))
    });
    let policy = Policy::new().trust(Trust::Full).reserve(ms(10));
    let admitted = AdmissionLayer::new(admission.clone()).layer(handler);
    let service = DeadlineLayer::new("GET /", policy).layer(admitted);
    BoxCloneService::new(service.map_response(|answer| answer.map(BoxBody::new)))
}

fn request(timeout: u64) -> Request<Empty<Bytes>> {
    Request::get("/")
        .header("x-request-timeout-ms", timeout)
        .header("x-request-id", "id-1")
        .body(Empty::new())
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_refused_are_told_when_to_come_again() {
    let admission = Admission::builder("reports", 1).build().unwrap();
    let service = service(&admission, ms(3_000));
    // How long it takes is known from here on.
    let first = service.clone().oneshot(request(10_000)).await.unwrap();
    assert_eq!(first.status(), 200);
    first.into_body().collect().await.unwrap();

    let busy = tokio::spawn(service.clone().oneshot(request(10_000)));
    tokio::task::yield_now().await;
    let refused = service.clone().oneshot(request(2_000)).await.unwrap();
    assert_eq!(refused.status(), 503);
    let header = |name: &str| refused.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("x-deadline-cause"), "overload");
    assert_eq!(header("retry-after"), "3");
    assert_eq!(header("x-request-id"), "id-1");
    assert_eq!(header("content-type"), "application/problem+json");
    let body = refused.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(
        body,
        r#"{"title":"Service Unavailable","status":503,"error":"overload","request_id":"id-1"}"#
    );
    assert_eq!(busy.await.unwrap().unwrap().status(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_grpc_request_is_refused_in_its_own_words() {
    let admission = Admission::builder("reports", 1).queue(0).build().unwrap();
    let service = service(&admission, ms(1_000));
    let busy = tokio::spawn(service.clone().oneshot(request(10_000)));
    tokio::task::yield_now().await;
    let call = Request::post("/reports.Reports/Get")
        .header("content-type", "application/grpc")
        .header("grpc-timeout", "2S")
        .body(Empty::new())
        .unwrap();
    let refused = service.oneshot(call).await.unwrap();
    assert_eq!(refused.status(), 200);
    assert_eq!(refused.headers()["content-type"], "application/grpc");
    assert_eq!(refused.headers()["grpc-status"], "8");
    assert_eq!(refused.headers()["x-deadline-cause"], "overload");
    drop(busy);
}

/// A body that says "part" and then waits for ever.
struct Endless(bool);

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut TaskContext<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if std::mem::take(&mut self.0) {
            return Poll::Ready(Some(Ok(Frame::data(Bytes::from("part")))));
        }
        pin!(pending()).poll(cx)
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_holds_its_slot_to_its_end_or_its_drop() {
    let admission = Admission::builder("reports", 1).build().unwrap();
    let whole = AdmissionLayer::new(admission.clone()).layer(service_fn(async |_: Request<()>| {
        Ok::<_, Infallible>(Answer::new(Full::from("answer")))
    }));
    let answer = whole.oneshot(Request::new(())).await.unwrap();
    assert_eq!(admission.stats().in_use, 1);
    let mut body = answer.into_body();
    assert!(body.frame().await.is_some_and(|frame| frame.is_ok()));
    assert!(body.frame().await.is_none());
    assert_eq!(admission.stats().in_use, 0);

    let endless =
        AdmissionLayer::new(admission.clone()).layer(service_fn(async |_: Request<()>| {
            Ok::<_, Infallible>(Response::new(Endless(true)))
        }));
    let answer = endless.oneshot(Request::new(())).await.unwrap();
    let mut body = pin!(answer.into_body());
    assert!(poll_fn(|cx| body.as_mut().poll_frame(cx)).await.is_some());
    assert!(
        timeout(ms(10), poll_fn(|cx| body.as_mut().poll_frame(cx)))
            .await
            .is_err()
    );
    assert_eq!(admission.stats().in_use, 1);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_answer_and_a_panic_give_it_back() {
    let admission = Admission::builder("reports", 1).build().unwrap();
    let endless =
        AdmissionLayer::new(admission.clone()).layer(service_fn(async |_: Request<()>| {
            Ok::<_, Infallible>(Response::new(Endless(true)))
        }));
    drop(endless.oneshot(Request::new(())).await.unwrap());
    assert_eq!(admission.stats().in_use, 0);

    let panics = AdmissionLayer::new(admission.clone()).layer(service_fn(
        async |_: Request<()>| -> Result<Answer, Infallible> { panic!("on purpose") },
    ));
    let panicked = tokio::spawn(panics.oneshot(Request::new(())));
    assert!(panicked.await.unwrap_err().is_panic());
    assert_eq!(admission.stats().in_use, 0);
    assert_eq!(admission.stats().admitted, 2);
}
