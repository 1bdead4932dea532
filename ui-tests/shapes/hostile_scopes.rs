//! Scopes in which the usual names mean something else.
#![allow(dead_code, unused_macros)]

/// No prelude at all.
mod no_prelude {
    #![no_implicit_prelude]

    use crate::support::{Failure, later};
    use ::deadline_runtime::deadline;

    // shape: scope_no_prelude — `#![no_implicit_prelude]`
    #[deadline(budget = "1s", reserve = "100ms")]
    pub async fn plain(n: u32) -> ::core::result::Result<u32, Failure> {
        let mut sum = 0;
        for i in ::std::iter::Iterator::take(0.., n as usize) {
            sum += later(i).await;
        }
        ::core::result::Result::Ok(sum)
    }

    // shape: scope_no_prelude_fallback — the same with fallback, cleanup and a loop
    #[deadline(budget = "1s", cleanup = "50ms", fallback = 7)]
    pub async fn fallback(n: u32) -> u32 {
        loop {
            if later(n).await > 0 {
                return 1;
            }
        }
    }

    pub struct Holder(pub u32);

    impl Holder {
        // shape: scope_no_prelude_method — a method, boxed
        #[deadline(budget = "1s", boxed)]
        pub async fn method(&self) -> ::core::result::Result<u32, Failure> {
            ::core::result::Result::Ok(later(self.0).await)
        }

        // shape: scope_no_prelude_keep_async — with `keep_async`
        #[deadline(budget = "1s", keep_async)]
        pub async fn kept(self) -> ::core::result::Result<u32, Failure> {
            ::core::result::Result::Ok(later(self.0).await)
        }
    }
}

/// Modules of the user that are named like crates.
mod named_like_crates {
    use crate::support::{Failure, later};
    use ::deadline_runtime::deadline;

    pub mod core {}
    pub mod std {}
    pub mod alloc {}
    pub mod tokio {}
    pub mod futures {}
    pub mod deadline_macros {}

    // shape: scope_modules — modules named `core`, `std`, `alloc`, `tokio`
    #[deadline(budget = "1s", boxed)]
    pub async fn modules(n: u32) -> Result<u32, Failure> {
        for _ in 0..1 {
            later(n).await;
        }
        Ok(later(n).await)
    }

    pub mod own {
        use crate::support::{Failure, later};

        pub mod deadline_runtime {}

        // shape: scope_module_like_ours — a module named like our crate
        #[::deadline_runtime::deadline(budget = "1s")]
        pub async fn ours(n: u32) -> Result<u32, Failure> {
            Ok(later(n).await)
        }
    }
}

/// Types and variants of the prelude mean something else.
mod shadowed_types {
    use crate::support::{Failure, later};
    use deadline_runtime::deadline;

    pub struct Result<T>(pub T);
    pub struct Option;
    pub struct Box;
    pub struct Future;
    pub struct Pin;
    pub struct Poll;
    pub struct String;
    pub struct Context;
    pub struct Stopped;
    pub struct Scoped;
    pub struct Spec;
    pub struct Millis;
    pub struct Unbudgeted;
    pub trait IntoFuture {}
    pub trait Budgeted {}
    pub trait Leaf {}
    pub trait From {}
    pub trait Into {}
    pub trait Send {}
    pub trait Sized {}
    pub trait FnOnce {}
    pub trait Drop {}

    // shape: scope_shadowed_types — `Result`, `Option`, `Box`, `Future` and more are the user's
    #[deadline(budget = "1s", fallback = Result(0))]
    pub async fn types(n: u32) -> Result<u32> {
        for _ in 0..1 {
            later(n).await;
        }
        Result(later(n).await)
    }

    // shape: scope_shadowed_types_carry — with a return type that carries a stop
    #[deadline(budget = "1s", min = "10ms", cleanup = "10ms")]
    pub async fn carry(n: u32) -> core::result::Result<u32, Failure> {
        while later(n).await == 0 {}
        core::result::Result::Ok(n)
    }
}

/// Variants of the prelude are functions, and `u64` is a struct.
mod shadowed_variants {
    use crate::support::{Failure, later};
    use deadline_runtime::deadline;

