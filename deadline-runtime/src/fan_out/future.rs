//! [`FanOut`]: the future that polls the branches and decides when there is an answer.
//!
//! ```text
//! Created ──first poll──▶ Open ──last branch ended──▶ Over (the answer)
//!                          │
//!                          │ a required branch failed
//!                          ▼
//!                         Failing ──last branch ended──▶ Over (the error)
//! ```
//!
//! Open and Failing differ in one thing: what the branches still come to does not matter any more.

use std::future::Future;
use std::marker::PhantomData;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll, Waker};

use pin_project_lite::pin_project;

use super::branch::{Branch, Counts};
use super::errors::Failure;
use super::gathered::Gathered;
use super::lane::Step;
use super::lanes::{Each, Lanes, Parent};
use super::tuple::Branches;
use super::wake::Hub;
use crate::context::current::{self, Inherited};
use crate::context::{Context, Missing};
use crate::figure::{Budgeted, Figure};
use crate::stop::Brief;
use crate::time::Deadline;

/// How often the branches are polled in a row where the await around hands the stop out itself: a scope takes three
/// polls from its stop to its end, and each one inside it as many.
const TURNS: usize = 8;

pin_project! {
    /// The future of [`fan_out`] and [`fan_out_all`]. It yields a [`Gathered`] or the first failure of a required branch.
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct FanOut<B, L, X> {
        #[pin]
        lanes: L,
        failure: Option<X>,
        progress: Progress,
        branches: PhantomData<fn() -> B>,
    }
}

/// The fan-out of these branches. Spelled out here and not as a bound of the type, which would repeat every error about them.
type Of<B> = FanOut<B, <B as Branches>::Lanes, <<B as Branches>::Lanes as Lanes>::Fails>;

/// Everything that does not depend on the branches' types.
struct Progress {
    captured: Option<Inherited>,
    location: &'static Location<'static>,
    /// `None` before the first poll.
    run: Option<Running>,
    /// How many may be on their way at once.
    at_most: usize,
    /// How many have not ended.
    open: usize,
    /// The first one that has not begun.
    next: usize,
    /// By the branch's number.
    missing: Vec<(usize, Missing)>,
    /// The stop that the request had noted when a branch failed: the failure's own, if it was one.
    noted: Option<(Brief, Deadline)>,
    /// The stop of what is around has been seen.
    swept: bool,
}

struct Running {
    parent: Parent,
    hub: Arc<Hub>,
    wakers: Vec<Waker>,
    batch: Vec<usize>,
}

/// Runs branches of different types, given as a tuple of [`required`](super::required) and [`optional`](super::optional) ones.
///
/// The value is a [`Gathered`] tuple with one value a branch: that of a required one as it is, that of an optional one
/// as a `Result`. With no required branch the error is [`Infallible`](std::convert::Infallible), so that
/// `let Ok(page) = fan_out(…).await;` compiles. What happens when: the [table](mod@crate::fan_out#the-rules).
///
/// The context is taken here, as an annotated function takes it where it is called.
///
/// # Errors
/// The error of the required branch that failed first; a stop is converted with `From<Stopped>`.
///
/// ```
/// use deadline_runtime::fan_out::{fan_out, optional, required};
/// use deadline_runtime::{Cause, Stopped};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let page = fan_out((
///     required("profile", async { Ok::<_, Stopped>("Ada") }),
///     optional("ads", async { Err::<u32, _>("no ads today") }),
/// ))
/// .await
/// .unwrap();
/// let (profile, ads) = &page.values;
/// assert_eq!(*profile, "Ada");
/// assert_eq!(ads.as_ref().unwrap_err().error(), Some(&"no ads today"));
/// assert!(!page.is_complete());
/// assert_eq!(page.missing()[0].operation(), "ads");
/// assert_eq!(page.missing()[0].cause(), Cause::DependencyFailed);
/// # }
/// ```
#[track_caller]
pub fn fan_out<B: Branches>(branches: B) -> Of<B> {
    Of::of(branches, Location::caller())
}

