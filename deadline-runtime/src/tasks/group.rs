//! [`Group`]: tasks that do not outlive the place where they were spawned.

use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{self, Poll};
use std::time::Duration;

use tokio::runtime::Handle;

use super::crew::{Crew, Joined};
use super::error::{Panicked, Payload, TaskError};
use super::places::{Entry, Place, Places};
use super::reaper;
use super::work::{End, Outcome, Work};
use crate::context::Context;
use crate::context::node::Node;
use crate::scope::{Attended, Timer};
use crate::stop::{Cause, Phase, Stopped};
use crate::time::{Budget, Short};

/// Tasks that belong together and to the place where they were spawned.
///
/// Each is a scope below the group's context: it has the deadline of the context that the group was made in, and a cancel
/// of that reaches it. [`close`](Self::close) ends them all: they are cancelled, joined within the
/// [grace](Self::grace), then aborted and joined again, and what even then does not let go of its thread is counted as an
/// orphan. It never waits without bound.
///
/// Dropping a group, at any point, ends its tasks in the same way, only that nobody waits here: a task of its own does
/// that, and the scope around the group waits for it when it ends itself.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::{Budget, Context, Group};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let request = Context::root("request", Budget::new(Duration::from_secs(1)));
/// let mut group = Group::below(&request);
/// for shard in 0..3 {
///     group.spawn(move |_cx| async move {
///         tokio::time::sleep(Duration::from_millis(10 * shard)).await;
///         shard
///     });
/// }
/// let mut sum = 0;
/// while let Some(found) = group.join_next().await {
///     sum += found.unwrap_or(0);
/// }
/// assert_eq!(sum, 3);
///
/// group.spawn(|_cx| std::future::pending());
/// let closed = group.close().await;
/// assert_eq!((closed.finished, closed.stopped, closed.orphans), (3, 1, 0));
/// # }
/// ```
#[must_use = "a group that is dropped ends its tasks"]
pub struct Group<T = ()> {
    context: Context,
    /// `None` when it has been handed to somebody else.
    crew: Option<Crew>,
    results: Arc<Results<T>>,
    places: Option<Places>,
}

/// What tasks have delivered and nobody has fetched.
struct Results<T>(Mutex<VecDeque<Result<T, TaskError>>>);

impl<T> Results<T> {
    fn queue(&self) -> MutexGuard<'_, VecDeque<Result<T, TaskError>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Group<T> {
    /// A group in the running scope. Outside any its tasks have no deadline but the budgets they are given.
    #[track_caller]
    pub fn new() -> Self {
        Self::below(&Context::current())
    }

    /// A group below `context`.
    #[track_caller]
    pub fn below(context: &Context) -> Self {
        let location = Location::caller();
        let hard = context.node().and_then(|node| node.limits.hard);
        let (context, node) = context.below_at("group", Budget::inherited(), location);
        let mut crew = Crew::new(hard, node.grace());
        crew.watch(&node);
        Self {
            crew: Some(crew),
            context,
            results: Arc::new(Results(Mutex::default())),
            places: None,
        }
    }

    /// How long tasks may tidy up when they are ended, counted from the cancel; it ends with the deadline of the scope
    /// around the group at the latest, and with the grace of a group around it that is being closed. By default that
    /// of the request, see [`RootBuilder::grace`](crate::RootBuilder::grace).
    pub fn grace(mut self, grace: Duration) -> Self {
        if let Some(crew) = &mut self.crew {
            crew.set_grace(grace);
        }
        self
    }

    /// At most so many tasks run at once; others wait for their turn, in the order in which they were spawned. None
    /// counts as one.
    ///
    /// The place belongs to the task, not to whoever waits for it: a task that cannot be stopped keeps it until it has
    /// ended. Waiting for it is part of a task's budget, and a task that is stopped meanwhile never begins (its stop is
    /// in [`Phase::Queue`]).
    ///
    /// At most 1,024 tasks wait, or as many as [`queue`](Self::queue) says; [`reserve`](Self::reserve) waits for a place before the
    /// task is made.
    pub fn limit(mut self, tasks: usize) -> Self {
        let queue = self.places.as_ref().map(Places::queue);
        self.places = Some(Places::new(tasks, queue));
        self
    }

    /// At most so many tasks wait for their turn; zero is none. Without a [`limit`](Self::limit) none has to.
    ///
    /// One more is refused: its work is never called, and [`join_next`](Self::join_next) yields a stop with `overload` in
    /// [`Phase::Queue`] for it.
    pub fn queue(mut self, tasks: usize) -> Self {
        let limit = self.places.as_ref().map(Places::limit);
        self.places = Some(Places::new(limit.unwrap_or(usize::MAX), Some(tasks)));
        self
    }

