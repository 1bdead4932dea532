//! [`Faults`]: which call gets which fault.

use std::collections::VecDeque;
use std::future::IntoFuture;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::future::Faulty;
use super::kind::Fault;

/// A plan of faults for the calls of one dependency. Every clone is the same plan.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::test_util::{Fault, Faults};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let database = Faults::script([Fault::Pass, Fault::Error]).then(Fault::Pass);
/// let query = || database.around(async { Ok::<_, std::io::Error>(7) });
/// assert_eq!(query().await.unwrap(), 7);
/// assert!(query().await.is_err());
/// assert_eq!(query().await.unwrap(), 7);
/// assert_eq!((database.injected().calls, database.injected().errors), (3, 1));
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Faults(Arc<Mutex<Plan>>);

#[derive(Debug)]
struct Plan {
    script: VecDeque<Fault>,
    then: Then,
    injected: InjectedCounts,
}

#[derive(Debug)]
enum Then {
    One(Fault),
    /// A mix with weights, and the state of the generator.
    Random(Vec<(u32, Fault)>, u64),
}

/// How many calls have begun, and what was done to them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InjectedCounts {
    /// All of them.
    pub calls: usize,
    /// By [`Fault::Pass`].
    pub passed: usize,
    /// By [`Fault::Delay`].
    pub delayed: usize,
    /// By [`Fault::Hang`].
    pub hung: usize,
    /// By [`Fault::Error`].
    pub errors: usize,
    /// By [`Fault::Disconnect`].
    pub disconnected: usize,
    /// By [`Fault::Spin`].
    pub spun: usize,
    /// By [`Fault::Block`].
    pub blocked: usize,
}

impl Faults {
    /// The first call gets the first fault, and so on; those after the last one pass.
    pub fn script(faults: impl IntoIterator<Item = Fault>) -> Self {
        Self::of(faults.into_iter().collect(), Then::One(Fault::Pass))
    }

    /// Every call gets one of these at random, each as often as its weight says. The same seed gives the same faults in the
    /// same order. An empty mix, or one whose weights are all zero, passes.
    pub fn random(seed: u64, mix: impl IntoIterator<Item = (u32, Fault)>) -> Self {
        let mix = mix.into_iter().collect();
        Self::of(VecDeque::new(), Then::Random(mix, seed))
    }

    fn of(script: VecDeque<Fault>, then: Then) -> Self {
        Self(Arc::new(Mutex::new(Plan {
            script,
            then,
            injected: InjectedCounts::default(),
        })))
    }

    /// What calls get after the script instead of passing; of a random plan, from here on.
    #[must_use]
    pub fn then(self, fault: Fault) -> Self {
        self.plan().then = Then::One(fault);
        self
    }

    /// The call with the next fault of the plan, which is drawn when it is first polled.
    pub fn around<F: IntoFuture>(&self, future: F) -> Faulty<F::IntoFuture> {
        Faulty::new(self.clone(), future.into_future())
    }

    /// What has been injected so far.
    #[must_use]
    pub fn injected(&self) -> InjectedCounts {
        self.plan().injected
    }

    /// Draws the next fault and counts it.
    pub(super) fn draw(&self) -> Fault {
        let plan = &mut *self.plan();
        let fault = plan.script.pop_front().unwrap_or_else(|| plan.then.draw());
        plan.injected.calls += 1;
        *match fault {
            Fault::Pass => &mut plan.injected.passed,
            Fault::Delay(_) => &mut plan.injected.delayed,
            Fault::Hang => &mut plan.injected.hung,
            Fault::Error => &mut plan.injected.errors,
            Fault::Disconnect => &mut plan.injected.disconnected,
            Fault::Spin => &mut plan.injected.spun,
            Fault::Block(_) => &mut plan.injected.blocked,
        } += 1;
        fault
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Then {
    fn draw(&mut self) -> Fault {
        match self {
            Self::One(fault) => *fault,
            Self::Random(mix, state) => {
                let total: u64 = mix.iter().map(|(weight, _)| u64::from(*weight)).sum();
                let Some(mut at) = next(state).checked_rem(total) else {
                    return Fault::Pass;
                };
                for (weight, fault) in mix {
                    match at.checked_sub(u64::from(*weight)) {
                        Some(rest) => at = rest,
                        None => return *fault,
                    }
                }
                Fault::Pass
            }
        }
    }
}

/// `SplitMix64`: small, and the same everywhere.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
