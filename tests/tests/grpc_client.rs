//! The sending layer around a channel of tonic's.
#![allow(missing_docs, clippy::pedantic)]

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use deadline_runtime::http::codec;
use deadline_runtime::http::grpc::StatusExt as _;
use deadline_runtime::http::{
    DeadlineLayer, InternalHosts, Policy, PropagateDeadline, PropagateDeadlineLayer, Trust,
};
use deadline_runtime::{Budget, Cause, Context, Mode, Phase, Sent, Stopped};
use deadline_tests::grpc::{self, TextService};
use futures::StreamExt;
use tonic::metadata::MetadataMap;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request};
use tower::Layer;
use tower::layer::util::Identity;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn root(millis: u64) -> Context {
    Context::builder("root")
        .budget(Budget::new(ms(millis)).reserve(ms(100)))
        .request_id("id-1")
        .build()
}

fn client(to: SocketAddr) -> PropagateDeadline<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{to}")).unwrap();
    PropagateDeadlineLayer::new(InternalHosts::all()).layer(endpoint.connect_lazy())
}

type Heard = Arc<Mutex<Vec<MetadataMap>>>;

/// A peer without our layer: keeps what it is told, and answers after so many milliseconds as it is asked to.
async fn peer() -> (SocketAddr, Heard) {
    let heard = Heard::default();
    let keep = heard.clone();
    let service = TextService::new(move |request| {
        keep.lock().unwrap().push(request.metadata().clone());
        async move {
            tokio::time::sleep(ms(request.get_ref().parse().unwrap())).await;
            Ok("done".to_owned())
        }
    });
    (grpc::serve(Identity::new(), service).await, heard)
}

fn told(heard: &Heard) -> Vec<Duration> {
    let heard = heard.lock().unwrap();
    heard
        .iter()
        .map(|metadata| {
            let all: Vec<_> = metadata.get_all("grpc-timeout").iter().collect();
            assert_eq!(all.len(), 1, "{metadata:?}");
            codec::grpc::decode(all[0].as_bytes()).unwrap()
        })
        .collect()
}

fn ask(millis: &str) -> Request<String> {
    Request::new(millis.to_owned())
}

#[tokio::test]
async fn the_peer_is_told_what_is_left_and_copies_are_replaced() {
    let (addr, heard) = peer().await;
    let cx = root(5_000);
    let answer = cx.run(async {
        tokio::time::sleep(ms(300)).await;
        let mut request = ask("0");
        let metadata = request.metadata_mut();
        // What a handler hands on that copies what it was sent.
        metadata.insert("grpc-timeout", "99S".parse().unwrap());
        metadata.append("grpc-timeout", "98S".parse().unwrap());
        metadata.insert("x-request-timeout-ms", "99999".parse().unwrap());
        metadata.insert("x-request-id", "theirs".parse().unwrap());
        grpc::once(client(addr), request).await
    });
    assert_eq!(answer.await.unwrap().unwrap(), "done");
    let told = told(&heard);
    assert!(told[0] <= ms(4_600) && told[0] > ms(3_000), "{told:?}");
    let heard = heard.lock().unwrap();
    assert_eq!(heard[0].get("x-request-id").unwrap(), "id-1");
    assert!(!heard[0].contains_key("x-request-timeout-ms"));
    assert!(!heard[0].contains_key("grpc-previous-rpc-attempts"));
}

#[tokio::test]
async fn of_the_calls_own_limit_and_what_is_left_the_shorter_is_sent() {
    for (left, option, most) in [(3_100, 10_000, 3_000), (10_100, 3_000, 3_000)] {
        let (addr, heard) = peer().await;
        let call = root(left).run(async {
            let mut request = ask("0");
            request.set_timeout(ms(option));
            grpc::once(client(addr), request).await
        });
        call.await.unwrap().unwrap();
        let told = told(&heard);
        assert!(
            told[0] <= ms(most) && told[0] > ms(most - 1_500),
            "{told:?}"
        );
    }
    // Without a deadline of ours the option stands.
    let (addr, heard) = peer().await;
    let mut request = ask("0");
    request.set_timeout(ms(3_000));
    grpc::once(client(addr), request).await.unwrap();
    grpc::once(client(addr), ask("0")).await.unwrap();
    let first = heard.lock().unwrap()[0]
        .get("grpc-timeout")
        .unwrap()
        .clone();
    assert_eq!(first, "3000000u");
    assert!(!heard.lock().unwrap()[1].contains_key("grpc-timeout"));
}