    /// The context that the tasks inherit from.
    #[must_use]
    pub const fn context(&self) -> &Context {
        &self.context
    }

    /// Cancels every task, and what is spawned later before it begins; false if they were cancelled before.
    #[allow(clippy::must_use_candidate, reason = "mostly called for its effect")]
    pub fn cancel(&self, cause: Cause) -> bool {
        self.context.cancel(cause)
    }

    /// Tasks that have not been joined.
    #[must_use]
    pub fn len(&self) -> usize {
        self.crew.as_ref().map_or(0, Crew::len)
    }

    /// Whether every task has been joined.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Tasks that have not ended, joined or not.
    #[must_use]
    pub fn running(&self) -> usize {
        self.crew.as_ref().map_or(0, Crew::running)
    }

    /// The next task that has ended, in the order in which they end; `None` when there is none left.
    ///
    /// Cancel-safe: a call that is dropped loses nothing.
    ///
    /// # Errors
    /// [`TaskError`] for a task that was stopped or has panicked; the others go on.
    pub async fn join_next(&mut self) -> Option<Result<T, TaskError>> {
        poll_fn(|cx| self.poll_join_next(cx)).await
    }

    /// As [`join_next`](Self::join_next), for futures written by hand.
    pub fn poll_join_next(
        &mut self,
        cx: &mut task::Context<'_>,
    ) -> Poll<Option<Result<T, TaskError>>> {
        let Some(crew) = &mut self.crew else {
            return Poll::Ready(None);
        };
        crew.poll_join(cx)
            .map(|joined| joined.map(|joined| self.outcome(joined)))
    }

    /// The next task that has ended by now; `None` when there is none, whether others still run or not.
    pub fn try_join_next(&mut self) -> Option<Result<T, TaskError>> {
        let joined = self.crew.as_mut()?.try_join()?;
        Some(self.outcome(joined))
    }

    fn outcome(&self, joined: Joined) -> Result<T, TaskError> {
        let delivered = match joined {
            Joined::Delivered => self.results.queue().pop_front(),
            Joined::Aborted => None,
            Joined::Broken(payload) => {
                Some(Err(TaskError::Panicked(Panicked::new("task", payload))))
            }
        };
        delivered.unwrap_or_else(|| Err(TaskError::Stopped(self.context.stop_error(Phase::Wait))))
    }

    /// Ends every task and says what became of them: cancels (with `user_cancelled`, unless they were
    /// [cancelled](Self::cancel) for another reason before), waits until they have ended or the grace is over, aborts, waits
    /// until the aborted ones have let go or 5 ms are over.
    ///
    /// Dropping the returned future is dropping the group: the rest of the grace holds all the same.
    ///
    /// # Panics
    /// With the panic of a task, after all others have been joined, if it was not fetched by
    /// [`join_next`](Self::join_next).
    pub async fn close(mut self) -> Closed {
        if let Some(crew) = &mut self.crew {
            crew.close(Cause::UserCancelled);
        }
        let mut timer = pin!(Timer::default());
        let closed = poll_fn(|cx| {
            let Some(crew) = &mut self.crew else {
                return Poll::Ready(Closed::default());
            };
            if crew.poll_close(cx).is_ready() {
                return Poll::Ready(Closed::of(crew));
            }
            timer.as_mut().wait(crew.due(), cx);
            Poll::Pending
        })
        .await;
        if let Some(payload) = self.take_panic() {
            std::panic::resume_unwind(payload);
        }
        closed
    }

    /// Waits until every task has ended by itself, and says what became of them: as [`close`](Self::close) without the cancel.
    ///
    /// It waits no longer than the group's context allows: at its deadline, or when it is cancelled, the tasks are ended
    /// as `close` does it. Outside any deadline only the budgets that tasks were given bound it. What tasks return is
    /// dropped; fetch what matters with [`join_next`](Self::join_next) before.
    ///
    /// Dropping the returned future is dropping the group.
    ///
    /// ```
    /// use std::time::Duration;
    /// use deadline_runtime::{Budget, Context, Group};
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let request = Context::root("request", Budget::new(Duration::from_secs(1)));
    /// let mut group = Group::below(&request);
    /// group.spawn(|_cx| tokio::time::sleep(Duration::from_millis(300)));
    /// group.spawn(|_cx| tokio::time::sleep(Duration::from_secs(5)));
    /// let finished = group.finish().await;
    /// assert_eq!((finished.finished, finished.stopped), (1, 1));
    /// assert_eq!(request.remaining(), Some(Duration::ZERO));
    /// # }
    /// ```
    ///
    /// # Panics
    /// With the panic of a task, after all others have been joined, if it was not fetched by
    /// [`join_next`](Self::join_next).
    pub async fn finish(mut self) -> Closed {
        let mut stopped = pin!(self.context.cancelled());
        poll_fn(|cx| {
            let over = |crew: &mut Crew| crew.poll_close(cx).is_ready();
            if self.crew.as_mut().is_none_or(over) {
                return Poll::Ready(());
            }
            stopped.as_mut().poll(cx).map(drop)
        })
        .await;
        self.close().await
    }

