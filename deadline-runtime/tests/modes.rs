//! Off, Observe, Propagate, Enforce: what each entry point does in each.
#![allow(missing_docs, unused_braces, clippy::all, clippy::pedantic)]

#[macro_use]
mod common;

use std::future::ready;

use common::ms;
use common::rt::{Limit, Pace, Settle as _, Shield, Spec, guard};
use deadline_runtime::{
    Budget, Cause, Context, Millis, Mode, Outcome, Stopped, Unbudgeted, timeout,
};
use futures::FutureExt as _;
use tokio::time::sleep;

const LENIENT: [Mode; 3] = [Mode::Off, Mode::Observe, Mode::Propagate];

fn root(mode: Mode) -> Context {
    Context::builder("request")
        .budget(Budget::new(ms(10)))
        .mode(mode)
        .report(true)
        .build()
}

/// Every entry point once, in a request that is past its limit and cancelled: which of them went through.
async fn everything(cx: &Context) -> Vec<(&'static str, bool)> {
    const CAP: Spec<Millis<5>> = Spec::new("cap");
    const SHIELD: Spec<Millis<5>> = Spec::new("shield");
    let mut through = Vec::new();
    let mut note = |what, went: bool| through.push((what, went));
    let work = |_: &str| {
        scoped!(Unbudgeted, "work".min(50), {
            Ok::<u8, Stopped>(await_!(ready(1)))
        })
    };
    note("scope", cx.enter(|| work("")).await.is_ok());
    let under = scoped_under!(*cx, Millis<5>, "work", {
        sleep(ms(7)).await;
        Ok::<u8, Stopped>(1)
    });
    note("explicit", under.await.is_ok());
    let or = cx.enter(|| {
        scoped_or!(Unbudgeted, "or", |_: Stopped| false, {
            await_!(ready(true))
        })
    });
    note("fallback", or.await);
    note("run", cx.run(sleep(ms(20))).await.is_ok());
    note("check", cx.check().is_ok());
    note("cause", cx.cause().is_none());
    note("cancelled", cx.cancelled().now_or_never().is_none());
    let child = cx.child(ms(1));
    note("child", child.run(sleep(ms(3))).await.is_ok());
    let inside = cx.enter(|| {
        scoped!(Unbudgeted, "inside", {
            let mut inside = Vec::new();
            let limit = Limit::start(&CAP);
            inside.push(("limit", limit.run(sleep(ms(7))).await.is_ok()));
            inside.push(("limit again", limit.run(sleep(ms(7))).await.is_ok()));
            inside.push((
                "or miss",
                limit
                    .run_or_miss(sleep(ms(7)))
                    .await
                    .deadline_settle()
                    .is_ok(),
            ));
            let shielded = match (Shield::enter(&SHIELD), sleep(ms(7))) {
                (shield, future) => shield.run(future).await,
            };
            inside.push(("shield", shielded.is_ok()));
            inside.push(("timeout", timeout(ms(9), sleep(ms(3))).await.is_ok()));
            inside.push(("checkpoint", Pace::new().checkpoint().is_none()));
            inside.push(("guard", guard(sleep(ms(3))).await.is_ok()));
            let required = scoped!(Unbudgeted, "required".parent_required(), {
                Ok::<u8, Stopped>(1)
            });
            inside.push(("required", required.await.is_ok()));
            let tidy = scoped!(Millis<5>, "tidy".cleanup(2), {
                guarded!(sleep(ms(9)));
                Ok::<u8, Stopped>(1)
            });
            inside.push(("cleanup", tidy.await.is_ok()));
            Ok::<_, Stopped>(inside)
        })
    });
    let inside = inside.await;
    note("inside", inside.is_ok());
    through.extend(inside.unwrap_or_default());
    through
}

#[tokio::test(start_paused = true)]
async fn nothing_is_refused_shortened_or_dropped_unless_enforced() {
    for mode in LENIENT {
        let cx = root(mode);
        sleep(ms(20)).await;
        cx.cancel(Cause::ClientCancelled);
        let through = everything(&cx).await;
        assert_eq!(through.len(), 18);
        let not: Vec<_> = through.into_iter().filter(|(_, went)| !went).collect();
        assert_eq!(not, [], "{mode}");
    }
    let cx = root(Mode::Enforce);
    sleep(ms(20)).await;
    let through = everything(&cx).await;
    assert_eq!(through.len(), 9);
    let went: Vec<_> = through.into_iter().filter(|(_, went)| *went).collect();
    assert_eq!(went, []);
}

