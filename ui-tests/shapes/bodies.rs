//! What a body may contain and what a rewritten await must not change.
use crate::support::{Failure, Log, Noisy, finished, later, run, tick};
use deadline_runtime::deadline;
use std::{
    collections::HashMap,
    future::Future,
    sync::{Arc, Mutex, PoisonError, RwLock},
};

// shape: body_closure_return — a nested closure with its own `return`
#[deadline(budget = "1s")]
async fn closure_return(n: u32) -> Result<u32, Failure> {
    let double = |n: u32| {
        if n == 0 {
            return 1;
        }
        n * 2
    };
    tick().await;
    Ok(double(n))
}

// shape: body_closure_question — a nested closure with its own `?` and another error type
#[deadline(budget = "1s")]
async fn closure_question(text: &str) -> Result<u32, Failure> {
    let parse = |text: &str| -> Option<u32> {
        let head = text.split(',').next()?;
        head.parse().ok()
    };
    tick().await;
    parse(text).ok_or(Failure::Parse)
}

// shape: body_closure_loop — a loop inside of a closure gets no checkpoint
#[deadline(budget = "1s")]
async fn closure_loop(limit: u32) -> Result<u32, Failure> {
    let sum = move || {
        let mut total = 0;
        for n in 0..limit {
            total += n;
        }
        total
    };
    tick().await;
    Ok(sum())
}

// shape: body_async_block — a nested async block with its own `?` and error type
#[deadline(budget = "1s")]
async fn async_block(text: &str) -> Result<u32, Failure> {
    let parsed = async {
        tick().await;
        let n: u32 = text.parse()?;
        Ok::<_, std::num::ParseIntError>(n)
    }
    .await;
    Ok(parsed.unwrap_or(0))
}

// shape: body_async_block_return — a nested async block with its own `return`
#[deadline(budget = "1s")]
async fn async_block_return(n: u32) -> Result<u32, Failure> {
    let text = async move {
        if n == 0 {
            return "none";
        }
        tick().await;
        "some"
    };
    Ok(u32::from(text.await.starts_with('s')))
}

// shape: body_async_closure — an async closure with its own `return` and `?`
#[deadline(budget = "1s")]
async fn async_closure(text: &str) -> Result<u32, Failure> {
    let parse = async |radix: u32| {
        tick().await;
        if radix == 0 {
            return Err(Failure::Refused("radix"));
        }
        Ok(u32::from_str_radix(text, radix)?)
    };
    Ok(parse(10).await? + parse(0).await.unwrap_or(1))
}

// shape: body_nested_function — a nested async fn that is not rewritten
#[deadline(budget = "1s")]
async fn nested_function() -> Result<u32, Failure> {
    async fn inner(n: u32) -> u32 {
        for _ in 0..n {
            tick().await;
        }
        n
    }
    Ok(inner(3).await)
}

// shape: body_nested_annotated — a nested function with the attribute of its own
#[deadline(budget = "1s")]
async fn nested_annotated() -> Result<u32, Failure> {
    #[deadline(budget = "100ms")]
    async fn inner() -> Result<u32, Failure> {
        Ok(later(4).await)
    }
    inner().await
}

// shape: body_nested_items — structs, impls, consts, statics, traits and uses inside
#[deadline(budget = "1s")]
#[allow(clippy::items_after_statements)]
async fn nested_items() -> Result<u32, Failure> {
    const STEP: u32 = 2;
    static START: u32 = 40;
    use std::ops::Add as Plus;
    trait Grow {
        fn grow(&self) -> u32;
    }
    struct Seed(u32);
    impl Grow for Seed {
        fn grow(&self) -> u32 {
            self.0.add(STEP)
        }
    }
    const fn check<T: Plus>(_: &T) {}
    tick().await;
    check(&STEP);
    Ok(Seed(START).grow())
}

