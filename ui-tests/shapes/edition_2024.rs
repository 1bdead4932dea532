//! What is legal from edition 2024 on.
use crate::support::{Failure, Log, Noisy, later, run, tick};
use deadline_runtime::deadline;

// shape: edition_2024_let_chain — awaits in a let-chain
#[deadline(budget = "1s")]
async fn let_chain(text: Option<&str>) -> Result<u32, Failure> {
    if let Some(text) = later(text).await
        && let Ok(n) = text.parse::<u32>()
        && later(n).await > 1
        && let Some(more) = later(n.checked_add(1)).await
    {
        return Ok(more);
    }
    Ok(0)
}

// shape: edition_2024_while_let_chain — a let-chain in a `while` condition
#[deadline(budget = "1s")]
async fn while_let_chain(list: &mut Vec<u32>) -> Result<u32, Failure> {
    let mut sum = 0;
    while let Some(n) = later(list.pop()).await
        && n > 0
        && later(true).await
    {
        sum += n;
    }
    Ok(sum)
}

// shape: edition_2024_raw_gen — `r#gen` where `gen` is reserved
#[deadline(budget = "1s")]
async fn r#gen(r#gen: u32) -> Result<u32, Failure> {
    Ok(later(r#gen).await)
}

// shape: edition_2024_if_let_scope — temporaries of an `if let` scrutinee end before the else block
twin!(if_let_ours, if_let_plain, (log: Log) {
    if let Some(1..=3) = later(log.noisy("scrutinee")).await.name.find('x') {
        log.note("then");
    } else {
        tick().await;
        log.note("else");
    }
});

// shape: edition_2024_tail — temporaries of a tail end before locals
twin!(tail_ours, tail_plain, (first: Noisy, log: Log) -> usize {
    let _local = log.noisy("local");
    tick().await;
    log.noisy("temporary").name.len() + first.name.len()
});

// shape: edition_2024_tail_borrow — a tail that borrows from a local through a guard, legal only here
#[deadline(budget = "1s")]
async fn tail_borrow() -> Result<usize, Failure> {
    let cell = std::sync::Mutex::new(vec![1]);
    tick().await;
    Ok(cell
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
        .len())
}

// shape: edition_2024_unsafe_operations — an unsafe function whose body needs its own unsafe block
/// Reads.
///
/// # Safety
/// The pointer is valid.
#[deadline(budget = "1s")]
#[allow(clippy::future_not_send)]
async unsafe fn operations(pointer: *const u32) -> Result<u32, Failure> {
    tick().await;
    // SAFETY: the caller says so.
    Ok(unsafe { *pointer })
}

// shape: edition_2024_precise_capture — `use<..>` in the result
#[deadline(budget = "1s", fallback = panic!("stopped"))]
#[allow(clippy::elidable_lifetime_names)]
async fn precise<'a, T: AsRef<str> + Sync>(text: &'a T) -> impl Iterator<Item = char> + use<'a, T> {
    tick().await;
    text.as_ref().chars()
}

trait Named {}
impl<T> Named for T {}

struct View<'a>(#[allow(dead_code)] &'a str);

// shape: edition_2024_hidden_type — an opaque type that captures a lifetime nobody names
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn hidden_type(text: &str) -> impl Named {
    tick().await;
    View(text)
}

// shape: edition_2024_never_fallback — a diverging expression whose type falls back to never
#[deadline(budget = "1s")]
async fn never_fallback(fail: bool) -> Result<u32, Failure> {
    let n = if fail {
        return Err(Failure::Parse);
    } else {
        later(1).await
    };
    Ok(n)
}

#[test]
fn values() {
    same_drops!(|log| if_let_ours(log.clone()), |log| if_let_plain(
        log.clone()
    ));
    same_drops!(|log| tail_ours(log.noisy("1"), log.clone()), |log| {
        tail_plain(log.noisy("1"), log.clone())
    });
    run(async {
        assert_eq!(let_chain(Some("2")).await, Ok(3));
        assert_eq!(while_let_chain(&mut vec![0, 1, 2]).await, Ok(3));
        assert_eq!(r#gen(1).await, Ok(1));
        assert_eq!(tail_borrow().await, Ok(1));
        // SAFETY: the pointer is of a live value.
        assert_eq!(unsafe { operations(&1) }.await, Ok(1));
        let _ = hidden_type("a").await;
        assert_eq!(precise(&"ab").await.count(), 2);
        assert_eq!(never_fallback(false).await, Ok(1));
    });
}
