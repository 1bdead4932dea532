//! Streams under a deadline: what ends them, when, and that they end once.
#![allow(missing_docs, clippy::all, clippy::pedantic)]

mod common;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use common::{Woken, ms};
use deadline_runtime::stream::{WithinDeadline, within_deadline};
use deadline_runtime::test_util::registered;
use deadline_runtime::{Budget, Cause, Context, Mode, Phase, Stopped, deadline};
use futures::stream::{self, FusedStream as _, Stream, StreamExt as _};
use tokio::time::{Instant, advance, sleep};

fn request(millis: u64) -> Context {
    Context::root("request", Budget::new(ms(millis)))
}

/// An item after each of these waits, then nothing for ever.
fn every(waits: &[u64]) -> Pin<Box<dyn Stream<Item = u64> + Send>> {
    let waits = waits.to_vec();
    let items = stream::iter(waits).then(|wait| async move {
        sleep(ms(wait)).await;
        wait
    });
    Box::pin(items.chain(stream::pending()))
}

/// Items until the stop, the stop, and that nothing comes after it.
async fn all<S: Stream + Unpin>(mut stream: WithinDeadline<S>) -> (Vec<S::Item>, Option<Stopped>) {
    let mut items = Vec::new();
    let mut stop = None;
    while let Some(next) = stream.next().await {
        assert!(stop.is_none(), "something after the stop");
        match next {
            Ok(item) => items.push(item),
            Err(stopped) => stop = Some(stopped),
        }
    }
    assert!(stream.is_terminated());
    assert_eq!(stream.size_hint(), (0, Some(0)));
    assert!(stream.next().await.is_none());
    (items, stop)
}

#[tokio::test(start_paused = true)]
async fn one_that_ends_in_time_ends_as_it_is() {
    let items = stream::iter([1, 2, 3]);
    let (items, stop) = all(within_deadline(items).per_item(ms(10)).total(ms(100))).await;
    assert_eq!(items, [1, 2, 3]);
    assert!(stop.is_none());
}