// shape: body_item_shadows_function — an inner item with the function's own name
#[deadline(budget = "1s")]
async fn same_name() -> Result<u32, Failure> {
    async fn same_name() -> u32 {
        later(5).await
    }
    Ok(same_name().await)
}

// shape: body_item_shadows_type — an inner type with the name of one in the signature
#[deadline(budget = "1s")]
async fn shadowed_type(text: String) -> Result<String, Failure> {
    #[derive(Debug, Default)]
    struct String(u8);
    tick().await;
    let own = String::default();
    Ok(format!("{text}{}", own.0))
}

// shape: body_module — an inner module
#[deadline(budget = "1s")]
#[allow(clippy::items_after_statements)]
async fn inner_module() -> Result<u32, Failure> {
    mod constants {
        pub const ANSWER: u32 = 42;
    }
    tick().await;
    Ok(constants::ANSWER)
}

// shape: body_labelled_loop — a labelled loop that breaks with a value
#[deadline(budget = "1s")]
async fn labelled() -> Result<u32, Failure> {
    let mut rounds = 0;
    let found = 'outer: loop {
        for n in 0..5 {
            rounds += later(1).await;
            if n == 3 && rounds > 5 {
                break 'outer n * 10;
            }
            if n == 3 {
                continue 'outer;
            }
        }
    };
    Ok(found + rounds)
}

// shape: body_labelled_block — a labelled block with awaits
#[deadline(budget = "1s")]
async fn labelled_block(n: u32) -> Result<&'static str, Failure> {
    let name = 'name: {
        if later(n).await == 0 {
            break 'name "zero";
        }
        if later(n).await == 1 {
            break 'name "one";
        }
        "many"
    };
    Ok(name)
}

// shape: body_label_of_ours — user labels named as ours may be
#[deadline(budget = "1s")]
async fn our_labels() -> Result<u32, Failure> {
    let mut n = 0;
    'budget: loop {
        'scope: for _ in 0..3 {
            n += later(1).await;
            if n > 4 {
                break 'budget;
            }
            if n > 2 {
                continue 'scope;
            }
            n += 1;
        }
    }
    Ok(n)
}

// shape: body_while_condition — await in a `while` condition
#[deadline(budget = "1s")]
async fn while_condition() -> Result<u32, Failure> {
    let mut n = 0;
    while later(n).await < 3 {
        n += 1;
    }
    Ok(n)
}

// shape: body_while_let — await in a `while let` scrutinee
#[deadline(budget = "1s")]
async fn while_let() -> Result<u32, Failure> {
    let mut items = vec![1, 2, 3];
    let mut sum = 0;
    while let Some(n) = later(items.pop()).await {
        sum += n;
    }
    Ok(sum)
}

// shape: body_if_condition — await in conditions, with `&&` and `!`
#[deadline(budget = "1s")]
async fn if_condition(a: bool) -> Result<u32, Failure> {
    if later(a).await && !later(false).await {
        Ok(1)
    } else if later(!a).await {
        Ok(2)
    } else {
        Ok(3)
    }
}

// shape: body_if_let — await in an `if let` scrutinee with an else
#[deadline(budget = "1s")]
async fn if_let(n: Option<u32>) -> Result<u32, Failure> {
    if let Some(n) = later(n).await {
        Ok(n)
    } else {
        Ok(later(9).await)
    }
}

// shape: body_match_scrutinee — await in a match scrutinee, in guards' arms and bindings
#[deadline(budget = "1s")]
async fn match_scrutinee(n: u32) -> Result<u32, Failure> {
    Ok(match later((n, n + 1)).await {
        (0, next) => later(next).await,
        (same, next) if same + 1 == next && same > 5 => same,
        (_, next) => {
            let more = later(next).await;
            more + 1
        }
    })
}

// shape: body_match_guard_await — await in a match guard
#[deadline(budget = "1s")]
async fn match_guard(n: u32) -> Result<&'static str, Failure> {
    Ok(match n {
        n if later(n).await > 5 => "big",
        _ => "small",
    })
}

