//! Macros in a body: those whose awaits are rewritten and those that stay as they are.
use crate::support::{Failure, later, run, tick};
use deadline_runtime::deadline;
use std::fmt::Write as _;

// shape: macro_select — `select!` with awaits in patterns' handlers
#[deadline(budget = "1s")]
async fn select() -> Result<u32, Failure> {
    let n = tokio::select! {
        biased;
        n = later(1) => n + later(1).await,
        () = tokio::time::sleep(std::time::Duration::from_secs(9)) => 0,
    };
    Ok(n)
}

// shape: macro_select_return — `select!` whose handlers return and use `?`
#[deadline(budget = "1s")]
async fn select_return(text: &str) -> Result<u32, Failure> {
    tokio::select! {
        biased;
        n = later(text.parse::<u32>()) => return Ok(n?),
        () = tokio::time::sleep(std::time::Duration::from_secs(9)) => {}
    }
    Ok(0)
}

// shape: macro_select_loop — `select!` in a loop with `break` and `continue`
#[deadline(budget = "1s")]
async fn select_loop() -> Result<u32, Failure> {
    let mut n = 0;
    loop {
        tokio::select! {
            biased;
            step = later(1) => {
                n += step;
                if n < 3 {
                    continue;
                }
                break;
            }
            else => break,
        }
    }
    Ok(n)
}

// shape: macro_join — `tokio::join!`
#[deadline(budget = "1s")]
async fn join() -> Result<u32, Failure> {
    let (a, b) = tokio::join!(later(1), later(2));
    Ok(a + b)
}

// shape: macro_join_nested_await — an await inside of `join!`'s argument
#[deadline(budget = "1s")]
async fn join_nested() -> Result<u32, Failure> {
    let (a, b) = tokio::join!(later(later(1).await), async { later(2).await });
    Ok(a + b)
}

// shape: macro_try_join — `tokio::try_join!` with `?`
#[deadline(budget = "1s")]
async fn try_join() -> Result<u32, Failure> {
    let (a, b) = tokio::try_join!(later(Ok::<_, Failure>(1)), later(Ok(2)))?;
    Ok(a + b)
}

// shape: macro_futures_join — `futures::join!` and `futures::try_join!`
#[deadline(budget = "1s")]
async fn futures_join() -> Result<u32, Failure> {
    let (a, b) = ::futures::join!(later(1), later(2));
    let (c, d) = ::futures::try_join!(later(Ok::<_, Failure>(a)), later(Ok(b)))?;
    Ok(c + d)
}

// shape: macro_futures_select — `futures::select!` with fused futures
#[deadline(budget = "1s")]
async fn futures_select() -> Result<u32, Failure> {
    use ::futures::FutureExt as _;
    let mut one = std::pin::pin!(later(1).fuse());
    let n = ::futures::select! {
        n = one => n,
        complete => 0,
    };
    Ok(n)
}

// shape: macro_format — `format!` with awaits as positional and named arguments
#[deadline(budget = "1s")]
async fn format_await() -> Result<String, Failure> {
    let captured = 3;
    Ok(format!(
        "{}{named:>2}{captured}",
        later(1).await,
        named = later(2).await
    ))
}

// shape: macro_write — `write!` and `println!` with awaits
#[deadline(budget = "1s")]
async fn write_await() -> Result<String, Failure> {
    let mut text = String::new();
    write!(text, "{}", later(1).await).expect("a string takes it");
    writeln!(text, "{:?}", later("x").await).expect("a string takes it");
    Ok(text)
}

// shape: macro_vec — `vec!` as a list and as a repetition
#[deadline(budget = "1s")]
async fn vec_await() -> Result<Vec<u32>, Failure> {
    let mut list = vec![later(1).await, later(2).await];
    list.extend(vec![later(3).await; 2]);
    Ok(list)
}

// shape: macro_assert — the assertions with awaits and messages
#[deadline(budget = "1s")]
async fn assert_await() -> Result<(), Failure> {
    assert!(later(true).await, "message {}", later(1).await);
    assert_eq!(later(1).await, later(1).await);
    assert_ne!(later(1).await, 2, "differs");
    debug_assert!(later(true).await);
    debug_assert_eq!(later(1).await, 1);
    Ok(())
}