    #[allow(non_snake_case)]
    pub const fn Ok(n: u32) -> u32 {
        n + 1
    }
    #[allow(non_snake_case)]
    pub const fn Err(n: u32) -> u32 {
        n + 2
    }
    #[allow(non_snake_case)]
    pub const fn Some(n: u32) -> u32 {
        n + 3
    }
    #[allow(non_upper_case_globals)]
    pub const None: u32 = 4;
    pub const fn drop(n: u32) -> u32 {
        n
    }
    #[allow(non_camel_case_types)]
    pub struct u64;
    #[allow(non_camel_case_types)]
    pub struct str;
    #[allow(non_camel_case_types)]
    pub struct bool;

    // shape: scope_shadowed_variants — `Ok`, `Err`, `Some`, `None` and primitive types are the user's
    #[deadline(budget = "1s", reserve = "10ms", cleanup = "10ms")]
    pub async fn variants(n: u32) -> Result<u32, Failure> {
        for _ in 0..1 {
            later(n).await;
        }
        Result::Ok(drop(Ok(Err(Some(None + later(n).await)))))
    }
}

/// Macros of the prelude mean something else.
mod shadowed_macros {
    use crate::support::{Failure, later};
    use deadline_runtime::deadline;

    macro_rules! panic {
        ($($any:tt)*) => {
            compile_error!("not the user's panic!")
        };
    }
    macro_rules! unreachable {
        ($($any:tt)*) => {
            compile_error!("not the user's unreachable!")
        };
    }
    macro_rules! assert {
        ($($any:tt)*) => {
            compile_error!("not the user's assert!")
        };
    }
    macro_rules! concat {
        ($($any:tt)*) => {
            compile_error!("not the user's concat!")
        };
    }
    macro_rules! matches {
        ($($any:tt)*) => {
            compile_error!("not the user's matches!")
        };
    }
    macro_rules! env {
        ($($any:tt)*) => {
            compile_error!("not the user's env!")
        };
    }

    // shape: scope_shadowed_macros — `panic!`, `unreachable!`, `assert!` and others are the user's
    #[deadline(budget = "1s", reserve = "10ms", min = "50%", cleanup = "10ms")]
    pub async fn macros(n: u32) -> Result<u32, Failure> {
        let mut sum = n;
        while later(sum).await < 3 {
            sum += 1;
        }
        Ok(sum)
    }

    // shape: scope_shadowed_macro_in_fallback — and a fallback that uses one of them
    #[deadline(budget = "1s", fallback = vec![9])]
    pub async fn fallback(n: u32) -> Vec<u32> {
        vec![later(n).await]
    }

    macro_rules! vec {
        ($($any:tt)*) => {
            compile_error!("not the user's vec!")
        };
    }
}

