//! gRPC with other languages: their clients of our server, our client of their servers, and chains of both.
#![allow(missing_docs, clippy::pedantic)]

use std::time::Duration;

use deadline_runtime::http::grpc::StatusExt as _;
use deadline_runtime::{Budget, Cause, Context, Sent, Stopped};
use deadline_tests::peers::ours::{End, Ours, Telling, client, serve};
use deadline_tests::peers::peer::{Call, Language, Peer, Served};
use deadline_tests::peers::proto::{Ask, Items, Serve, Told};
use deadline_tests::peers::raw;
use deadline_tests::table::Table;
use futures::future::join_all;
use tonic::{Code, Request, Status};

const OK: i64 = 0;
const CANCELLED: i64 = 1;
const INVALID_ARGUMENT: i64 = 3;
const DEADLINE_EXCEEDED: i64 = 4;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn root(budget: Duration) -> Context {
    Context::root("test", Budget::new(budget))
}

fn ask(id: &str, work_ms: u32) -> Ask {
    Ask {
        id: id.to_owned(),
        work_ms,
        ..Ask::default()
    }
}

/// As user code has it: one `?` for the status of a call.
async fn call_as_stop(ours: &Telling, ask: Ask) -> Result<(), Stopped> {
    ours.call(ask).await?;
    Ok(())
}

/// What no library sends. Nothing here needs one, so these run everywhere.
mod frames {
    use super::*;

    #[tokio::test]
    async fn an_unreadable_timeout_is_refused_and_never_unlimited() {
        let ours = Ours::start().await;
        let values: [&[u8]; 17] = [
            b"abc",
            b"",
            b"5",
            b"S",
            b"5s",
            b"5M5",
            b"-1S",
            b"-0m",
            b"+5S",
            b"5 S",
            b"0x5S",
            b"1.5S",
            b"1e3m",
            b"123456789S",
            b"4294967295m",
            b"100m,100m",
            "５S".as_bytes(),
        ];
        for value in values {
            let shown = String::from_utf8_lossy(value);
            let lines = [("grpc-timeout", value)];
            let frames = raw::call(ours.address, "Call", &ask("refused", 0), &lines).await;
            assert_eq!(frames.code(), INVALID_ARGUMENT, "{shown}: {frames:?}");
            answered_as_grpc(&frames);
            let cause = frames.headers.get("x-deadline-cause");
            assert_eq!(cause.unwrap(), "bad_deadline", "{shown}");
        }
        // Of two copies that differ neither wins.
        for (first, second) in [("100m", "9S"), ("9S", "100m")] {
            let lines = [
                ("grpc-timeout", first.as_bytes()),
                ("grpc-timeout", second.as_bytes()),
            ];
            let frames = raw::call(ours.address, "Call", &ask("refused", 0), &lines).await;
            assert_eq!(frames.code(), INVALID_ARGUMENT, "{frames:?}");
        }
        assert_eq!(ours.of("refused").len(), 0, "no handler was entered");
        // Every unit, leading zeros, the longest.
        for value in [
            "9S",
            "00000009S",
            "9000m",
            "9000000u",
            "99999999n",
            "1M",
            "1H",
            "99999999H",
        ] {
            let lines = [("grpc-timeout", value.as_bytes())];
            let frames = raw::call(ours.address, "Call", &ask(value, 0), &lines).await;
            assert_eq!(frames.code(), OK, "{value}: {frames:?}");
            let (left, _) = ours.ended(value).await;
            assert!((1..=20_000).contains(&left), "{value}: {left}");
        }
    }

    #[tokio::test]
    async fn a_timeout_of_zero_is_over_on_arrival() {
        let ours = Ours::start().await;
        for value in ["0n", "0u", "0m", "0S", "0M", "0H", "00000000H"] {
            let lines = [("grpc-timeout", value.as_bytes())];
            for method in ["Call", "Items"] {
                let frames = raw::call(ours.address, method, &ask("zero", 0), &lines).await;
                assert_eq!(frames.code(), DEADLINE_EXCEEDED, "{value}: {frames:?}");
                answered_as_grpc(&frames);
            }
        }
        assert_eq!(ours.of("zero").len(), 0, "no handler was entered");
    }