// shape: body_let_else — await in `let else`, diverging by return
#[deadline(budget = "1s")]
async fn let_else(n: Option<u32>) -> Result<u32, Failure> {
    let Some(n) = later(n).await else {
        return Err(Failure::Refused("nothing"));
    };
    Ok(n)
}

// shape: body_let_else_continue — `let else` with `continue` and an await in the else block
#[deadline(budget = "1s")]
async fn let_else_continue(texts: &[&str]) -> Result<u32, Failure> {
    let mut sum = 0;
    for text in texts {
        let Ok(n) = later(text.parse::<u32>()).await else {
            tick().await;
            continue;
        };
        sum += n;
    }
    Ok(sum)
}

// shape: body_await_in_operators — awaits on both sides of operators and in indexes
#[deadline(budget = "1s")]
async fn operators(list: &[u32]) -> Result<u32, Failure> {
    let mut sum = later(1).await + later(2).await * later(3).await;
    sum += list[later(1).await];
    sum -= (later(2).await..later(4).await).sum::<u32>();
    Ok(sum + u32::from(later(true).await || later(false).await))
}

// shape: body_await_in_arguments — awaits as call arguments and method receivers
#[deadline(budget = "1s")]
async fn arguments() -> Result<usize, Failure> {
    let text = later(String::from("abc")).await;
    Ok(later(text)
        .await
        .replace(later("a").await, later("xx").await)
        .len())
}

// shape: body_await_in_literals — awaits in struct, tuple and array literals
#[deadline(budget = "1s")]
async fn literals() -> Result<u32, Failure> {
    struct Point {
        x: u32,
        y: u32,
    }
    let point = Point {
        x: later(1).await,
        y: later(2).await,
    };
    let (a, [b, c]) = (later(3).await, [later(4).await, later(5).await]);
    Ok(point.x + point.y + a + b + c)
}

// shape: body_await_chain — awaits chained through `?` and methods
#[deadline(budget = "1s")]
async fn chain() -> Result<u32, Failure> {
    async fn next(n: u32) -> Result<Box<u32>, Failure> {
        Ok(later(Box::new(n + 1)).await)
    }
    Ok(*next(*next(*next(0).await?).await?).await?)
}

// shape: body_await_of_await — a future of a future
#[deadline(budget = "1s")]
async fn await_of_await() -> Result<u32, Failure> {
    Ok(later(later(later(1))).await.await.await)
}

// shape: body_await_in_range_and_cast — casts, references, dereferences and ranges around awaits
#[deadline(budget = "1s")]
#[allow(clippy::cast_lossless)]
async fn casts() -> Result<u64, Failure> {
    let n = later(&3_u32).await;
    let wide = u64::from(*later(n).await);
    let mut sum = i64::from(-later(1_i32).await) + later(1_u8).await as i64;
    for i in later(0).await..later(3).await {
        sum += i;
    }
    Ok(wide + sum.unsigned_abs())
}

// shape: body_await_assignment — awaits on the right of assignments to places
#[deadline(budget = "1s")]
async fn assignment() -> Result<Vec<u32>, Failure> {
    let mut list = vec![0, 0];
    let n;
    list[0] = later(1).await;
    list[1] += later(2).await;
    (n, list[0]) = later((3, 4)).await;
    list.push(n);
    Ok(list)
}

// shape: body_await_break_value — await in a break value and in a return
#[deadline(budget = "1s")]
async fn break_value(early: bool) -> Result<u32, Failure> {
    let n = loop {
        if early {
            return Ok(later(1).await);
        }
        if later(true).await {
            break later(2).await;
        }
    };
    Ok(n)
}

// shape: body_into_future — a value that is only `IntoFuture`
#[deadline(budget = "1s")]
async fn into_future() -> Result<u32, Failure> {
    struct Request(u32);
    impl std::future::IntoFuture for Request {
        type Output = u32;
        type IntoFuture = std::future::Ready<u32>;
        fn into_future(self) -> Self::IntoFuture {
            std::future::ready(self.0)
        }
    }
    Ok(Request(6).await)
}

