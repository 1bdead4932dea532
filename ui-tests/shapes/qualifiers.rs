//! What may stand before `fn`: visibility, `unsafe`, attributes.
use crate::support::{Failure, later, run, tick};
use deadline_runtime::deadline;

mod inner {
    use crate::support::{Failure, later};
    use deadline_runtime::deadline;

    // shape: qualifier_pub — `pub`
    #[deadline(budget = "1s")]
    pub async fn public() -> Result<u32, Failure> {
        Ok(later(1).await)
    }

    // shape: qualifier_pub_super — `pub(super)`
    #[deadline(budget = "1s")]
    pub(super) async fn restricted() -> Result<u32, Failure> {
        Ok(later(2).await)
    }

    // shape: qualifier_pub_in — `pub(in path)`
    #[deadline(budget = "1s")]
    pub(in crate::qualifiers) async fn in_path() -> Result<u32, Failure> {
        Ok(later(3).await)
    }

    pub struct Open;

    impl Open {
        // shape: qualifier_pub_method — a public method
        #[deadline(budget = "1s")]
        #[allow(clippy::unused_self)]
        pub async fn method(&self) -> Result<u32, Failure> {
            Ok(later(4).await)
        }
    }
}

// shape: qualifier_pub_crate — `pub(crate)`
#[deadline(budget = "1s")]
#[allow(clippy::redundant_pub_crate)]
pub(crate) async fn in_crate() -> Result<u32, Failure> {
    Ok(later(1).await)
}

/// Doubles.
///
/// # Safety
/// None needed.
// shape: qualifier_unsafe — `async unsafe fn` stays unsafe to call
#[deadline(budget = "1s")]
async unsafe fn dangerous(n: u32) -> Result<u32, Failure> {
    tick().await;
    Ok(n * 2)
}

struct Raw(*const u32);

impl Raw {
    /// Reads.
    ///
    /// # Safety
    /// The pointer is valid.
    // shape: qualifier_unsafe_method — an unsafe method with an unsafe block of its own
    #[deadline(budget = "1s")]
    #[allow(clippy::future_not_send)]
    async unsafe fn read(&self) -> Result<u32, Failure> {
        tick().await;
        // SAFETY: the caller says so.
        Ok(unsafe { *self.0 })
    }
}

// shape: qualifier_must_use — `#[must_use]` on the function
#[deadline(budget = "1s", fallback = panic!("stopped"))]
#[must_use]
async fn must_use() -> u32 {
    later(1).await
}

// shape: qualifier_must_use_reason — with a reason
#[deadline(budget = "1s", fallback = panic!("stopped"))]
#[must_use = "it is the answer"]
async fn must_use_reason() -> u32 {
    later(1).await
}

// shape: qualifier_inline — `#[inline]`
#[deadline(budget = "1s")]
#[inline]
async fn inlined() -> Result<u32, Failure> {
    Ok(later(1).await)
}

// shape: qualifier_inline_always — `#[inline(always)]`
#[deadline(budget = "1s")]
#[allow(clippy::inline_always)]
#[inline(always)]
async fn inlined_always() -> Result<u32, Failure> {
    Ok(later(1).await)
}

// shape: qualifier_cold — `#[cold]` and `#[inline(never)]`
#[deadline(budget = "1s")]
#[cold]
#[inline(never)]
async fn cold() -> Result<u32, Failure> {
    Ok(later(1).await)
}

// shape: qualifier_deprecated — `#[deprecated]` warns callers and only them
#[deadline(budget = "1s")]
#[deprecated(since = "0.1.0", note = "use the other")]
async fn deprecated() -> Result<u32, Failure> {
    Ok(later(1).await)
}

// shape: qualifier_cfg_attr — `cfg_attr` that turns into an attribute
#[deadline(budget = "1s")]
#[cfg_attr(not(any()), must_use = "by cfg_attr", allow(unused_variables))]
async fn cfg_attr() -> Result<u32, Failure> {
    let unused = 1;
    Ok(later(1).await)
}