/// Runs branches of one type, as many as there are: the same call to ten services.
///
/// The values come in the order of the branches. Where some are required and others are not, make them with
/// [`branch`](super::branch). No branch at all is a complete answer.
///
/// # Errors
/// As [`fan_out`].
///
/// ```
/// use deadline_runtime::fan_out::{Need, branch, fan_out_all};
/// use deadline_runtime::{Stopped, deadline};
///
/// #[deadline(budget = "200ms")]
/// async fn ask(service: &str) -> Result<usize, Stopped> {
///     Ok(service.len())
/// }
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Stopped> {
/// let services = [("stock", Need::Required), ("reviews", Need::Optional)];
/// let page = fan_out_all(services.map(|(name, need)| branch(name, need, ask(name))))
///     .at_most(4)
///     .await?;
/// let lengths: Vec<_> = page.values.into_iter().flatten().collect();
/// assert_eq!(lengths, [5, 7]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn fan_out_all<F, N, C>(
    branches: impl IntoIterator<Item = Branch<F, N, C>>,
) -> Of<Each<F, N, C>>
where
    Each<F, N, C>: Branches,
{
    let branches = branches.into_iter().collect();
    Of::of(Each(branches), Location::caller())
}

impl<B: Branches> Of<B> {
    fn of(branches: B, location: &'static Location<'static>) -> Self {
        let lanes = branches.into_lanes();
        let open = lanes.count();
        Self {
            lanes,
            failure: None,
            progress: Progress {
                captured: current::inherit(),
                location,
                run: None,
                at_most: open.max(1),
                open,
                next: 0,
                missing: Vec::new(),
                noted: None,
                swept: false,
            },
            branches: PhantomData,
        }
    }
}

impl<B, L, X> FanOut<B, L, X> {
    /// How many branches may be on their way at once; zero counts as one. Further ones begin, in order, when one has
    /// ended, and their cut-offs count from there. The default is all of them.
    pub fn at_most(mut self, branches: usize) -> Self {
        self.progress.at_most = branches.max(1);
        self
    }
}

impl<B: Branches> Future for Of<B> {
    type Output = Result<Gathered<B::Values>, <<B::Lanes as Lanes>::Fails as Failure>::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let progress = this.progress;
        progress.begin(this.lanes.count());
        let mut turns = progress.listen(cx.waker());
        while turns > 0 {
            turns -= 1;
            let mut batch = progress.batch();
            if batch.is_empty() {
                progress.give_back(batch);
                break;
            }
            // It grows while it is worked off: an ended branch lets the next one begin.
            let mut at = 0;
            while let Some(index) = batch.get(at).copied() {
                at += 1;
                let moot = this.failure.is_some();
                let Some(step) = progress.poll(index, moot, this.lanes.as_mut()) else {
                    continue;
                };
                progress.open -= 1;
                match step {
                    Step::Value => {}
                    Step::Missed(missing) => progress.missing.push((index, missing)),
                    Step::Failed(_) if moot => {}
                    Step::Failed(failure) => {
                        *this.failure = Some(failure);
                        progress.fail(this.lanes.as_mut(), index);
                    }
                }
                batch.extend(progress.start_next());
            }
            batch.clear();
            progress.give_back(batch);
        }
        if progress.open > 0 {
            return Poll::Pending;
        }
        if let Some(failure) = this.failure.take() {
            progress.renote();
            return Poll::Ready(Err(failure.into_error()));
        }
        // `None` when it was polled after its end: nothing will ever come.
        match this.lanes.take() {
            Some(values) => {
                let mut missing = std::mem::take(&mut progress.missing);
                missing.sort_unstable_by_key(|(index, _)| *index);
                let missing = missing.into_iter().map(|(_, missing)| missing);
                let missing = missing.collect();
                Poll::Ready(Ok(Gathered::new(B::values(values), missing)))
            }
            None => Poll::Pending,
        }
    }
}

impl<B: Counts<Figure: Figure>, L, X> Budgeted for FanOut<B, L, X> {
    type Budget = B::Figure;
}

impl Progress {
    /// Finds out, once, what the branches begin under, and lets the first ones begin.
    fn begin(&mut self, branches: usize) {
        if self.run.is_some() {
            return;
        }
        let parent = self.parent();
        let hub = Hub::new(branches);
        let wakers = (0..branches).map(|index| hub.waker(index)).collect();
        let first = branches.min(self.at_most);
        for index in 0..first {
            hub.queue(index);
        }
        self.next = first;
        self.run = Some(Running {
            parent: Parent(parent),
            hub,
            wakers,
            batch: Vec::with_capacity(branches),
        });
    }

    /// Without any context the branches are one request all the same.
    fn parent(&mut self) -> Inherited {
        current::captured_or_polling(self.captured.take())
            .unwrap_or_else(|| Context::of_nothing("fan_out", self.location))
    }