// shape: body_await_reference — `&mut future` and a pinned one
#[deadline(budget = "1s")]
async fn await_reference() -> Result<u32, Failure> {
    let mut ready = std::future::ready(1);
    let pinned = std::pin::pin!(later(2));
    let boxed: std::pin::Pin<Box<dyn Future<Output = u32> + Send>> = Box::pin(later(3));
    Ok((&mut ready).await + pinned.await + boxed.await)
}

// shape: body_await_macro_produced — the awaited expression comes from a macro
#[deadline(budget = "1s")]
async fn await_macro() -> Result<u32, Failure> {
    macro_rules! request {
        ($n:expr) => {
            later($n)
        };
    }
    Ok(request!(1).await + request!(2).await)
}

// shape: body_boxed_recursion — recursion through `Box::pin`
#[deadline(budget = "1s")]
async fn recursion(n: u32) -> Result<u32, Failure> {
    if n == 0 {
        return Ok(0);
    }
    Ok(Box::pin(recursion(n - 1)).await? + later(n).await)
}

// shape: body_mutual_recursion — two functions that call each other
#[deadline(budget = "1s")]
#[allow(clippy::future_not_send)]
async fn even(n: u32) -> Result<bool, Failure> {
    if n == 0 {
        return Ok(true);
    }
    Box::pin(odd(n - 1)).await
}

// shape: body_mutual_recursion_dyn — the other half goes through a trait object
#[deadline(budget = "1s")]
#[allow(clippy::future_not_send)]
async fn odd(n: u32) -> Result<bool, Failure> {
    if n == 0 {
        return Ok(false);
    }
    let next: std::pin::Pin<Box<dyn Future<Output = Result<bool, Failure>>>> =
        Box::pin(even(n - 1));
    next.await
}

fn countdown(n: u32) -> std::pin::Pin<Box<dyn Future<Output = Result<u32, Failure>> + Send>> {
    // shape: body_recursion_through_plain_fn — an inner function that calls a boxing fn around itself
    #[deadline(budget = "1s")]
    async fn step(n: u32) -> Result<u32, Failure> {
        if n == 0 {
            return Ok(0);
        }
        Ok(countdown(n - 1).await? + 1)
    }
    Box::pin(step(n))
}

// shape: body_inner_attributes — `#![allow(..)]` inside of the body
#[deadline(budget = "1s")]
async fn inner_attributes() -> Result<u32, Failure> {
    #![allow(unused_variables, clippy::no_effect_underscore_binding)]
    let unused = 1;
    Ok(later(1).await)
}

// shape: body_inner_doc — an inner doc comment
#[deadline(budget = "1s")]
async fn inner_doc() -> Result<u32, Failure> {
    //! Documented from inside.
    Ok(later(1).await)
}

// shape: body_expect_function — `#[expect]` on the function is fulfilled once
#[deadline(budget = "1s")]
#[expect(unused_variables)]
async fn expect_function() -> Result<u32, Failure> {
    let unused = 1;
    Ok(later(1).await)
}

// shape: body_expect_statement — `#[expect]` on a statement with an await
#[deadline(budget = "1s")]
async fn expect_statement() -> Result<u32, Failure> {
    #[expect(unused_variables)]
    let unused = later(1).await;
    #[expect(unused_mut)]
    let mut n = later(2).await;
    Ok(n)
}

// shape: body_expect_expression — `#[expect]` on an expression statement that is kept
#[deadline(budget = "1s")]
async fn expect_expression() -> Result<u32, Failure> {
    #[expect(unused_must_use)]
    later(Ok::<_, Failure>(1)).await;
    Ok(1)
}

// shape: body_cfg_statements — awaits that are configured away
#[deadline(budget = "1s")]
async fn cfg_statements() -> Result<u32, Failure> {
    #[cfg(any())]
    missing().await;
    #[cfg(any())]
    let n = missing().await;
    #[cfg(not(any()))]
    let n = later(1).await;
    #[cfg(any())]
    return missing(n).await;
    #[allow(unreachable_code)]
    Ok(n)
}