    /// The first panic that nobody has fetched.
    fn take_panic(&mut self) -> Option<Payload> {
        let own = self.crew.as_mut().and_then(Crew::take_panic);
        own.or_else(|| {
            let delivered = std::mem::take(&mut *self.results.queue());
            delivered.into_iter().find_map(|result| match result {
                Err(TaskError::Panicked(panicked)) => Some(panicked.into_payload()),
                _ => None,
            })
        })
    }
}

impl<T: Send + 'static> Group<T> {
    /// Spawns a task. It ends with the group's deadline at the latest.
    ///
    /// The closure is called at once, inside the task's context, and what it returns is run in a task; arguments of a
    /// plain call would be evaluated outside and capture the caller's context instead. The task's context is returned, to
    /// cancel this one alone.
    ///
    /// # Panics
    /// Outside a tokio runtime, as [`tokio::spawn`] does.
    #[track_caller]
    pub fn spawn<F>(&mut self, work: impl FnOnce(Context) -> F) -> Context
    where
        F: Future<Output = T> + Send + 'static,
    {
        self.spawn_at(Budget::inherited(), Location::caller(), work)
    }

    /// As [`spawn`](Self::spawn), with a budget of the task's own, whose clock starts now. With a
    /// [cleanup](Budget::cleanup) the task goes on after a stop for that long, to tidy up.
    ///
    /// # Panics
    /// Outside a tokio runtime, as [`tokio::spawn`] does.
    #[track_caller]
    pub fn spawn_within<F>(
        &mut self,
        budget: impl Into<Budget>,
        work: impl FnOnce(Context) -> F,
    ) -> Context
    where
        F: Future<Output = T> + Send + 'static,
    {
        self.spawn_at(budget.into(), Location::caller(), work)
    }

    /// Waits until a task could begin at once, and keeps the place for it: for more work than should wait in memory.
    ///
    /// Tasks that were spawned before have their turn first. Without a [`limit`](Self::limit) there is always a place.
    /// Cancel-safe: a call that is dropped gives its place in the line away and nothing else.
    ///
    /// ```
    /// use std::time::Duration;
    /// use deadline_runtime::{Budget, Context, Group, Stopped};
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Stopped> {
    /// let request = Context::root("import", Budget::new(Duration::from_secs(60)));
    /// let mut group = Group::below(&request).limit(8);
    /// for row in 0..100_u32 {
    ///     // Never more than eight in memory.
    ///     group.reserve().await?.spawn(move |_cx| async move {
    ///         tokio::time::sleep(Duration::from_millis(10)).await;
    ///         row
    ///     });
    ///     while let Some(done) = group.try_join_next() {
    ///         drop(done);
    ///     }
    /// }
    /// assert_eq!(group.finish().await.finished, 100);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Stopped`] in [`Phase::Queue`] when the group's context is stopped before a place is free.
    pub async fn reserve(&mut self) -> Result<Reserved<'_, T>, Stopped> {
        let place = match &self.places {
            Some(places) => places.turn(&self.context).await?,
            None => Place::unlimited(),
        };
        // A place that becomes free because everything is stopped is of no use.
        match self.context.cause() {
            Some(_) => Err(self.context.stop_error(Phase::Queue)),
            None => Ok(Reserved { group: self, place }),
        }
    }

    fn spawn_at<F>(
        &mut self,
        budget: Budget,
        location: &'static Location<'static>,
        work: impl FnOnce(Context) -> F,
    ) -> Context
    where
        F: Future<Output = T> + Send + 'static,
    {
        let (context, node) = self.context.below_at("task", budget, location);
        let entry = match &self.places {
            Some(places) => places.enter(&context),
            None => Entry::Now(Place::unlimited()),
        };
        self.start(context, &node, entry, work)
    }

    fn start<F>(
        &mut self,
        context: Context,
        node: &Arc<Node>,
        entry: Entry,
        work: impl FnOnce(Context) -> F,
    ) -> Context
    where
        F: Future<Output = T> + Send + 'static,
    {
        let results = self.results.clone();
        let Some(crew) = &mut self.crew else {
            return context;
        };
        let run = match &entry {
            Entry::Refused(_) => None,
            _ => Some(Attended::new(
                node.clone(),
                context.enter(|| work(context.clone())),
            )),
        };
        let operation = node.operation.name;
        let work = Work::new(run, entry, crew.enter(node), move |outcome| {
            let (result, end) = match outcome {
                Outcome::Value(value) => (Ok(value), End::Finished),
                Outcome::Stopped(stopped) => (Err(TaskError::Stopped(stopped)), End::Stopped),
                Outcome::Panicked(payload) => {
                    let panicked = Panicked::new(operation, payload);
                    (Err(TaskError::Panicked(panicked)), End::Panicked(None))
                }
            };
            results.queue().push_back(result);
            end
        });
        crew.spawn(&Handle::current(), work);
        context
    }
}