#[tokio::test]
async fn with_nothing_left_the_peer_is_not_called() {
    let (addr, heard) = peer().await;
    let narrow = Context::root("narrow", Budget::new(ms(1)));
    tokio::time::sleep(ms(10)).await;
    let mut service = client(addr);
    let request = http::Request::post("/test.Text/Once")
        .header("content-type", "application/grpc")
        .body(tonic::body::Body::empty())
        .unwrap();
    let call = narrow.enter(|| tower::Service::call(&mut service, request));
    let error = call.await.unwrap_err();
    let status = tonic::Status::from_error(error);
    assert_eq!(status.code(), Code::DeadlineExceeded);
    let stopped = Stopped::find(&status).unwrap();
    assert_eq!(
        (stopped.phase(), stopped.sent()),
        (Phase::Start, Sent::NotSent)
    );
    tokio::time::sleep(ms(50)).await;
    assert_eq!(heard.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn our_own_end_is_deadline_exceeded_on_this_side_too() {
    let (addr, _) = peer().await;
    let cx = root(500);
    let start = Instant::now();
    let inner = cx.child(ms(300));
    let outcome = cx
        .run(async move {
            let mut channel = client(addr);
            let request = http::Request::post("/test.Text/Once")
                .header("content-type", "application/grpc")
                .header("te", "trailers")
                .body(tonic::body::Body::new(http_body_util::Full::new(
                    bytes::Bytes::from_static(b"\0\0\0\0\x0520000"),
                )))
                .unwrap();
            std::future::poll_fn(|cx| tower::Service::poll_ready(&mut channel, cx))
                .await
                .unwrap();
            inner
                .enter(|| tower::Service::call(&mut channel, request))
                .await
        })
        .await
        .unwrap();
    let status = tonic::Status::from_error(outcome.unwrap_err());
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status:?}");
    let stopped = status.into_stopped().unwrap();
    assert_eq!(stopped.cause(), Cause::DependencyTimeout);
    assert_eq!(
        (stopped.phase(), stopped.sent()),
        (Phase::Response, Sent::Unknown)
    );
    assert!(start.elapsed() < ms(3_000));
}

#[tokio::test]
async fn a_channels_own_timer_is_a_dependency_that_was_too_slow() {
    let (addr, _) = peer().await;
    let mut request = ask("20000");
    request.set_timeout(ms(200));
    let status = root(10_000)
        .run(async { grpc::once(client(addr), request).await })
        .await
        .unwrap()
        .unwrap_err();
    // tonic says CANCELLED on both sides; ours is whichever is heard first, and neither is a cancel of the client's.
    let code = status.code();
    let stopped = status.into_stopped().unwrap();
    match code {
        Code::DeadlineExceeded => assert_eq!(stopped.cause(), Cause::DependencyTimeout),
        Code::Cancelled => assert_eq!(stopped.cause(), Cause::DependencyFailed),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn nobody_there_is_not_sent() {
    let gone = {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    };
    let status = root(5_000)
        .run(async { grpc::once(client(gone), ask("0")).await })
        .await
        .unwrap()
        .unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    let stopped = Stopped::from(status);
    assert_eq!(stopped.cause(), Cause::DependencyFailed);
    assert_eq!(
        (stopped.phase(), stopped.sent()),
        (Phase::Connect, Sent::NotSent)
    );
}

#[tokio::test]
async fn a_stream_is_read_inside_the_deadline_of_its_call() {
    let service = TextService::new(|_| async { Ok(String::new()) }).many(|_| {
        futures::stream::unfold(0, |n| async move {
            tokio::time::sleep(ms(50)).await;
            Some((Ok(n.to_string()), n + 1))
        })
    });
    // A peer that does not know when to stop: it hears no timeout, because its caller does not hand it on.
    let addr = grpc::serve(Identity::new(), service).await;
    let start = Instant::now();
    let texts = root(600)
        .run(async { grpc::many(client(addr), ask("")).await })
        .await
        .unwrap()
        .unwrap();
    // Read after the scope that called has ended.
    let all: Vec<_> = texts.collect().await;
    assert!(all.len() > 1);
    let end = all.last().unwrap().as_ref().unwrap_err();
    assert_eq!(end.code(), Code::DeadlineExceeded, "{end:?}");
    assert!(start.elapsed() < ms(3_000));
    let stopped = Stopped::find(end).unwrap();
    assert_eq!(
        (stopped.cause(), stopped.phase()),
        (Cause::DeadlineExceeded, Phase::Body)
    );
}

#[tokio::test]
async fn an_attempt_is_marked_for_those_below() {
    let (addr, heard) = peer().await;
    let cx = root(10_000);
    for number in [1, 3] {
        let attempt = cx.in_attempt(NonZeroU32::new(number).unwrap());
        let call = attempt.run(async { grpc::once(client(addr), ask("0")).await });
        call.await.unwrap().unwrap();
    }
    let heard = heard.lock().unwrap();
    let told = |at: usize, name: &str| {
        let value: Option<&tonic::metadata::AsciiMetadataValue> = heard[at].get(name);
        value.map(|value| value.to_str().unwrap().to_owned())
    };
    assert_eq!(told(0, "x-request-attempt").as_deref(), Some("1"));
    assert_eq!(told(0, "grpc-previous-rpc-attempts"), None);
    assert_eq!(told(1, "x-request-attempt").as_deref(), Some("3"));
    assert_eq!(told(1, "grpc-previous-rpc-attempts").as_deref(), Some("2"));
}

#[tokio::test]
async fn where_it_is_not_handed_on_nothing_is_said() {
    let (addr, heard) = peer().await;
    for mode in [Mode::Off, Mode::Observe] {
        let cx = Context::builder("root")
            .budget(ms(5_000))
            .mode(mode)
            .build();
        let call = cx.run(async { grpc::once(client(addr), ask("0")).await });
        call.await.unwrap().unwrap();
    }
    assert!(
        heard
            .lock()
            .unwrap()
            .iter()
            .all(|told| !told.contains_key("grpc-timeout"))
    );
}

#[tokio::test]
async fn three_hops_hand_on_only_the_rest() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let policy = Policy::new()
        .max(Duration::from_secs(10))
        .trust(Trust::Full);
    let seen = told.clone();
    let last = TextService::new(move |_| {
        seen.lock()
            .unwrap()
            .push(Context::current().remaining().unwrap());
        std::future::pending()
    });
    let mut next = grpc::serve(DeadlineLayer::new("last", policy.clone()), last).await;
    for name in ["middle", "first"] {
        let (seen, to) = (told.clone(), next);
        let forward = TextService::new(move |_| {
            seen.lock()
                .unwrap()
                .push(Context::current().remaining().unwrap());
            async move {
                tokio::time::sleep(ms(200)).await;
                grpc::once(client(to), ask("")).await
            }
        });
        next = grpc::serve(DeadlineLayer::new(name, policy.clone()), forward).await;
    }
    let start = Instant::now();
    let status = root(3_100)
        .run(async { grpc::once(client(next), ask("")).await })
        .await
        .unwrap()
        .unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status:?}");
    assert!(start.elapsed() < ms(6_000), "{:?}", start.elapsed());
    let told = told.lock().unwrap();
    assert_eq!(told.len(), 3, "each hop once: {told:?}");
    assert!(told[0] <= ms(2_900), "{told:?}");
    assert!(told[1] <= told[0] - ms(290), "{told:?}");
    assert!(told[2] <= told[1] - ms(290), "{told:?}");
}