// shape: body_cfg_arms — match arms and fields that are configured away
#[deadline(budget = "1s")]
async fn cfg_arms(n: u32) -> Result<u32, Failure> {
    Ok(match n {
        #[cfg(any())]
        0 => missing().await,
        #[cfg(not(any()))]
        1 => later(1).await,
        _ => 2,
    })
}

mod shadowing {
    #![allow(dead_code, non_camel_case_types)]
    pub struct Future;
    pub struct Pin;
    pub struct Box;
    pub struct Context;
    pub struct Scoped;
    pub struct Leaf;
    pub struct At;
    pub struct Spec;
    pub enum Poll {
        Ready,
        Pending,
    }
    pub const fn drop<T>(_: &T) {}
    pub use crate::support::later as fetch;
}

// shape: body_glob_import — a glob import in the body that shadows prelude and our names
#[deadline(budget = "1s")]
async fn glob_import() -> Result<u32, Failure> {
    #[allow(clippy::wildcard_imports)]
    use shadowing::*;
    let n = fetch(1).await;
    drop(&n);
    let _ = (Future, Pin, Box, Poll::Ready);
    Ok(n)
}

// shape: body_tail_temporary — a guard in the tail of a parameter's lock
#[deadline(budget = "1s")]
async fn tail_guard(shared: Arc<Mutex<Vec<u32>>>) -> Result<usize, Failure> {
    tick().await;
    Ok(shared.lock().unwrap_or_else(PoisonError::into_inner).len())
}

// shape: body_tail_temporary_borrow — a tail that borrows from a temporary of itself
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn tail_borrow(map: &RwLock<HashMap<String, u32>>) -> u32 {
    tick().await;
    *map.read().unwrap().get(&String::from("a")).unwrap()
}

// shape: body_await_temporary — a temporary of the awaited expression lives until it is finished
#[deadline(budget = "1s")]
async fn await_temporary() -> Result<usize, Failure> {
    async fn length(text: &str) -> usize {
        tick().await;
        text.len()
    }
    Ok(length(&String::from("temporary")).await + length(&format!("{}", 1)).await)
}

// shape: body_await_temporary_statement — one whose temporary is a guard, with `Send` futures elsewhere
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn noisy_temporaries(log: Log) {
    async fn use_it(noisy: &Noisy) {
        tick().await;
        let _ = noisy.name;
    }
    use_it(&log.noisy("statement")).await;
    log.note("after statement");
    let () = use_it(&log.noisy("let")).await;
    log.note("after let");
    match use_it(&log.noisy("match")).await {
        () if log.events().is_empty() => {}
        () => log.note("in match"),
    }
    log.note("after match");
    if later(log.noisy("condition")).await.name.len() > 3 {
        log.note("in if");
    }
}

async fn noisy_temporaries_plain(log: Log) {
    async fn use_it(noisy: &Noisy) {
        tick().await;
        let _ = noisy.name;
    }
    use_it(&log.noisy("statement")).await;
    log.note("after statement");
    let () = use_it(&log.noisy("let")).await;
    log.note("after let");
    match use_it(&log.noisy("match")).await {
        () if log.events().is_empty() => {}
        () => log.note("in match"),
    }
    log.note("after match");
    if later(log.noisy("condition")).await.name.len() > 3 {
        log.note("in if");
    }
}

// shape: body_loop_without_await — a loop with values that are not Send
#[deadline(budget = "1s")]
async fn loop_not_send() -> Result<u32, Failure> {
    let sum = {
        let shared = std::rc::Rc::new(std::cell::Cell::new(0));
        for n in 0..3 {
            let shared = std::rc::Rc::clone(&shared);
            shared.set(shared.get() + n);
        }
        shared.get()
    };
    Ok(later(sum).await)
}