/// A place in a group that is kept for a task; see [`Group::reserve`]. Dropped, it is free again.
#[must_use = "a place that is dropped is given back"]
pub struct Reserved<'g, T> {
    group: &'g mut Group<T>,
    place: Place,
}

impl<T: Send + 'static> Reserved<'_, T> {
    /// As [`Group::spawn`], in this place.
    ///
    /// # Panics
    /// Outside a tokio runtime, as [`tokio::spawn`] does.
    #[track_caller]
    pub fn spawn<F>(self, work: impl FnOnce(Context) -> F) -> Context
    where
        F: Future<Output = T> + Send + 'static,
    {
        self.spawn_at(Budget::inherited(), Location::caller(), work)
    }

    /// As [`Group::spawn_within`], in this place.
    ///
    /// # Panics
    /// Outside a tokio runtime, as [`tokio::spawn`] does.
    #[track_caller]
    pub fn spawn_within<F>(
        self,
        budget: impl Into<Budget>,
        work: impl FnOnce(Context) -> F,
    ) -> Context
    where
        F: Future<Output = T> + Send + 'static,
    {
        self.spawn_at(budget.into(), Location::caller(), work)
    }

    fn spawn_at<F>(
        self,
        budget: Budget,
        location: &'static Location<'static>,
        work: impl FnOnce(Context) -> F,
    ) -> Context
    where
        F: Future<Output = T> + Send + 'static,
    {
        let (context, node) = self.group.context.below_at("task", budget, location);
        self.group
            .start(context, &node, Entry::Now(self.place), work)
    }
}

impl<T> fmt::Debug for Reserved<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reserved").finish_non_exhaustive()
    }
}

impl<T> Default for Group<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Drop for Group<T> {
    fn drop(&mut self) {
        if let Some(crew) = self.crew.take() {
            reaper::hand_over(crew, reaper::cause(), self.context.node());
        }
    }
}

impl<T> fmt::Debug for Group<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group")
            .field("context", &self.context)
            .field("len", &self.len())
            .field("running", &self.running())
            .finish_non_exhaustive()
    }
}

/// What became of a group's tasks, from the first to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Closed {
    /// Ended with a value.
    pub finished: usize,
    /// Refused, or ended by their own stop.
    pub stopped: usize,
    /// Panicked.
    pub panicked: usize,
    /// Had not ended when the grace was over, and were dropped.
    pub aborted: usize,
    /// Never gave their thread away: they still run.
    pub orphans: usize,
    /// From the cancel until the last one had ended or was given up.
    pub stop_lag: Duration,
}

impl Closed {
    fn of(crew: &Crew) -> Self {
        let tally = crew.tally();
        Self {
            finished: tally.finished,
            stopped: tally.stopped,
            panicked: tally.panicked,
            aborted: tally.aborted,
            orphans: tally.orphans,
            stop_lag: crew.lag(),
        }
    }

    /// Whether nothing is left running.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.orphans == 0
    }
}

/// `closed in 3ms: 4 finished, 2 stopped`
impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "closed in {}: {} finished",
            Short(self.stop_lag),
            self.finished
        )?;
        for (count, word) in [
            (self.stopped, "stopped"),
            (self.panicked, "panicked"),
            (self.aborted, "aborted"),
            (self.orphans, "still running"),
        ] {
            if count > 0 {
                write!(f, ", {count} {word}")?;
            }
        }
        Ok(())
    }
}