    #[tokio::test]
    async fn our_end_of_a_call_is_an_answer_of_grpc() {
        let ours = Ours::start().await;
        let lines = [("grpc-timeout", &b"200m"[..])];
        let frames = raw::call(ours.address, "Call", &ask("slow", 20_000), &lines).await;
        assert_eq!(frames.code(), DEADLINE_EXCEEDED, "{frames:?}");
        answered_as_grpc(&frames);
        assert!(frames.after < ms(2_000), "{frames:?}");
        let (_, end) = ours.ended("slow").await;
        assert_eq!(end.word(), "deadline_exceeded");

        // A stream that has begun ends with trailers, not with a reset.
        let items = Ask {
            items: 1_000,
            ..ask("stream", 20)
        };
        let lines = [("grpc-timeout", &b"500m"[..])];
        let frames = raw::call(ours.address, "Items", &items, &lines).await;
        assert_eq!(frames.code(), DEADLINE_EXCEEDED, "{frames:?}");
        assert!(frames.data > 0 && !frames.trailers_only, "{frames:?}");
        assert_eq!(frames.reset, None);
        let (_, end) = ours.ended("stream").await;
        assert_eq!(end.word(), "deadline_exceeded");
    }

    /// tonic ends a call at its `grpc-timeout` itself, with CANCELLED, as soon as it gets a turn.
    #[tokio::test]
    async fn a_thread_that_was_busy_past_the_reserve_still_ends_with_our_code() {
        let ours = Ours::start().await;
        let lines = [("grpc-timeout", &b"200m"[..])];
        let call = ask("busy", 20_000);
        let call = raw::call(ours.address, "Call", &call, &lines);
        let busy = async {
            while ours.of("busy").is_empty() {
                tokio::time::sleep(ms(5)).await;
            }
            // The one thread of this runtime: when it is free, both our end and tonic's are past.
            std::thread::sleep(ms(400));
        };
        let (frames, ()) = tokio::join!(call, busy);
        assert_eq!(frames.code(), DEADLINE_EXCEEDED, "{frames:?}");
        answered_as_grpc(&frames);
        let (_, end) = ours.ended("busy").await;
        assert_eq!(end.word(), "deadline_exceeded");
    }

    /// Blocks the only thread of its server when it is told to.
    #[derive(Clone)]
    struct Blocks;

    impl Serve for Blocks {
        async fn call(&self, ask: Request<Ask>) -> Result<Told, Status> {
            let work = ms(ask.get_ref().work_ms.into());
            if ask.get_ref().id == "block" {
                std::thread::sleep(work);
            } else {
                tokio::time::sleep(work).await;
            }
            Ok(Told::default())
        }

        async fn items(&self, _: Request<Ask>) -> Result<Items, Status> {
            Err(Status::unimplemented("only calls"))
        }
    }