// shape: body_loop_empty — loops with an empty body and with a single expression
#[deadline(budget = "1s")]
async fn loop_small() -> Result<u32, Failure> {
    let mut items = vec![1, 2, 3].into_iter();
    while items.next().is_some() {}
    let mut n = 0;
    while n < 3 {
        n += 1;
    }
    for _ in 0..2 {}
    Ok(later(n).await)
}

// shape: body_loop_breaks_at_once — a loop that never comes round
#[deadline(budget = "1s")]
#[allow(clippy::never_loop)]
async fn loop_once() -> Result<u32, Failure> {
    let n = loop {
        break 1;
    };
    Ok(later(n).await)
}

// shape: body_loop_inner_attribute — attributes on loops and inner ones in them, which rustfmt would delete
#[deadline(budget = "1s")]
#[rustfmt::skip]
async fn loop_attributes() -> Result<u32, Failure> {
    let mut sum = 0;
    #[allow(clippy::explicit_counter_loop)]
    for _ in 0..3 {
        sum += 1;
    }
    while sum < 5 {
        #![allow(unused_variables)]
        let unused = later(1).await;
        sum += 1;
    }
    Ok(later(sum).await)
}

// shape: body_loop_assigns_late — definite initialisation through a loop
#[deadline(budget = "1s")]
async fn loop_initialises() -> Result<u32, Failure> {
    let value;
    loop {
        let n = later(7).await;
        if n > 3 {
            value = n;
            break;
        }
    }
    Ok(value)
}

// shape: body_non_send_before_await — a value that is not Send, dropped before the await
#[deadline(budget = "1s")]
async fn non_send_dropped() -> Result<u32, Failure> {
    let n = {
        let rc = std::rc::Rc::new(1);
        *rc
    };
    Ok(later(n).await)
}

// shape: body_unreachable_tail — code after a loop that never ends is not needed
#[deadline(budget = "1s")]
async fn unreachable_tail(list: &mut Vec<u32>) -> Result<u32, Failure> {
    loop {
        tick().await;
        if let Some(n) = list.pop() {
            break Ok(n);
        }
        list.push(1);
    }
}

// shape: body_unit_let — `let () =` and blocks as statements
#[deadline(budget = "1s", fallback = panic!("stopped"))]
#[allow(clippy::semicolon_if_nothing_returned)]
async fn unit_let() {
    let () = tick().await;
    {
        tick().await;
    }
    tick().await
}

// shape: body_tail_semicolon_less_unit — a unit tail without a semicolon
#[deadline(budget = "1s", fallback = panic!("stopped"))]
#[allow(clippy::semicolon_if_nothing_returned)]
async fn unit_if(really: bool) {
    if really {
        tick().await
    }
}

// shape: body_unsafe_block — an unsafe block around an await
#[deadline(budget = "1s")]
async fn unsafe_block() -> Result<u32, Failure> {
    /// # Safety
    /// None needed.
    async unsafe fn dangerous() -> u32 {
        later(1).await
    }
    // SAFETY: it has no precondition.
    Ok(unsafe { dangerous().await })
}

// shape: body_const_block — a `const` block in the body
#[deadline(budget = "1s")]
async fn const_block() -> Result<u32, Failure> {
    Ok(later(const { 1 + 2 }).await)
}

// shape: body_locals_of_ours — locals named as ours may be
#[deadline(budget = "1s")]
async fn our_locals() -> Result<u32, Failure> {
    let future = later(1);
    let stopped = future.await;
    let limit = later(stopped).await;
    let ret = later(limit).await;
    let value = Some(ret);
    let shield = value.map(|v| v + 1);
    Ok(later(shield.unwrap_or(stopped)).await)
}

// shape: body_items_of_ours — consts and functions named as ours may be
#[deadline(budget = "1s")]
async fn our_items() -> Result<u32, Failure> {
    const SCOPE: u32 = 1;
    const LIMIT: u32 = 2;
    const fn stop() -> u32 {
        3
    }
    Ok(later(SCOPE + LIMIT).await + stop())
}