// shape: qualifier_cfg_attr_ours — our attribute inside of `cfg_attr`
#[cfg_attr(not(any()), deadline(budget = "1s"))]
async fn cfg_attr_ours() -> Result<u32, Failure> {
    Ok(later(1).await)
}

// shape: qualifier_cfg_on — `#[cfg]` that keeps the function, below us
#[deadline(budget = "1s")]
#[cfg(not(any()))]
async fn cfg_on() -> Result<u32, Failure> {
    Ok(later(1).await)
}

// shape: qualifier_cfg_off — `#[cfg]` that removes it together with types that do not exist
#[deadline(budget = "1s")]
#[cfg(any())]
async fn cfg_off(missing: Missing) -> Result<Missing, Failure> {
    missing.call().await
}

// shape: qualifier_cfg_twins — two versions of one function under opposite conditions
#[cfg(any())]
#[deadline(budget = "1s")]
async fn twins() -> Result<Missing, Failure> {
    missing().await
}
#[cfg(not(any()))]
#[deadline(budget = "1s")]
async fn twins() -> Result<u32, Failure> {
    Ok(later(1).await)
}

/// Documented above.
// shape: qualifier_docs — doc comments on both sides of the attribute, with parameters' lints
#[deadline(budget = "1s")]
/// And below.
#[doc = "And as an attribute."]
async fn documented() -> Result<u32, Failure> {
    Ok(later(1).await)
}

// shape: qualifier_path — the attribute named by its full path
#[deadline_runtime::deadline(budget = "1s")]
async fn by_path() -> Result<u32, Failure> {
    Ok(later(1).await)
}

// shape: qualifier_absolute_path — and by an absolute one
#[::deadline_runtime::deadline(budget = "1s")]
async fn by_absolute_path() -> Result<u32, Failure> {
    Ok(later(1).await)
}

use deadline_runtime::deadline as limited;

// shape: qualifier_renamed — the attribute imported under another name
#[limited(budget = "1s")]
async fn renamed() -> Result<u32, Failure> {
    Ok(later(1).await)
}

// shape: qualifier_no_arguments — `#[deadline]` alone
#[deadline]
async fn no_arguments() -> Result<u32, Failure> {
    Ok(later(1).await)
}

// shape: qualifier_empty_arguments — `#[deadline()]`
#[deadline()]
async fn empty_arguments() -> Result<u32, Failure> {
    Ok(later(1).await)
}

// shape: qualifier_all_arguments — many arguments with a trailing comma over several lines
#[deadline(
    budget = "1s 500ms",
    reserve = "100ms",
    min = "20ms",
    plan = "50ms",
    cleanup = "50ms",
    name = "everything"
)]
async fn all_arguments() -> Result<u32, Failure> {
    for n in 0..2 {
        if later(n).await == 5 {
            return Ok(n);
        }
    }
    Ok(later(1).await)
}

mod budgets {
    pub const FAST: std::time::Duration = std::time::Duration::from_millis(500);
}

// shape: qualifier_const_budget — a budget that is a path to a constant
#[deadline(budget = budgets::FAST, reserve = "10ms")]
async fn const_budget() -> Result<u32, Failure> {
    Ok(later(1).await)
}

// shape: qualifier_percent — a budget in percent
#[deadline(budget = "40%", min = "50ms")]
async fn percent() -> Result<u32, Failure> {
    Ok(later(1).await)
}

// shape: qualifier_boxed — `boxed`
#[deadline(budget = "1s", boxed)]
async fn boxed(text: &str) -> Result<usize, Failure> {
    tick().await;
    Ok(text.len())
}

// shape: qualifier_keep_async — `keep_async` on a free function
#[deadline(budget = "1s", keep_async)]
async fn keep_async(text: &str) -> Result<usize, Failure> {
    tick().await;
    Ok(text.len())
}

// shape: qualifier_checkpoints_off — no checkpoints at all
#[deadline(budget = "1s", checkpoints = "off")]
async fn checkpoints_off() -> Result<u32, Failure> {
    let mut n = 0;
    while n < 3 {
        n += later(1).await;
    }
    Ok(n)
}