#[tokio::test(start_paused = true)]
async fn who_sees_the_deadline() {
    for (mode, sees) in [
        (Mode::Off, false),
        (Mode::Observe, false),
        (Mode::Propagate, true),
        (Mode::Enforce, true),
    ] {
        let cx = root(mode);
        let seen = |cx: &Context| (cx.remaining().is_some(), cx.deadline().is_some(), cx.mode());
        assert_eq!(seen(&cx), (sees, sees, mode));
        assert_eq!(seen(&cx.child(ms(5))), (sees, sees, mode));
        let inside = cx
            .run(async {
                let nested = scoped!(Millis<5>, "nested", {
                    Ok::<_, Stopped>(seen(&Context::current()))
                });
                (seen(&Context::current()), nested.await.unwrap())
            })
            .await
            .unwrap();
        assert_eq!(inside, ((sees, sees, mode), (sees, sees, mode)));
        let detached = cx.detach("audit", ms(50), || async { Context::current().mode() });
        assert_eq!(detached.await.unwrap().unwrap(), mode);
    }
}

#[tokio::test(start_paused = true)]
async fn what_would_have_been_is_recorded() {
    let outcomes = |cx: &Context| -> Vec<(&'static str, Outcome)> {
        let scopes = cx.report().unwrap().scopes;
        scopes
            .iter()
            .map(|scope| (scope.operation, scope.outcome))
            .collect()
    };
    for mode in [Mode::Observe, Mode::Propagate] {
        let cx = root(mode);
        cx.run(async {
            // Refused below its minimum of 12 with 10 left; stopped at its own 4; in time; at the request's limit.
            scoped!(Unbudgeted, "min".min(12), { Ok::<(), Stopped>(()) })
                .await
                .unwrap();
            scoped!(Millis<4>, "own", { Ok::<(), Stopped>(sleep(ms(6)).await) })
                .await
                .unwrap();
            scoped!(Millis<2>, "fast", { Ok::<(), Stopped>(sleep(ms(2)).await) })
                .await
                .unwrap();
            scoped!(Unbudgeted, "slow", {
                Ok::<(), Stopped>(sleep(ms(9)).await)
            })
            .await
            .unwrap();
        })
        .await
        .unwrap();
        assert_eq!(
            outcomes(&cx),
            [
                ("request", Outcome::WouldStop(ms(7))),
                ("min", Outcome::WouldRefuse(ms(2))),
                ("own", Outcome::WouldStop(ms(2))),
                ("fast", Outcome::Completed),
                ("slow", Outcome::WouldStop(ms(7))),
            ]
        );
        // What starts after the end would have been refused; what is cancelled would have been stopped.
        let cx = root(mode);
        sleep(ms(11)).await;
        cx.run(ready(())).await.unwrap();
        assert_eq!(outcomes(&cx), [("request", Outcome::WouldStop(ms(1)))]);
        let cx = root(mode);
        let task = tokio::spawn(cx.run(sleep(ms(9))));
        sleep(ms(4)).await;
        cx.cancel(Cause::ClientCancelled);
        task.await.unwrap().unwrap();
        assert_eq!(outcomes(&cx), [("request", Outcome::WouldStop(ms(5)))]);
        // With a reserve work would have been stopped where the reserve begins, and a little slack.
        let cx = Context::builder("request")
            .budget(Budget::new(ms(100)).reserve(ms(20)))
            .mode(mode)
            .report(true)
            .build();
        cx.run(sleep(ms(90))).await.unwrap();
        assert_eq!(outcomes(&cx), [("request", Outcome::WouldStop(ms(5)))]);
    }
    let cx = root(Mode::Off);
    cx.run(sleep(ms(20))).await.unwrap();
    assert_eq!(outcomes(&cx), []);
}

#[tokio::test(start_paused = true)]
async fn an_enforcing_request_inside_one_that_does_not() {
    for mode in LENIENT {
        let outer = root(mode);
        let inner = Context::root("inner", Budget::new(ms(5)));
        let outcome = outer
            .run(async {
                let stopped = inner.run(std::future::pending::<()>()).await.unwrap_err();
                (stopped.cause(), stopped.elapsed())
            })
            .await
            .unwrap();
        assert_eq!(outcome, (Cause::DeadlineExceeded, ms(5)));
    }
    // The mode is the request's own, not that of whoever polls.
    let outer = root(Mode::Enforce);
    let inner = Context::builder("inner")
        .budget(Budget::new(ms(5)))
        .mode(Mode::Observe)
        .build();
    let outcome = outer
        .run(async { inner.run(sleep(ms(8))).await.is_ok() })
        .await;
    assert!(outcome.unwrap());
}