    /// The trap: every call that ends early is a reset, and with the settings a server of tonic's has from the start it closes a
    /// connection on which more than twenty came while it was busy, with the innocent calls on it.
    #[tokio::test]
    async fn many_calls_that_end_early_cost_the_others_nothing() {
        let (said, heard) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let _ = said.send(serve(Blocks).await);
                std::future::pending::<()>().await;
            });
        });
        let client = client(&heard.await.unwrap().to_string());
        client.call(ask("connects", 0)).await.unwrap();
        let innocent = client.call(ask("innocent", 1_500));
        let blocking = client.call(ask("block", 600));
        let hurried = async {
            tokio::time::sleep(ms(100)).await;
            let calls = (0..100).map(|_| root(ms(100)).run(call_as_stop(&client, ask("", 5_000))));
            for stopped in join_all(calls).await {
                let stopped = stopped.and_then(|inner| inner).unwrap_err();
                assert_eq!(stopped.cause(), Cause::DeadlineExceeded, "{stopped:?}");
            }
        };
        let (innocent, blocking, ()) = tokio::join!(innocent, blocking, hurried);
        innocent.unwrap();
        blocking.unwrap();
    }

    /// At the deadline both ends give up; the clock says whose end it was.
    #[tokio::test]
    async fn a_reset_is_judged_by_the_clock() {
        for (resets_after, budget, expected) in [
            (ms(100), ms(2_000), Cause::DependencyFailed),
            (ms(2_000), ms(400), Cause::DeadlineExceeded),
        ] {
            let server = raw::resetting(resets_after).await;
            let ours = client(&server.to_string());
            let stopped = root(budget).run(call_as_stop(&ours, ask("reset", 0))).await;
            let cause = stopped.and_then(|inner| inner).unwrap_err().cause();
            assert_eq!(cause, expected);
        }
    }

    /// HTTP 200, gRPC's content type, and the status in the only head.
    fn answered_as_grpc(frames: &raw::Frames) {
        assert_eq!(frames.status, 200, "{frames:?}");
        assert_eq!(frames.headers["content-type"], "application/grpc");
        assert!(frames.trailers_only, "{frames:?}");
        assert_eq!(frames.reset, None);
    }
}

/// Everything here talks to other languages; `tests/run --without-peers` leaves it out.
mod needs_peers {
    use super::*;

    fn end(end: &End) -> String {
        format!("{} at {} ms", end.word(), end.after.as_millis())
    }

    fn served(served: &Served) -> String {
        let word = if served.done { "done" } else { "ended" };
        format!("{word} at {} ms", served.after_ms.round())
    }

    #[tokio::test]
    async fn their_clients_of_our_server() {
        let ours = Ours::start().await;
        let plain = Ours::plain().await;
        let mut table = Table::new(
            "their clients of our server",
            &[
                "client", "call", "server", "code", "text", "after", "told", "handler",
            ],
        );
        let rows = async |language: Language| {
            let mut rows = Vec::new();
            let mut peer = Peer::start(language).await;
            for (server, name) in [(&ours, "ours"), (&plain, "plain tonic")] {
                let call = |id: &str| Call {
                    id: format!("{}-{name}-{id}", language.name()),
                    target: server.address.to_string(),
                    work_ms: 500,
                    ..Call::default()
                };
                // Connects.
                let warm = Call {
                    work_ms: 0,
                    ..call("warm")
                };
                assert_eq!(peer.ask(&warm).await.code, OK);
                let calls = [
                    Call {
                        deadline_ms: Some(100),
                        ..call("100 ms for 500")
                    },
                    Call {
                        deadline_ms: Some(3_000),
                        ..call("3 s for 500")
                    },
                    Call {
                        ..call("no deadline")
                    },
                    Call {
                        cancel_ms: Some(100),
                        ..call("cancelled at 100")
                    },
                    Call {
                        deadline_ms: Some(600),
                        items: 1_000,
                        work_ms: 50,
                        ..call("stream, 600 ms")
                    },
                ];
                for call in calls {
                    let what = call.id.rsplit('-').next().unwrap().to_owned();
                    let answer = peer.ask(&call).await;
                    let (left, handler) = server.ended(&call.id).await;
                    let told = match call.items {
                        0 => answer.told["left_ms"].to_string(),
                        _ => format!("{} items", answer.items),
                    };
                    rows.push([
                        language.name().to_owned(),
                        what.clone(),
                        name.to_owned(),
                        answer.code.to_string(),
                        answer.text.clone(),
                        format!("{:.0} ms", answer.after_ms),
                        told,
                        end(&handler),
                    ]);
                    if name != "ours" {
                        continue;
                    }
                    let (code, word) = match what.as_str() {
                        "100 ms for 500" | "stream, 600 ms" => {
                            (DEADLINE_EXCEEDED, "deadline_exceeded")
                        }
                        "cancelled at 100" => (CANCELLED, "client_cancelled"),
                        _ => (OK, "done"),
                    };
                    assert_eq!(
                        (answer.code, handler.word()),
                        (code, word),
                        "{what}: {answer:?}"
                    );
                    match what.as_str() {
                        "100 ms for 500" => {
                            assert!((1..=100).contains(&left), "{left}");
                            assert!((20.0..1_500.0).contains(&answer.after_ms), "{answer:?}");
                        }
                        // C-core rounds 3 s up, to as much as 3010 ms; the reserve is less than ours of 100.
                        "3 s for 500" => assert!((2_000..=2_920).contains(&left), "{left}"),
                        // No header is no limit of theirs: ours of 20 s counts.
                        "no deadline" => assert!((18_000..=19_900).contains(&left), "{left}"),
                        "cancelled at 100" => {}
                        _ => {
                            assert!((1..100).contains(&answer.items), "{answer:?}");
                            assert!((100.0..3_000.0).contains(&answer.after_ms), "{answer:?}");
                        }
                    }
                }
            }
            rows
        };
        table.rows(join_all(Language::ALL.map(rows)).await);
        table.print();
    }

