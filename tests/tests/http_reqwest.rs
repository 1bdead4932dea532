//! reqwest: bodies inside the deadline, redirects, the middleware, and what is known about a call that failed.
#![allow(missing_docs, clippy::pedantic)]

use std::error::Error;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use deadline_runtime::http::{
    ClientBuilderExt as _, InternalHosts, PropagateDeadlineMiddleware, RequestBuilderExt as _,
    ResponseExt as _,
};
use deadline_runtime::{Budget, Cause, Context, Phase, Sent, Stopped};
use deadline_tests::events::Events;
use deadline_tests::raw::{self, Heads};
use reqwest_middleware::ClientWithMiddleware;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn root(millis: u64) -> Context {
    Context::builder("root")
        .budget(Budget::new(ms(millis)).reserve(ms(100)))
        .request_id("id-1")
        .build()
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok";

async fn ok() -> (SocketAddr, Heads) {
    raw::peer(|_| vec![(Duration::ZERO, OK.to_owned())]).await
}

fn get(to: SocketAddr) -> reqwest::RequestBuilder {
    let client = reqwest::Client::builder().for_internal_services();
    client
        .build()
        .unwrap()
        .get(format!("http://{to}/a?token=s3cr3t"))
}

/// A head at once, then a byte every 50 ms for a minute.
async fn drips() -> SocketAddr {
    let (addr, _) = raw::peer(|_| {
        let head = "HTTP/1.1 200 OK\r\ncontent-length: 1200\r\n\r\n".to_owned();
        let byte = (ms(50), "x".to_owned());
        std::iter::once((Duration::ZERO, head))
            .chain(std::iter::repeat_n(byte, 1_200))
            .collect()
    })
    .await;
    addr
}

/// Takes no connection: its queue is full, so that no SYN is answered any more.
fn full() -> (
    tokio::net::TcpListener,
    SocketAddr,
    Vec<std::net::TcpStream>,
) {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let addr = listener.local_addr().unwrap();
    let mut held = Vec::new();
    while let Ok(stream) = std::net::TcpStream::connect_timeout(&addr, ms(200)) {
        held.push(stream);
        assert!(held.len() < 100, "the queue never fills");
    }
    (listener, addr, held)
}

#[tokio::test]
async fn every_phase_of_a_call_ends_at_the_one_deadline() {
    let (_listener, unanswered, _held) = full();
    let (silent, _) = raw::peer(|_| vec![(Duration::from_secs(60), String::new())]).await;
    for (name, to) in [
        ("no connection", unanswered),
        ("no head", silent),
        ("no body", drips().await),
    ] {
        let start = Instant::now();
        let cx = root(600);
        let outcome = cx.enter(|| get(to).send_within_deadline());
        let stopped = match outcome.await {
            Err(stopped) => (stopped.cause(), stopped.sent()),
            Ok(answer) => {
                assert_eq!(name, "no body");
                let error = answer.bytes().await.unwrap_err();
                let stopped = Stopped::find(&error).expect("a stop");
                assert_eq!(stopped.phase(), Phase::Body);
                (stopped.cause(), stopped.sent())
            }
        };
        assert_eq!(stopped, (Cause::DeadlineExceeded, Sent::Unknown), "{name}");
        let after = start.elapsed();
        assert!(after >= ms(450) && after < ms(3_000), "{name}: {after:?}");
    }
}

#[tokio::test]
async fn a_body_is_not_cut_at_the_return_of_the_function_that_called() {
    let (addr, _) = raw::peer(|_| {
        let head = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\nx-a: b\r\n\r\n".to_owned();
        let byte = (ms(100), "x".to_owned());
        std::iter::once((Duration::ZERO, head))
            .chain(std::iter::repeat_n(byte, 3))
            .collect()
    })
    .await;
    let cx = root(5_000);
    let answer = cx
        .run(async { get(addr).send_within_deadline().await })
        .await
        .unwrap()
        .unwrap();
    // The answer is what reqwest made, address and length included.
    assert_eq!(
        answer.url().as_str(),
        format!("http://{addr}/a?token=s3cr3t")
    );
    assert_eq!(answer.remote_addr(), Some(addr));
    assert_eq!(answer.content_length(), Some(3));
    assert_eq!(answer.headers()["x-a"], "b");
    assert_eq!(answer.text().await.unwrap(), "xxx");
}

#[tokio::test]
async fn whether_a_call_was_sent_is_known_only_where_it_was_not() {
    let gone = {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    };
    let cx = root(5_000);
    let stopped = cx
        .enter(|| get(gone).send_within_deadline())
        .await
        .unwrap_err();
    assert_eq!(
        (stopped.cause(), stopped.sent()),
        (Cause::DependencyFailed, Sent::NotSent)
    );

    // Closed after the head was read: it may have been done.
    let (closes, heads) = raw::peer(|_| vec![]).await;
    let stopped = cx
        .enter(|| get(closes).send_within_deadline())
        .await
        .unwrap_err();
    assert_eq!(
        (stopped.cause(), stopped.sent()),
        (Cause::DependencyFailed, Sent::Unknown)
    );
    assert_eq!(heads.all().len(), 1);

    // reqwest's own limit for connecting.
    let (_listener, unanswered, _held) = full();
    let client = reqwest::Client::builder()
        .connect_timeout(ms(200))
        .build()
        .unwrap();
    let call = cx.enter(|| {
        client
            .get(format!("http://{unanswered}/"))
            .send_within_deadline()
    });
    let stopped = call.await.unwrap_err();
    assert_eq!(stopped.cause(), Cause::DependencyTimeout);
    assert_eq!(
        (stopped.phase(), stopped.sent()),
        (Phase::Connect, Sent::NotSent)
    );

    // Over before it began.
    cx.cancel(Cause::ClientCancelled);
    let stopped = cx
        .enter(|| get(closes).send_within_deadline())
        .await
        .unwrap_err();
    assert_eq!(
        (stopped.phase(), stopped.sent()),
        (Phase::Start, Sent::NotSent)
    );
    assert_eq!(heads.all().len(), 1);
}

/// One listener serves the process, so the stories of redirects are told together.
#[tokio::test]
async fn a_redirect_repeats_the_figure_unless_the_client_is_built_for_it() {
    let events = Events::listen();
    let (elsewhere, heard) = ok().await;
    let location = format!("http://localhost:{}/b", elsewhere.port());
    let (first, _) = raw::peer(move |_| {
        let answer = format!(
            "HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        );
        vec![(ms(300), answer)]
    })
    .await;
    // What happens without: another host hears of it, and 300 ms too late.
    let cx = root(5_000);
    let client = reqwest::Client::new();
    let call = cx.enter(|| {
        client
            .get(format!("http://{first}/"))
            .send_within_deadline()
    });
    let answer = call.await.unwrap();
    assert_eq!(answer.status(), 200);
    let figure: u64 = heard.header("x-request-timeout-ms")[0].parse().unwrap();
    assert!(figure > 4_700, "the figure of the first request: {figure}");
    let warned = events.text();
    assert!(warned.contains("has followed a redirect"), "{warned}");
    assert!(!warned.contains("localhost"), "{warned}");
    // With a client for internal services it is an answer like any other.
    let call = cx.enter(|| get(first).send_within_deadline());
    assert_eq!(call.await.unwrap().status(), 302);
    assert_eq!(heard.all().len(), 1);
}

fn middleware(hosts: InternalHosts) -> ClientWithMiddleware {
    let client = reqwest::Client::builder().for_internal_services();
    reqwest_middleware::ClientBuilder::new(client.build().unwrap())
        .with(PropagateDeadlineMiddleware::new(hosts))
        .build()
}

#[tokio::test]
async fn the_middleware_computes_the_figure_for_each_attempt() {
    let (addr, heads) = ok().await;
    let client = middleware(InternalHosts::new(["127.0.0.1"]));
    let cx = root(5_000);
    for attempt in 1..=3 {
        let attempt = cx.in_attempt(NonZeroU32::new(attempt).unwrap());
        let call = attempt.run(async {
            let request = client.get(format!("http://{addr}/"));
            request.header("x-request-timeout-ms", "99999").send().await
        });
        assert_eq!(call.await.unwrap().unwrap().status(), 200);
        tokio::time::sleep(ms(200)).await;
    }
    let told: Vec<u64> = heads
        .header("x-request-timeout-ms")
        .iter()
        .map(|value| value.parse().unwrap())
        .collect();
    assert!(
        told[0] <= 4_900 && told[1] <= told[0] - 200 && told[2] <= told[1] - 200,
        "{told:?}"
    );
    assert_eq!(heads.header("x-request-attempt"), ["1", "2", "3"]);
    assert_eq!(heads.header("x-request-id"), ["id-1"; 3]);
}

#[tokio::test]
async fn the_middleware_ends_calls_and_bodies_and_tells_strangers_nothing() {
    let client = middleware(InternalHosts::new(["profile"]));
    let (stranger, heads) = ok().await;
    let call = root(5_000).run(async { client.get(format!("http://{stranger}/")).send().await });
    call.await.unwrap().unwrap();
    assert_eq!(heads.header("x-request-timeout-ms"), [""]);
    assert_eq!(heads.header("x-request-id"), [""]);

    let client = middleware(InternalHosts::all());
    let (silent, heads) = raw::peer(|_| vec![(Duration::from_secs(60), String::new())]).await;
    let cx = root(5_000);
    let child = cx.child(ms(300));
    let call = cx.run(async {
        let request = child.run(async { client.get(format!("http://{silent}/")).send().await });
        request.await
    });
    let outcome = call.await.unwrap();
    // Whichever of the two is first: it is the child's own limit, which is shorter than the request's.
    let stopped = match outcome {
        Ok(Err(error)) => Stopped::find(&error).expect("a stop").cause(),
        Ok(Ok(answer)) => panic!("{}", answer.status()),
        Err(stopped) => stopped.cause(),
    };
    assert_eq!(stopped, Cause::DependencyTimeout);
    assert_eq!(heads.all().len(), 1);

    // Nothing left: nothing sent, and the stop is found in the client's own error.
    let over = Context::root("over", Budget::new(ms(1)));
    tokio::time::sleep(ms(10)).await;
    let run = client.get(format!("http://{silent}/")).build().unwrap();
    let error = PolledIn(over, Box::pin(client.execute(run)))
        .await
        .unwrap_err();
    let stopped = Stopped::find(&error).expect("a stop");
    assert_eq!(
        (stopped.phase(), stopped.sent()),
        (Phase::Start, Sent::NotSent)
    );
    assert_eq!(heads.all().len(), 1);

    let drips = drips().await;
    let cx = root(600);
    let call = cx.run(async { client.get(format!("http://{drips}/")).send().await });
    let answer = call.await.unwrap().unwrap();
    let error = answer.bytes().await.unwrap_err();
    assert_eq!(
        Stopped::find(&error).unwrap().cause(),
        Cause::DeadlineExceeded
    );
}

/// Polled with a context in place, but by no scope.
struct PolledIn<F>(Context, std::pin::Pin<Box<F>>);

impl<F: Future> Future for PolledIn<F> {
    type Output = F::Output;

    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<F::Output> {
        let Self(context, future) = &mut *self;
        context.enter(|| future.as_mut().poll(cx))
    }
}

#[tokio::test]
async fn a_peers_stop_is_read_from_an_answer_of_the_middleware() {
    let (addr, _) = raw::peer(|_| {
        let answer = "HTTP/1.1 504 Gateway Timeout\r\nx-deadline-cause: deadline_exceeded\r\n\
                      content-length: 0\r\nconnection: close\r\n\r\n";
        vec![(Duration::ZERO, answer.to_owned())]
    })
    .await;
    let client = middleware(InternalHosts::all());
    let call = root(5_000).run(async {
        let answer = client
            .get(format!("http://{addr}/?token=s3cr3t"))
            .send()
            .await
            .unwrap();
        answer.error_for_stop().map(|_| ())
    });
    let stopped = call.await.unwrap().unwrap_err();
    assert_eq!(
        (stopped.cause(), stopped.phase()),
        (Cause::DependencyTimeout, Phase::Response)
    );
    // What the peer said is behind it, and not where it was asked.
    let source = stopped.source().expect("the answer");
    assert_eq!(source.to_string(), "answered 504 Gateway Timeout");
    assert!(!format!("{stopped:?} {source:?}").contains("s3cr3t"));
}