// shape: macro_matches — `matches!` with an await
#[deadline(budget = "1s")]
async fn matches_await() -> Result<bool, Failure> {
    Ok(matches!(later(Some(1)).await, Some(n) if n > 0))
}

// shape: macro_dbg_like — an unknown macro with an await stays as it is
#[deadline(budget = "1s")]
async fn unknown_macro() -> Result<u32, Failure> {
    macro_rules! twice {
        ($e:expr) => {
            $e + $e
        };
    }
    Ok(twice!(later(2).await))
}

// shape: macro_local_rules — a local `macro_rules` that awaits, returns and uses `?`
#[deadline(budget = "1s")]
async fn local_rules(text: &str) -> Result<u32, Failure> {
    macro_rules! parse {
        ($text:expr) => {{
            tick().await;
            match $text.parse::<u32>() {
                Ok(n) if n > 100 => return Ok(100),
                other => other?,
            }
        }};
    }
    Ok(parse!(text) + parse!("1"))
}

macro_rules! awaited {
    ($future:expr) => {
        $future.await
    };
}

// shape: macro_awaits — a macro of the module that awaits its argument
#[deadline(budget = "1s")]
async fn awaiting_macro() -> Result<u32, Failure> {
    Ok(awaited!(later(1)) + awaited!(later(awaited!(later(2)))))
}

macro_rules! statements {
    ($name:ident) => {
        let $name = later(1).await;
        tick().await;
    };
}

// shape: macro_statements — a macro in statement position that declares locals
#[deadline(budget = "1s")]
async fn statement_macro() -> Result<u32, Failure> {
    statements!(n);
    Ok(n)
}

// shape: macro_tail — a macro with braces as the tail
#[deadline(budget = "1s")]
async fn tail_macro() -> Result<u32, Failure> {
    macro_rules! tail {
        ($n:expr) => {
            Ok(later($n).await)
        };
    }
    tail! { 4 }
}

// shape: macro_known_name_other_syntax — a user macro with a known name and a syntax of its own
#[deadline(budget = "1s")]
async fn own_join() -> Result<u32, Failure> {
    macro_rules! join {
        ($a:expr => $b:expr; $($rest:tt)*) => {
            later($a).await + later($b).await
        };
    }
    Ok(join!(1 => 2; with any tokens))
}

// shape: macro_known_name_shadowed — a user macro named `vec` that takes another list
#[deadline(budget = "1s")]
async fn own_vec() -> Result<u32, Failure> {
    macro_rules! vec {
        ($($key:ident = $value:expr),*) => { 0 $(+ $value)* };
    }
    Ok(vec![a = later(1).await, b = later(2).await])
}

// shape: macro_pin — `std::pin::pin!` and `tokio::pin!`
#[deadline(budget = "1s")]
async fn pin_macros() -> Result<u32, Failure> {
    let first = std::pin::pin!(later(1));
    let second = later(2);
    tokio::pin!(second);
    Ok(first.await + (&mut second).await)
}

// shape: macro_todo_branch — `todo!`, `unreachable!` and `panic!` in branches
#[deadline(budget = "1s")]
#[allow(clippy::todo)]
async fn diverging_macros(n: u32) -> Result<u32, Failure> {
    match n {
        0 => Ok(later(1).await),
        1 => todo!("one"),
        2 => unreachable!("two {n}", n = later(2).await),
        _ => panic!("many"),
    }
}

// shape: macro_tracing — events of tracing with an awaited field
#[deadline(budget = "1s")]
#[allow(clippy::future_not_send)]
async fn tracing_macros() -> Result<u32, Failure> {
    let n = later(1).await;
    tracing::info!(n, "message");
    tracing::debug!(n = later(2).await, "message {n}");
    Ok(n)
}

// shape: macro_thread_local_and_concat — item macros and compile-time macros in a body
#[deadline(budget = "1s")]
async fn item_macros() -> Result<usize, Failure> {
    thread_local! {
        static COUNT: std::cell::Cell<usize> = const { std::cell::Cell::new(1) };
    }
    tick().await;
    let here = concat!(module_path!(), "");
    Ok(COUNT.with(std::cell::Cell::get) + here.len().min(1) + usize::from(line!() > 0))
}