#[tokio::test(start_paused = true)]
async fn the_wait_for_an_item_begins_anew_at_each() {
    let start = Instant::now();
    let (items, stop) = all(within_deadline(every(&[40, 49, 30]))
        .named("rows")
        .per_item(ms(50)))
    .await;
    assert_eq!(items, [40, 49, 30]);
    assert_eq!(start.elapsed(), ms(119 + 50));
    let stop = stop.unwrap();
    assert_eq!(
        (stop.cause(), stop.phase()),
        (Cause::DependencyTimeout, Phase::Body)
    );
    assert_eq!(
        (stop.operation(), stop.limited_by().operation()),
        ("rows", "rows")
    );
    assert_eq!(stop.limited_by().location().file(), file!());
    assert_eq!((stop.budget(), stop.elapsed()), (Some(ms(50)), ms(50)));
    assert!(
        stop.to_string().starts_with(
            "rows stopped: dependency_timeout in body after 50ms of 50ms, limited by rows ("
        ),
        "{stop}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_late_poll_does_not_begin_the_wait_anew() {
    let mut rows = within_deadline(every(&[10, 70])).per_item(ms(50));
    let start = Instant::now();
    assert_eq!(rows.next().await.unwrap().unwrap(), 10);
    sleep(ms(30)).await;
    // 20 ms are left of the 50.
    let stop = rows.next().await.unwrap().unwrap_err();
    assert_eq!(start.elapsed(), ms(60));
    assert_eq!(
        (stop.cause(), stop.elapsed()),
        (Cause::DependencyTimeout, ms(50))
    );
}

#[tokio::test(start_paused = true)]
async fn an_item_that_is_ready_at_a_late_poll_is_kept() {
    let (send, receive) = tokio::sync::mpsc::channel(4);
    let mut rows = within_deadline(Box::pin(stream::unfold(
        receive,
        |mut receive| async move { Some((receive.recv().await?, receive)) },
    )))
    .per_item(ms(50));
    send.send(1).await.unwrap();
    assert_eq!(rows.next().await.unwrap().unwrap(), 1);
    send.send(2).await.unwrap();
    sleep(ms(500)).await;
    assert_eq!(rows.next().await.unwrap().unwrap(), 2);
    // And the wait begins at it.
    let start = Instant::now();
    assert_eq!(
        rows.next().await.unwrap().unwrap_err().cause(),
        Cause::DependencyTimeout
    );
    assert_eq!(start.elapsed(), ms(50));
}

#[tokio::test(start_paused = true)]
async fn the_deadline_around_bounds_the_whole() {
    let cx = request(100);
    let rows = cx.enter(|| within_deadline(every(&[30; 10])).per_item(ms(50)));
    let start = Instant::now();
    let (items, stop) = all(rows).await;
    assert_eq!((items.len(), start.elapsed()), (3, ms(100)));
    let stop = stop.unwrap();
    assert_eq!(
        (stop.cause(), stop.phase()),
        (Cause::DeadlineExceeded, Phase::Body)
    );
    assert_eq!(stop.limited_by().operation(), "request");
    assert_eq!((stop.budget(), stop.elapsed()), (Some(ms(100)), ms(100)));
}

#[tokio::test(start_paused = true)]
async fn a_shorter_total_is_a_dependency_and_an_equal_one_is_not() {
    for (total, cause, limit, end) in [
        (80, Cause::DependencyTimeout, "rows", 80),
        (100, Cause::DeadlineExceeded, "request", 100),
        (200, Cause::DeadlineExceeded, "request", 100),
    ] {
        let cx = request(100);
        let rows = cx.enter(|| within_deadline(every(&[])).named("rows").total(ms(total)));
        let start = Instant::now();
        let (_, stop) = all(rows).await;
        let stop = stop.unwrap();
        assert_eq!(
            (stop.cause(), stop.limited_by().operation()),
            (cause, limit),
            "{total}"
        );
        assert_eq!(start.elapsed(), ms(end));
    }
    // One item's wait that ends at the very same instant is not the cause either.
    let cx = request(100);
    let (_, stop) = all(cx.enter(|| within_deadline(every(&[])).per_item(ms(100)))).await;
    let stop = stop.unwrap();
    assert_eq!(
        (stop.cause(), stop.limited_by().operation()),
        (Cause::DeadlineExceeded, "request")
    );
}

#[tokio::test(start_paused = true)]
async fn a_total_counts_from_the_first_poll_and_keeps_its_reserve() {
    let rows = within_deadline(every(&[])).total(Budget::new(ms(100)).reserve(ms(20)));
    sleep(ms(500)).await;
    let start = Instant::now();
    let (_, stop) = all(rows).await;
    // The reserve's own slack of a quarter, 5 ms at most, is the scope's.
    assert_eq!(start.elapsed(), ms(85));
    assert_eq!(stop.unwrap().cause(), Cause::DeadlineExceeded);
}

/// Ready whenever it is asked; a millisecond goes by at each.
struct AlwaysReady(Arc<AtomicUsize>);

impl Stream for AlwaysReady {
    type Item = usize;
    fn poll_next(self: Pin<&mut Self>, _: &mut TaskContext<'_>) -> Poll<Option<usize>> {
        deadline_runtime::test_util::pass(ms(1));
        Poll::Ready(Some(self.0.fetch_add(1, Relaxed)))
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_is_always_ready_does_not_outrun_the_deadline() {
    let polls = Arc::new(AtomicUsize::new(0));
    let cx = request(20);
    let start = Instant::now();
    let (items, stop) = all(cx.enter(|| within_deadline(AlwaysReady(polls.clone())))).await;
    assert_eq!((items.len(), polls.load(Relaxed)), (20, 20));
    assert_eq!(start.elapsed(), ms(20));
    assert_eq!(stop.unwrap().cause(), Cause::DeadlineExceeded);
    // A cancel between two items is the end of it as well.
    let cx = request(20);
    let mut rows = cx.enter(|| within_deadline(AlwaysReady(polls)));
    assert!(rows.next().await.unwrap().is_ok());
    cx.cancel(Cause::ClientCancelled);
    let rest = all(rows).await;
    assert!(rest.0.len() <= 1);
    assert_eq!(rest.1.unwrap().cause(), Cause::ClientCancelled);
}

/// Says what it sees when it is polled and dropped.
struct Sees(Arc<AtomicUsize>);

impl Stream for Sees {
    type Item = Option<Duration>;
    fn poll_next(self: Pin<&mut Self>, _: &mut TaskContext<'_>) -> Poll<Option<Self::Item>> {
        if self.0.fetch_add(1, Relaxed) == 0 {
            Poll::Ready(Some(Context::current().remaining()))
        } else {
            Poll::Pending
        }
    }
}

impl Drop for Sees {
    fn drop(&mut self) {
        assert_eq!(Context::current().cause(), Some(Cause::DeadlineExceeded));
        self.0.store(1_000, Relaxed);
    }
}

#[deadline(budget = "200ms")]
async fn open(polls: Arc<AtomicUsize>) -> Result<WithinDeadline<Sees>, Stopped> {
    sleep(ms(50)).await;
    Ok(within_deadline(Sees(polls)))
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_returned_goes_on_until_the_deadline_that_held_there() {
    let polls = Arc::new(AtomicUsize::new(0));
    let start = Instant::now();
    let mut rows = open(polls.clone()).await.unwrap();
    assert_eq!(rows.next().await.unwrap().unwrap(), Some(ms(150)));
    let stop = rows.next().await.unwrap().unwrap_err();
    // Dropped before the error is out.
    assert_eq!(polls.load(Relaxed), 1_000);
    assert_eq!(
        (stop.cause(), start.elapsed()),
        (Cause::DeadlineExceeded, ms(200))
    );
    assert_eq!(stop.limited_by().operation(), "open");
    // In another task as well.
    let rows = open(Arc::default()).await.unwrap();
    let (items, stop) = tokio::spawn(all(rows)).await.unwrap();
    assert_eq!(
        (items.len(), stop.unwrap().cause()),
        (1, Cause::DeadlineExceeded)
    );
}

#[tokio::test(start_paused = true)]
async fn polled_by_another_request_both_bind() {
    let (long, short) = (request(500), request(50));
    let rows = long.enter(|| within_deadline(every(&[20, 20, 20])));
    let start = Instant::now();
    let (items, stop) = short.run(all(rows)).await.unwrap();
    assert_eq!((items.len(), start.elapsed()), (2, ms(50)));
    assert_eq!(stop.unwrap().cause(), Cause::DeadlineExceeded);
}

#[tokio::test(start_paused = true)]
async fn refused_when_it_is_too_late() {
    let cx = request(50);
    let polls = Arc::new(AtomicUsize::new(0));
    let rows = cx.enter(|| within_deadline(AlwaysReady(polls.clone())));
    let short = cx.enter(|| {
        within_deadline(AlwaysReady(polls.clone())).total(Budget::inherited().min(ms(60)))
    });
    let (_, stop) = all(short).await;
    let stop = stop.unwrap();
    assert_eq!(
        (stop.cause(), stop.phase()),
        (Cause::LocalBudgetRejected, Phase::Start)
    );
    sleep(ms(50)).await;
    let (_, stop) = all(rows).await;
    assert_eq!(stop.unwrap().cause(), Cause::DeadlineExceeded);
    assert_eq!(polls.load(Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_a_stream_that_waits() {
    let cx = request(500);
    let rows = cx.enter(|| within_deadline(every(&[10])).per_item(ms(100)));
    let start = Instant::now();
    let ((items, stop), ()) = tokio::join!(all(rows), async {
        sleep(ms(30)).await;
        cx.cancel(Cause::Shutdown);
    });
    assert_eq!((items.len(), start.elapsed()), (1, ms(30)));
    let stop = stop.unwrap();
    assert_eq!((stop.cause(), stop.elapsed()), (Cause::Shutdown, ms(30)));
}

#[tokio::test(start_paused = true)]
async fn where_nothing_is_enforced_nothing_ends_it() {
    let cx = Context::builder("request")
        .budget(ms(50))
        .mode(Mode::Observe)
        .build();
    let rows = cx.enter(|| {
        within_deadline(every(&[40, 40, 40]).take(3))
            .per_item(ms(10))
            .total(ms(20))
    });
    let (items, stop) = all(rows).await;
    assert_eq!(items.len(), 3);
    assert!(stop.is_none());
}

#[tokio::test(start_paused = true)]
async fn size_hints_leave_room_for_a_stop() {
    let mut rows = within_deadline(stream::iter([1, 2, 3]));
    assert_eq!(rows.size_hint(), (1, Some(4)));
    while rows.next().await.is_some() {}
    assert_eq!(rows.size_hint(), (0, Some(0)));
    let rows = within_deadline(stream::repeat(1));
    assert_eq!(rows.size_hint(), (1, None));
    let rows = within_deadline(stream::empty::<u8>());
    assert_eq!(rows.size_hint(), (0, Some(1)));
}

#[tokio::test(start_paused = true)]
async fn dropped_at_any_poll_nothing_is_left() {
    for polls in 0..8 {
        let cx = request(1_000);
        let mut rows = Box::pin(cx.enter(|| {
            within_deadline(every(&[10, 10]))
                .per_item(ms(30))
                .total(ms(500))
        }));
        let (_, waker) = Woken::new();
        let mut task = TaskContext::from_waker(&waker);
        for _ in 0..polls {
            let _ = rows.as_mut().poll_next(&mut task);
            advance(ms(11)).await;
        }
        drop(rows);
        let left = registered(&cx);
        assert_eq!((left.children, left.waiting), (0, 0), "after {polls} polls");
    }
}

#[tokio::test(start_paused = true)]
async fn silent_from_the_start_after_the_head_or_one_byte_at_a_time_all_end_at_the_one_deadline() {
    for waits in [&[][..], &[10], &[50; 100]] {
        let cx = request(230);
        let body = cx.enter(|| within_deadline(every(waits)));
        let start = Instant::now();
        let (_, stop) = all(body).await;
        assert_eq!(start.elapsed(), ms(230));
        let stop = stop.unwrap();
        assert_eq!(
            (stop.cause(), stop.elapsed()),
            (Cause::DeadlineExceeded, ms(230))
        );
    }
}