    /// Wakes `outer` from here on. Returned is how often the queue is to be worked off.
    fn listen(&mut self, outer: &Waker) -> usize {
        let Some(run) = &self.run else { return 0 };
        run.hub.listen(outer);
        if self.swept {
            return 1;
        }
        let stopped = current::with(|frame| {
            let stopped = frame.stopped(Deadline::now).is_some();
            stopped.then(|| frame.operation().budget.cleanup.is_zero())
        });
        let Some(waits) = stopped.flatten() else {
            return 1;
        };
        // What is around is stopped. Every branch is shown that, whether its timer has fired by now or not.
        self.swept = true;
        self.next = run.wakers.len();
        for index in 0..run.wakers.len() {
            run.hub.queue(index);
        }
        if waits { 1 } else { TURNS }
    }

    fn batch(&mut self) -> Vec<usize> {
        let Some(run) = &mut self.run else {
            return Vec::new();
        };
        let mut batch = std::mem::take(&mut run.batch);
        run.hub.take(&mut batch);
        // Of branches that are woken together the one written first is the first.
        batch.sort_unstable();
        batch
    }

    fn give_back(&mut self, batch: Vec<usize>) {
        if let Some(run) = &mut self.run {
            run.batch = batch;
        }
    }

    /// `None` if it is pending, or over.
    fn poll<L: Lanes>(
        &self,
        index: usize,
        moot: bool,
        lanes: Pin<&mut L>,
    ) -> Option<Step<L::Fails>> {
        let run = self.run.as_ref()?;
        run.hub.begin(index);
        let mut cx = task::Context::from_waker(run.wakers.get(index)?);
        match lanes.poll_one(index, &mut cx, &run.parent, moot) {
            Poll::Ready(step) => Some(step),
            Poll::Pending => None,
        }
    }

    /// The next one that has not begun, if there is any.
    fn start_next(&mut self) -> Option<usize> {
        let run = self.run.as_ref()?;
        let next = self.next;
        (next < run.wakers.len()).then(|| {
            self.next += 1;
            next
        })
    }

    /// Stops all but the one that has failed.
    fn fail<L: Lanes>(&mut self, mut lanes: Pin<&mut L>, failed: usize) {
        let Some(run) = &self.run else { return };
        self.noted = run.parent.0.node.noted_stop();
        self.next = run.wakers.len();
        self.open = 0;
        for index in (0..run.wakers.len()).filter(|index| *index != failed) {
            if lanes.as_mut().stop_one(index) {
                self.open += 1;
                run.hub.queue(index);
            }
        }
    }

    /// The stops of the others are this failure's doing: what the request remembers is the failure's own.
    fn renote(&self) {
        if let Some(run) = &self.run {
            run.parent.0.node.renote(self.noted);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::time::Duration;

    use super::*;
    use crate::context::node::Node;
    use crate::fan_out::{optional, required};
    use crate::{Budget, Cause, Stopped};

    fn limited(millis: u64) -> crate::Run<std::future::Pending<()>> {
        crate::timeout(Duration::from_millis(millis), pending())
    }

    /// What a boundary answers with is the failure itself, not what it did to the others.
    #[tokio::test(start_paused = true)]
    async fn the_request_keeps_the_failures_own_stop() {
        let cx = Context::root("request", Budget::new(Duration::from_secs(1)));
        let failed = cx.run(async {
            fan_out((
                required("slow", limited(500)),
                required("quick", limited(40)),
                optional("also", limited(500)),
            ))
            .await
        });
        let failed: Result<_, Stopped> = failed.await.unwrap();
        assert_eq!(failed.unwrap_err().cause(), Cause::DependencyTimeout);
        let noted = cx.node().and_then(Node::noted_stop);
        let noted = noted.map(|(stop, _)| (stop.operation, stop.cause, stop.elapsed));
        let own = (
            "timeout",
            Cause::DependencyTimeout,
            Duration::from_millis(40),
        );
        assert_eq!(noted, Some(own));
    }

    /// A branch that an answer can do without leaves the earlier stop in its place, and none of its own.
    #[tokio::test(start_paused = true)]
    async fn a_miss_leaves_what_was_noted_before() {
        let cx = Context::root("request", Budget::new(Duration::from_secs(1)));
        for swallowed in [0, 20] {
            let page = cx.run(async {
                if swallowed > 0 {
                    let _ = limited(swallowed).await;
                }
                fan_out((
                    optional("late", limited(40)),
                    optional("broken", async { Err::<(), _>("broken") }),
                ))
                .await
            });
            let Ok(page) = page.await.unwrap();
            let causes: Vec<_> = page.missing().iter().map(Missing::cause).collect();
            assert_eq!(causes, [Cause::DependencyTimeout, Cause::DependencyFailed]);
            let noted = cx.node().and_then(Node::noted_stop);
            let elapsed = noted.map(|(stop, _)| stop.elapsed.as_millis());
            assert_eq!(elapsed, (swallowed > 0).then_some(20));
        }
    }
}