macro_rules! function {
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident($($parameter:ident: $type:ty),*) -> $output:ty $body:block) => {
        $(#[$attribute])*
        #[deadline(budget = "1s")]
        $visibility async fn $name($($parameter: $type),*) -> $output $body
    };
}

function! {
    // shape: produced_by_macro — a function that a macro of the user produces
    /// Documented.
    fn produced(a: u32, b: &str) -> Result<usize, Failure> {
        tick().await;
        Ok(later(a).await as usize + b.len())
    }
}

macro_rules! methods {
    ($($name:ident = $value:expr;)*) => {
        $(
            #[deadline(budget = "1s")]
            async fn $name(&self, mut n: u32) -> Result<u32, Failure> {
                for _ in 0..2 {
                    n += later($value).await;
                }
                Ok(n + self.0)
            }
        )*
    };
}

struct Counter(u32);

impl Counter {
    // shape: produced_methods — several methods in a repetition, with an `expr` fragment awaited
    methods! {
        by_one = 1;
        by_two = 1 + 1;
    }
}

macro_rules! with_literal {
    ($name:ident, $budget:literal, $reserve:expr, $return:ty) => {
        #[deadline(budget = $budget, reserve = $reserve)]
        async fn $name() -> $return {
            Ok(later(1).await)
        }
    };
}

// shape: produced_with_budget — the literals come through `literal` and `expr` fragments
with_literal!(literal_fragment, "1s", "10ms", Result<u32, Failure>);

macro_rules! whole_item {
    ($item:item) => {
        #[deadline(budget = "1s")]
        $item
    };
}

whole_item! {
    // shape: produced_from_item — the function is an `item` fragment
    async fn from_item(n: u32) -> Result<u32, Failure> {
        Ok(later(n).await)
    }
}

macro_rules! hygiene {
    ($name:ident, $body:expr) => {
        #[deadline(budget = "1s")]
        async fn $name(n: u32) -> Result<u32, Failure> {
            let m = later(n).await;
            let f: fn(u32) -> u32 = $body;
            Ok(f(m))
        }
    };
}

// shape: produced_hygiene — names of the macro and of the caller stay apart
hygiene!(hygienic, |m| m + 1);

#[test]
fn values() {
    run(async {
        assert_eq!(select().await, Ok(2));
        assert_eq!(select_return("1").await, Ok(1));
        assert_eq!(select_loop().await, Ok(3));
        assert_eq!(join().await, Ok(3));
        assert_eq!(join_nested().await, Ok(3));
        assert_eq!(try_join().await, Ok(3));
        assert_eq!(futures_join().await, Ok(3));
        assert_eq!(futures_select().await, Ok(1));
        assert_eq!(format_await().await.unwrap(), "1 23");
        assert_eq!(write_await().await.unwrap(), "1\"x\"\n");
        assert_eq!(vec_await().await.unwrap(), [1, 2, 3, 3]);
        assert_eq!(assert_await().await, Ok(()));
        assert_eq!(matches_await().await, Ok(true));
        assert_eq!(unknown_macro().await, Ok(4));
        assert_eq!(local_rules("101").await, Ok(100));
        assert_eq!(awaiting_macro().await, Ok(3));
        assert_eq!(statement_macro().await, Ok(1));
        assert_eq!(tail_macro().await, Ok(4));
        assert_eq!(own_join().await, Ok(3));
        assert_eq!(own_vec().await, Ok(3));
        assert_eq!(pin_macros().await, Ok(3));
        assert_eq!(diverging_macros(0).await, Ok(1));
        assert_eq!(tracing_macros().await, Ok(1));
        assert_eq!(item_macros().await, Ok(3));
        assert_eq!(produced(1, "a").await, Ok(2));
        assert_eq!(Counter(1).by_one(0).await, Ok(3));
        assert_eq!(Counter(1).by_two(0).await, Ok(5));
        assert_eq!(literal_fragment().await, Ok(1));
        assert_eq!(from_item(1).await, Ok(1));
        assert_eq!(hygienic(1).await, Ok(2));
    });
}