// shape: qualifier_checkpoints_some — only at awaits, only in loops
#[deadline(budget = "1s", checkpoints = "awaits")]
async fn checkpoints_awaits() -> Result<u32, Failure> {
    let mut n = checkpoints_loops().await?;
    for _ in 0..3 {
        n += 1;
    }
    Ok(n)
}

#[deadline(budget = "1s", checkpoints = "loops")]
async fn checkpoints_loops() -> Result<u32, Failure> {
    let mut n = 0;
    loop {
        n += later(1).await;
        if n > 2 {
            return Ok(n);
        }
    }
}

// shape: qualifier_fallback_closure — a fallback that is a closure
#[deadline(budget = "1s", fallback = |stopped| stopped.to_string())]
async fn fallback_closure() -> String {
    tick().await;
    String::from("full")
}

// shape: qualifier_fallback_parameter — a fallback that does not need the parameters, with a loop
#[deadline(budget = "1s", fallback = Vec::new())]
async fn fallback_value(limit: u32) -> Vec<u32> {
    let mut all = Vec::new();
    for n in 0..limit {
        all.push(later(n).await);
    }
    all
}

// shape: qualifier_rustfmt_skip — tool attributes
#[deadline(budget = "1s")]
#[rustfmt::skip]
#[allow(clippy::needless_return, reason = "with a reason")]
async fn tool_attributes() -> Result<u32,Failure> { return Ok( later( 1 ).await ); }

// shape: qualifier_odd_name — a hidden function whose name is not in snake case
#[deadline(budget = "1s", name = "named")]
#[doc(hidden)]
#[allow(non_snake_case)]
async fn OddlyNamed() -> Result<u32, Failure> {
    Ok(later(1).await)
}

#[test]
fn values() {
    assert_eq!(budgets::FAST.as_millis(), 500);
    run(async {
        assert_eq!(inner::public().await, Ok(1));
        assert_eq!(inner::restricted().await, Ok(2));
        assert_eq!(inner::in_path().await, Ok(3));
        assert_eq!(inner::Open.method().await, Ok(4));
        assert_eq!(in_crate().await, Ok(1));
        // SAFETY: it has no precondition.
        assert_eq!(unsafe { dangerous(2) }.await, Ok(4));
        // SAFETY: the pointer is of a live value.
        assert_eq!(unsafe { Raw(&5).read() }.await, Ok(5));
        assert_eq!(must_use().await, 1);
        assert_eq!(must_use_reason().await, 1);
        assert_eq!(inlined().await, Ok(1));
        assert_eq!(inlined_always().await, Ok(1));
        assert_eq!(cold().await, Ok(1));
        #[expect(deprecated)]
        let old = deprecated();
        assert_eq!(old.await, Ok(1));
        assert_eq!(cfg_attr().await, Ok(1));
        assert_eq!(cfg_attr_ours().await, Ok(1));
        assert_eq!(cfg_on().await, Ok(1));
        assert_eq!(twins().await, Ok(1));
        assert_eq!(documented().await, Ok(1));
        assert_eq!(by_path().await, Ok(1));
        assert_eq!(by_absolute_path().await, Ok(1));
        assert_eq!(renamed().await, Ok(1));
        assert_eq!(no_arguments().await, Ok(1));
        assert_eq!(empty_arguments().await, Ok(1));
        assert_eq!(all_arguments().await, Ok(1));
        assert_eq!(const_budget().await, Ok(1));
        assert_eq!(percent().await, Ok(1));
        assert_eq!(boxed("a").await, Ok(1));
        assert_eq!(keep_async("a").await, Ok(1));
        assert_eq!(checkpoints_off().await, Ok(3));
        assert_eq!(checkpoints_awaits().await, Ok(6));
        assert_eq!(fallback_closure().await, "full");
        assert_eq!(fallback_value(2).await, [0, 1]);
        assert_eq!(tool_attributes().await, Ok(1));
        assert_eq!(OddlyNamed().await, Ok(1));
    });
}