trait Gate {
    fn gate(self) -> u32;
}
impl<T> Gate for T {
    fn gate(self) -> u32 {
        8
    }
}

// shape: body_blanket_method — a user's blanket trait with our method's name in scope
#[deadline(budget = "1s")]
async fn blanket_method() -> Result<u32, Failure> {
    let n = later(1).await;
    Ok(n.gate() + recursion(1).await? + later(2).await)
}

// shape: body_many_awaits — more than a hundred awaits in one function
#[deadline(budget = "1s")]
#[allow(clippy::too_many_lines)]
async fn many_awaits() -> Result<u32, Failure> {
    let mut n = 0;
    n += later(1).await + later(1).await + later(1).await + later(1).await + later(1).await;
    n += later(1).await + later(1).await + later(1).await + later(1).await + later(1).await;
    n += later(1).await + later(1).await + later(1).await + later(1).await + later(1).await;
    n += later(1).await + later(1).await + later(1).await + later(1).await + later(1).await;
    n += later(1).await + later(1).await + later(1).await + later(1).await + later(1).await;
    n += later(1).await + later(1).await + later(1).await + later(1).await + later(1).await;
    n += later(1).await + later(1).await + later(1).await + later(1).await + later(1).await;
    n += later(1).await + later(1).await + later(1).await + later(1).await + later(1).await;
    n += later(1).await + later(1).await + later(1).await + later(1).await + later(1).await;
    n += later(1).await + later(1).await + later(1).await + later(1).await + later(1).await;
    n += later(1).await + later(1).await + later(1).await + later(1).await + later(1).await;
    n += later(1).await + later(1).await + later(1).await + later(1).await + later(1).await;
    n += later(1).await + later(1).await + later(1).await + later(1).await + later(1).await;
    n += later(1).await + later(1).await + later(1).await + later(1).await + later(1).await;
    n += later(1).await + later(1).await + later(1).await + later(1).await + later(1).await;
    n += later(1).await + later(1).await + later(1).await + later(1).await + later(1).await;
    n += later(1).await + later(1).await + later(1).await + later(1).await + later(1).await;
    n += later(1).await + later(1).await + later(1).await + later(1).await + later(1).await;
    n += later(1).await + later(1).await + later(1).await + later(1).await + later(1).await;
    n += later(1).await + later(1).await + later(1).await + later(1).await + later(1).await;
    n += later(1).await + later(1).await + later(1).await + later(1).await + later(1).await;
    n += later(1).await + later(1).await + later(1).await + later(1).await + later(1).await;
    n += later(1).await + later(1).await + later(1).await + later(1).await + later(1).await;
    n += later(1).await + later(1).await + later(1).await + later(1).await + later(1).await;
    Ok(n)
}

// shape: body_borrow_across_statement — a mutable borrow that ends exactly at its await
#[deadline(budget = "1s")]
async fn borrow_ends() -> Result<Vec<u32>, Failure> {
    async fn push(list: &mut Vec<u32>, n: u32) -> &mut Vec<u32> {
        tick().await;
        list.push(n);
        list
    }
    let mut list = vec![];
    push(push(&mut list, 1).await, 2).await.push(3);
    list.push(later(list[2]).await);
    Ok(list)
}

// shape: body_late_inference — a type that only a later statement fixes
#[deadline(budget = "1s")]
async fn late_inference() -> Result<Vec<u32>, Failure> {
    let mut list = later(Vec::new()).await;
    let mut none = later(None).await;
    list.push(1);
    if list.is_empty() {
        none = Some(2_u32);
    }
    list.extend(none);
    Ok(list)
}