    #[tokio::test]
    async fn our_client_of_their_servers() {
        let mut table = Table::new(
            "our client of their servers",
            &["server", "call", "we see", "after", "it saw", "its handler"],
        );
        let rows = async |language: Language| {
            let mut rows = Vec::new();
            let peer = Peer::start(language).await;
            let ours = client(&peer.target());
            let name = language.name();
            root(ms(10_000))
                .run(ours.call(ask("warm", 0)))
                .await
                .unwrap()
                .unwrap();

            let id = |what: &str| format!("{name}-{what}");
            let mut row = async |what: &str, seen: String, start: std::time::Instant| {
                let after = start.elapsed();
                let served_as = peer.served(&id(what)).await;
                rows.push([
                    name.to_owned(),
                    what.to_owned(),
                    seen,
                    format!("{} ms", after.as_millis()),
                    served_as.left_ms.to_string(),
                    served(&served_as),
                ]);
                (served_as, after)
            };

            // What is left, and never more.
            let what = "2 s for 100";
            let start = std::time::Instant::now();
            let told = root(ms(2_000)).run(ours.call(ask(&id(what), 100))).await;
            let told = told.unwrap().unwrap();
            let (seen, _) = row(what, "OK".to_owned(), start).await;
            assert_eq!((told.by.as_str(), told.left_ms), (name, seen.left_ms));
            assert!((1_000..=2_000).contains(&seen.left_ms), "{seen:?}");
            assert!(seen.done);

            // No deadline: nothing is said.
            let what = "unlimited";
            let start = std::time::Instant::now();
            ours.call(ask(&id(what), 50)).await.unwrap();
            let (seen, _) = row(what, "OK".to_owned(), start).await;
            assert_eq!(seen.left_ms, -1);

            // Our own time is over: whoever notices first, it is ours.
            let what = "300 ms for 5 s";
            let start = std::time::Instant::now();
            let cx = root(ms(300));
            let stopped = cx.run(call_as_stop(&ours, ask(&id(what), 5_000))).await;
            let stopped = stopped.and_then(|inner| inner).unwrap_err();
            let (seen, after) = row(what, stopped.cause().to_string(), start).await;
            assert_eq!(stopped.cause(), Cause::DeadlineExceeded, "{stopped:?}");
            assert!((1..=300).contains(&seen.left_ms), "{seen:?}");
            assert!(!seen.done && seen.after_ms < 1_500.0, "{seen:?}");
            assert!((ms(200)..ms(1_500)).contains(&after), "{after:?}");

            // A part of our time: the callee was too slow for its share.
            let what = "300 of 9000 for 5 s";
            let start = std::time::Instant::now();
            let outer = root(ms(9_000));
            let cx = outer.child(ms(300));
            // Three clocks end it at the same moment: the scope's, that of the call inside it and tonic's own. Whose
            // limit it was is the same whoever is first.
            let ended = cx.run(call_as_stop(&ours, ask(&id(what), 5_000))).await;
            let words: &[Cause] = match &ended {
                Err(_) => &[Cause::DependencyTimeout],
                Ok(_) => &[Cause::DependencyTimeout, Cause::DeadlineExceeded],
            };
            let stopped = ended.and_then(|call| call).unwrap_err();
            let (seen, _) = row(what, stopped.cause().to_string(), start).await;
            assert!(words.contains(&stopped.cause()), "{stopped:?}");
            assert_eq!(stopped.limited_by().operation(), "child", "{stopped:?}");
            assert!((1..=300).contains(&seen.left_ms), "{seen:?}");
            assert!(!seen.done && seen.after_ms < 1_500.0, "{seen:?}");

            // We lose interest: their handler ends.
            let what = "dropped at 200";
            let start = std::time::Instant::now();
            let call = root(ms(9_000)).run(ours.call(ask(&id(what), 5_000)));
            assert!(tokio::time::timeout(ms(200), call).await.is_err());
            let (seen, _) = row(what, "nothing".to_owned(), start).await;
            assert!(!seen.done && seen.after_ms < 2_000.0, "{seen:?}");

            // A stream ends with our time as well, and theirs with it.
            let what = "stream, 600 ms";
            let start = std::time::Instant::now();
            let items = Ask {
                items: 1_000,
                ..ask(&id(what), 50)
            };
            let (count, status) = root(ms(600))
                .run(async {
                    let mut stream = ours.items(items).await.unwrap();
                    let mut count = 0;
                    loop {
                        match stream.message().await {
                            Ok(Some(_)) => count += 1,
                            end => return (count, end.unwrap_err()),
                        }
                    }
                })
                .await
                .unwrap_or_else(|stopped| (1, Status::from(stopped)));
            let (seen, after) =
                row(what, format!("{count} items, {}", cause(&status)), start).await;
            assert_eq!(Stopped::from(status).cause(), Cause::DeadlineExceeded);
            assert!((1..100).contains(&count), "{count}");
            assert!((ms(300)..ms(3_000)).contains(&after), "{after:?}");
            assert!(!seen.done && seen.after_ms < 3_000.0, "{seen:?}");

            // What they say of their own accord, judged by the clock.
            let start = std::time::Instant::now();
            let cx = root(ms(2_000));
            let mut statuses = Vec::new();
            for (code, in_time) in [
                (Code::DeadlineExceeded, Some(Cause::DependencyTimeout)),
                (Code::Cancelled, Some(Cause::DependencyFailed)),
                (Code::Unavailable, Some(Cause::DependencyFailed)),
                (Code::NotFound, None),
                (Code::ResourceExhausted, None),
            ] {
                let failing = Ask {
                    fail_with: code as u32,
                    ..ask(&id(&format!("answers {code:?}")), 1)
                };
                let status = cx.run(ours.call(failing)).await.unwrap().unwrap_err();
                assert_eq!(status.code(), code, "{status:?}");
                let early = cx.enter(|| status.clone().into_stopped());
                let early = early.map(|stopped| stopped.cause()).ok();
                assert_eq!(early, in_time, "{name} {code:?}");
                statuses.push((status, in_time));
            }
            while cx.cause().is_none() {
                tokio::time::sleep(ms(20)).await;
            }
            for (status, in_time) in statuses {
                // The same words, heard when our own time is over.
                let code = status.code();
                // For those who know only stops it is ours, also if it was an answer: Go's own expiry may come as UNKNOWN.
                let stop = cx.enter(|| Stopped::from(status.clone())).cause();
                assert_eq!(stop, Cause::DeadlineExceeded, "{name} {code:?}");
                let late = cx.enter(|| status.into_stopped());
                let late = late.map(|stopped| stopped.cause()).ok();
                let expected = in_time.map(|_| Cause::DeadlineExceeded);
                assert_eq!(late, expected, "{name} {code:?}");
                let word = |cause: Option<Cause>| cause.map_or("an answer", |cause| cause.as_str());
                let seen = format!("{}; late: {}", word(in_time), word(late));
                row(&format!("answers {code:?}"), seen, start).await;
            }
            rows
        };
        table.rows(join_all(Language::ALL.map(rows)).await);
        table.print();
    }