/// Far more lints than anybody sets.
mod strict {
    #![deny(
        missing_docs,
        missing_debug_implementations,
        unused,
        nonstandard_style,
        rust_2018_idioms,
        unreachable_pub,
        unused_lifetimes,
        unused_qualifications,
        unused_results,
        unused_import_braces,
        single_use_lifetimes,
        trivial_casts,
        trivial_numeric_casts,
        let_underscore_drop,
        unit_bindings,
        variant_size_differences,
        explicit_outlives_requirements,
        redundant_lifetimes,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::shadow_reuse,
        clippy::shadow_unrelated,
        clippy::let_underscore_must_use,
        clippy::let_underscore_untyped,
        clippy::infinite_loop,
        clippy::wildcard_enum_match_arm,
        clippy::exhaustive_structs,
        clippy::absolute_paths,
        clippy::min_ident_chars,
        clippy::unneeded_field_pattern,
        clippy::large_futures,
        clippy::empty_loop,
        clippy::multiple_unsafe_ops_per_block,
        clippy::undocumented_unsafe_blocks,
        clippy::as_conversions,
        clippy::default_numeric_fallback,
        clippy::else_if_without_else,
        clippy::ref_patterns,
        clippy::str_to_string,
        clippy::items_after_statements,
        clippy::semicolon_if_nothing_returned,
        clippy::used_underscore_binding
    )]
    use crate::support::{Failure, later, tick};
    use deadline_runtime::deadline;

    // shape: scope_strict — restriction lints that forbid shadowing, absolute paths, short names and more
    #[deadline(budget = "1s", reserve = "10ms", min = "20ms")]
    pub(super) async fn carry(text: &str, mut count: u32) -> Result<u32, Failure> {
        for _ in 0..2_u8 {
            count = later(count).await.saturating_add(1);
        }
        let parsed: u32 = text.parse()?;
        Ok(parsed.saturating_add(count))
    }

    // shape: scope_strict_fallback — the same lints over a fallback and a cleanup
    #[deadline(budget = "1s", cleanup = "10ms", fallback = 0)]
    pub(super) async fn fallback(count: u32) -> u32 {
        while later(false).await {
            tick().await;
        }
        count
    }

    /// Holds a number.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Holder {
        pub(super) number: u32,
    }

    impl Holder {
        // shape: scope_strict_method — the same lints over methods
        #[deadline(budget = "1s", boxed)]
        pub(super) async fn by_value(self) -> Result<u32, Failure> {
            tick().await;
            Ok(self.number)
        }

        // shape: scope_strict_keep_async — and with `keep_async`
        #[deadline(budget = "1s", keep_async)]
        pub(super) async fn by_ref(&self) -> Result<u32, Failure> {
            tick().await;
            Ok(self.number)
        }
    }
}

/// Unsafe code is forbidden.
mod forbidding {
    #![forbid(unsafe_code)]
    use crate::support::{Failure, later};
    use deadline_runtime::deadline;

    // shape: scope_forbid_unsafe — `#![forbid(unsafe_code)]`
    #[deadline(budget = "1s", reserve = "10ms", cleanup = "10ms")]
    pub async fn safe(mut list: Vec<u32>) -> Result<Vec<u32>, Failure> {
        for n in &mut list {
            *n = later(*n).await;
        }
        Ok(list)
    }
}

/// A type that is called like one in the expansion.
mod like_the_check {
    use crate::support::{Failure, later};
    use deadline_runtime::deadline;

    #[derive(Debug, PartialEq, Eq)]
    pub struct Calls(pub u32);

    // shape: scope_type_like_the_check — a return type that is called like what the check of the sum declares
    #[deadline(budget = "1s")]
    pub async fn returned(n: u32) -> Result<Calls, Failure> {
        Ok(Calls(later(n).await))
    }

    // shape: scope_fallback_like_the_check — and a fallback made of it
    #[deadline(budget = "1s", fallback = Calls(7))]
    pub async fn fallback(n: u32) -> Calls {
        Calls(later(n).await)
    }
}

#[test]
fn values() {
    use crate::support::run;
    use like_the_check::Calls;
    run(async {
        assert_eq!(no_prelude::plain(3).await, Ok(3));
        assert_eq!(no_prelude::fallback(1).await, 1);
        assert_eq!(no_prelude::Holder(2).method().await, Ok(2));
        assert_eq!(no_prelude::Holder(2).kept().await, Ok(2));
        assert_eq!(named_like_crates::modules(1).await, Ok(1));
        assert_eq!(named_like_crates::own::ours(1).await, Ok(1));
        assert_eq!(shadowed_types::types(1).await.0, 1);
        assert_eq!(shadowed_types::carry(1).await, Ok(1));
        assert_eq!(shadowed_variants::variants(1).await, Ok(11));
        assert_eq!(shadowed_macros::macros(1).await, Ok(3));
        assert_eq!(shadowed_macros::fallback(1).await, [1]);
        assert_eq!(strict::carry("1", 1).await, Ok(4));
        assert_eq!(strict::fallback(1).await, 1);
        let holder = strict::Holder { number: 1 };
        assert_eq!(holder.by_ref().await, Ok(1));
        assert_eq!(holder.by_value().await, Ok(1));
        assert_eq!(like_the_check::returned(1).await, Ok(Calls(1)));
        assert_eq!(like_the_check::fallback(1).await, Calls(1));
        assert_eq!(forbidding::safe(vec![1]).await.unwrap(), [1]);
    });
}