#[test]
fn values() {
    run(async {
        assert_eq!(closure_return(0).await, Ok(1));
        assert_eq!(closure_question("1,2").await, Ok(1));
        assert_eq!(closure_loop(4).await, Ok(6));
        assert_eq!(async_block("x").await, Ok(0));
        assert_eq!(async_block_return(1).await, Ok(1));
        assert_eq!(async_closure("7").await, Ok(8));
        assert_eq!(nested_function().await, Ok(3));
        assert_eq!(nested_annotated().await, Ok(4));
        assert_eq!(nested_items().await, Ok(42));
        assert_eq!(same_name().await, Ok(5));
        assert_eq!(shadowed_type("a".into()).await.unwrap(), "a0");
        assert_eq!(inner_module().await, Ok(42));
        assert_eq!(labelled().await, Ok(38));
        assert_eq!(labelled_block(1).await, Ok("one"));
        assert_eq!(our_labels().await, Ok(5));
        assert_eq!(while_condition().await, Ok(3));
        assert_eq!(while_let().await, Ok(6));
        assert_eq!(if_condition(true).await, Ok(1));
        assert_eq!(if_let(None).await, Ok(9));
        assert_eq!(match_scrutinee(0).await, Ok(1));
        assert_eq!(match_guard(6).await, Ok("big"));
        assert_eq!(let_else(None).await, Err(Failure::Refused("nothing")));
        assert_eq!(let_else_continue(&["1", "x", "2"]).await, Ok(3));
        assert_eq!(operators(&[0, 10]).await, Ok(13));
        assert_eq!(arguments().await, Ok(4));
        assert_eq!(literals().await, Ok(15));
        assert_eq!(chain().await, Ok(3));
        assert_eq!(await_of_await().await, Ok(1));
        assert_eq!(casts().await, Ok(6));
        assert_eq!(assignment().await.unwrap(), [4, 2, 3]);
        assert_eq!(break_value(false).await, Ok(2));
        assert_eq!(into_future().await, Ok(6));
        assert_eq!(await_reference().await, Ok(6));
        assert_eq!(await_macro().await, Ok(3));
        assert_eq!(recursion(4).await, Ok(10));
        assert_eq!(even(5).await, Ok(false));
        assert_eq!(countdown(3).await, Ok(3));
        assert_eq!(inner_attributes().await, Ok(1));
        assert_eq!(inner_doc().await, Ok(1));
        assert_eq!(expect_function().await, Ok(1));
        assert_eq!(expect_statement().await, Ok(2));
        assert_eq!(expect_expression().await, Ok(1));
        assert_eq!(cfg_statements().await, Ok(1));
        assert_eq!(cfg_arms(1).await, Ok(1));
        assert_eq!(glob_import().await, Ok(1));
        assert_eq!(tail_guard(Arc::default()).await, Ok(0));
        let map = RwLock::new(HashMap::from([("a".to_owned(), 1)]));
        assert_eq!(tail_borrow(&map).await, 1);
        assert_eq!(await_temporary().await, Ok(10));
        assert_eq!(loop_not_send().await, Ok(3));
        assert_eq!(loop_small().await, Ok(3));
        assert_eq!(loop_once().await, Ok(1));
        assert_eq!(loop_attributes().await, Ok(5));
        assert_eq!(loop_initialises().await, Ok(7));
        assert_eq!(non_send_dropped().await, Ok(1));
        assert_eq!(unreachable_tail(&mut vec![]).await, Ok(1));
        unit_let().await;
        unit_if(true).await;
        assert_eq!(unsafe_block().await, Ok(1));
        assert_eq!(const_block().await, Ok(3));
        assert_eq!(our_locals().await, Ok(2));
        assert_eq!(our_items().await, Ok(6));
        assert_eq!(blanket_method().await, Ok(11));
        assert_eq!(many_awaits().await, Ok(120));
        assert_eq!(borrow_ends().await.unwrap(), [1, 2, 3, 3]);
        assert_eq!(late_inference().await.unwrap(), [1]);
    });
}

#[test]
fn temporaries() {
    assert_eq!(
        finished(|log| noisy_temporaries(log.clone())),
        finished(|log| noisy_temporaries_plain(log.clone()))
    );
}