    fn cause(status: &Status) -> String {
        let word = status.metadata().get("x-deadline-cause");
        let word = word.and_then(|word| word.to_str().ok());
        word.unwrap_or("no cause").to_owned()
    }

    #[tokio::test]
    async fn chains_hand_on_only_the_rest() {
        let mut table = Table::new(
            "chains: a budget of 2 s, the middle works 300 ms",
            &["chain", "middle saw", "last saw"],
        );
        let last = Ours::start().await;
        let rows = async |language: Language| {
            let mut rows = Vec::new();
            let mut peer = Peer::start(language).await;
            let name = language.name();
            let further = |id: String, work_ms: u32| Ask {
                next: last.address.to_string(),
                next_work_ms: 10,
                ..ask(&id, work_ms)
            };

            // Ours, theirs, ours.
            let ours = client(&peer.target());
            let id = format!("{name}-middle");
            let told = root(ms(2_000))
                .run(ours.call(further(id.clone(), 300)))
                .await;
            let told = told.unwrap().unwrap();
            let next = told.next.clone().unwrap();
            let (left, end) = last.ended(&id).await;
            assert_eq!((end.word(), left), ("done", next.left_ms));
            assert!((500..=2_000).contains(&told.left_ms), "{told:?}");
            assert!((1..=1_700).contains(&left), "{left}");
            rows.push([
                format!("ours, {name}, ours"),
                told.left_ms.to_string(),
                left.to_string(),
            ]);

            // Theirs, ours, theirs.
            let middle = Ours::start().await;
            let call = Call {
                id: format!("{name}-ends"),
                target: middle.address.to_string(),
                work_ms: 300,
                next: peer.target(),
                next_work_ms: 10,
                deadline_ms: Some(2_000),
                ..Call::default()
            };
            let answer = peer.ask(&call).await;
            assert_eq!(answer.code, OK, "{answer:?}");
            let (left, _) = middle.ended(&call.id).await;
            let seen = peer.served(&call.id).await;
            // Less our reserve as well; C-core has rounded 2 s up, by 10 ms at most.
            assert!((500..=1_910).contains(&left), "{left}");
            assert!((1..=left - 300).contains(&seen.left_ms), "{seen:?} {left}");
            rows.push([
                format!("{name}, ours, {name}"),
                left.to_string(),
                seen.left_ms.to_string(),
            ]);

            // The middle uses up everything: the last is never asked.
            let id = format!("{name}-used-up");
            let cx = root(ms(400));
            let stopped = cx
                .run(call_as_stop(&ours, further(id.clone(), 5_000)))
                .await;
            let stopped = stopped.and_then(|inner| inner).unwrap_err();
            assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
            assert!(!peer.served(&id).await.done);
            assert_eq!(last.of(&id).len(), 0);

            // Nothing is left when it is our turn to ask: nobody is asked.
            let id = format!("{name}-nothing-left");
            let stopped = root(ms(50)).run(async {
                // Without an await in between there is no place where we could be stopped before the call.
                std::thread::sleep(ms(60));
                call_as_stop(&ours, further(id.clone(), 0)).await
            });
            let stopped = stopped.await.and_then(|inner| inner).unwrap_err();
            assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
            assert_eq!(stopped.sent(), Sent::NotSent, "{stopped:?}");
            tokio::time::sleep(ms(200)).await;
            assert_eq!(peer.begun(&id).await, 0);
            assert_eq!(last.of(&id).len(), 0);
            rows
        };
        table.rows(join_all(Language::ALL.map(rows)).await);
        table.print();
    }
}
