//! What is legal in edition 2018 only.
use crate::support::{Failure, later, run};
use deadline_runtime::deadline;

// shape: edition_2018_gen — `gen` and `try`-less names that later editions reserve
#[deadline(budget = "1s")]
#[allow(keyword_idents_2024)]
async fn reserved_later(gen: u32) -> Result<u32, Failure> {
    let gen = later(gen).await;
    Ok(gen)
}

// shape: edition_2018_bare_dyn — a trait object without `dyn`
#[deadline(budget = "1s")]
#[allow(bare_trait_objects)]
async fn bare_dyn(value: Box<std::fmt::Display + Send>) -> Result<String, Failure> {
    Ok(later(value).await.to_string())
}

// shape: edition_2018_panic — `panic!` with a single argument that is not a format string
#[deadline(budget = "1s", fallback = panic!(String::from("{")))]
#[allow(non_fmt_panics, clippy::manual_assert)]
async fn old_panic(n: u32) -> u32 {
    if n == 0 {
        panic!(String::from("{"));
    }
    later(n).await
}

// shape: edition_2018_closure_capture — a closure captures the whole variable
#[deadline(budget = "1s")]
async fn closure_capture(pair: (String, u32)) -> Result<usize, Failure> {
    let length = || pair.0.len();
    let length = later(length()).await;
    Ok(length + pair.1 as usize)
}

// shape: edition_2018_array_into_iter — `into_iter` of an array gives references
#[deadline(budget = "1s")]
#[allow(
    array_into_iter,
    clippy::into_iter_on_ref,
    clippy::explicit_into_iter_loop
)]
async fn array_into_iter() -> Result<u32, Failure> {
    let mut sum = 0;
    for n in [1, 2].into_iter() {
        sum += later(*n).await;
    }
    Ok(sum)
}

// shape: edition_2018_prelude — a user's `TryFrom` that is not in this edition's prelude
mod own_try_from {
    use crate::support::{Failure, later};
    use deadline_runtime::deadline;

    pub trait TryFrom {
        fn try_into(self) -> u32;
    }
    impl TryFrom for u8 {
        fn try_into(self) -> u32 {
            u32::from(self) + 1
        }
    }

    #[deadline(budget = "1s")]
    pub async fn own(n: u8) -> Result<u32, Failure> {
        Ok(later(n).await.try_into())
    }
}

#[test]
fn values() {
    run(async {
        assert_eq!(reserved_later(1).await, Ok(1));
        assert_eq!(bare_dyn(Box::new(1)).await.unwrap(), "1");
        assert_eq!(old_panic(1).await, 1);
        assert_eq!(closure_capture(("a".into(), 1)).await, Ok(2));
        assert_eq!(array_into_iter().await, Ok(3));
        assert_eq!(own_try_from::own(1).await, Ok(2));
    });
}
