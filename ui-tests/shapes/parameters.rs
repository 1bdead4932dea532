//! Every pattern and type a parameter can have.
use crate::support::{Failure, Log, Noisy, later, run, tick};
use deadline_runtime::deadline;
use std::{convert::Infallible, fmt::Display};

struct Point {
    x: i32,
    y: i32,
}

struct Unit;

struct Wrapper<T>(T);

struct Nested {
    point: Point,
    rest: (u8, u8, u8),
}

// shape: parameter_plain — one named parameter
#[deadline(budget = "1s")]
async fn plain(n: u32) -> Result<u32, Failure> {
    tick().await;
    Ok(n)
}

// shape: parameter_none — no parameters at all
#[deadline(budget = "1s")]
async fn none() -> Result<u32, Failure> {
    Ok(later(1).await)
}

// shape: parameter_tuple — a tuple pattern
#[deadline(budget = "1s")]
async fn tuple((a, b): (u32, u32)) -> Result<u32, Failure> {
    tick().await;
    Ok(a + b)
}

// shape: parameter_mut_in_tuple — `mut` inside of a pattern
#[deadline(budget = "1s")]
async fn tuple_mut((mut a, b): (u32, u32)) -> Result<u32, Failure> {
    tick().await;
    a += b;
    Ok(a)
}

// shape: parameter_struct — a struct pattern
#[deadline(budget = "1s")]
async fn structure(Point { x, y }: Point) -> Result<i32, Failure> {
    tick().await;
    Ok(x + y)
}

// shape: parameter_struct_renamed — a struct pattern with renamed fields and a rest
#[deadline(budget = "1s")]
async fn renamed(Point { x: left, .. }: Point) -> Result<i32, Failure> {
    tick().await;
    Ok(left)
}

// shape: parameter_nested_pattern — patterns in patterns
#[deadline(budget = "1s")]
async fn nested(
    Nested {
        point: Point { x, y: _ },
        rest: (first, .., last),
    }: Nested,
) -> Result<i32, Failure> {
    tick().await;
    Ok(x + i32::from(first) + i32::from(last))
}

// shape: parameter_newtype — the extractor style of web frameworks
#[deadline(budget = "1s")]
async fn newtype(Wrapper(inner): Wrapper<String>) -> Result<usize, Failure> {
    tick().await;
    Ok(inner.len())
}

// shape: parameter_unit_struct — a pattern that binds nothing
#[deadline(budget = "1s")]
async fn unit_struct(Unit: Unit, (): ()) -> Result<u32, Failure> {
    Ok(later(3).await)
}

// shape: parameter_array — an array pattern
#[deadline(budget = "1s")]
async fn array([a, .., c]: [u32; 4]) -> Result<u32, Failure> {
    tick().await;
    Ok(a + c)
}

// shape: parameter_reference_pattern — `&x`
#[deadline(budget = "1s")]
async fn reference(&n: &u32) -> Result<u32, Failure> {
    tick().await;
    Ok(n)
}

// shape: parameter_reference_tuple — `&(a, ref b)`
#[deadline(budget = "1s")]
async fn reference_tuple(&(a, ref b): &(u32, String)) -> Result<usize, Failure> {
    tick().await;
    Ok(a as usize + b.len())
}

// shape: parameter_ref_binding — `ref` borrows from the parameter itself
#[deadline(budget = "1s")]
#[allow(clippy::toplevel_ref_arg)]
async fn ref_binding(ref text: String) -> Result<usize, Failure> {
    tick().await;
    Ok(text.len())
}

// shape: parameter_ref_mut_binding — `ref mut` does as well
#[deadline(budget = "1s")]
#[allow(clippy::toplevel_ref_arg)]
async fn ref_mut_binding(ref mut text: String) -> Result<usize, Failure> {
    text.push('!');
    tick().await;
    Ok(text.len())
}

// shape: parameter_at_binding — `whole @ (a, _)`
#[deadline(budget = "1s")]
async fn at_binding(whole @ (a, _): (u32, u32)) -> Result<u32, Failure> {
    tick().await;
    Ok(a + whole.1)
}

// shape: parameter_or_pattern — an irrefutable alternative
#[deadline(budget = "1s")]
async fn or_pattern((Ok(n) | Err(n)): Result<u32, u32>) -> Result<u32, Failure> {
    tick().await;
    Ok(n)
}

// shape: parameter_infallible — a pattern that is irrefutable because a variant is empty
#[deadline(budget = "1s")]
async fn infallible(Ok(n): Result<u32, Infallible>) -> Result<u32, Failure> {
    tick().await;
    Ok(n)
}

// shape: parameter_blank — `_`
#[deadline(budget = "1s")]
async fn blank(_: u32, _: &str) -> Result<u32, Failure> {
    Ok(later(4).await)
}

// shape: parameter_underscored — `_x`, unused and without a warning
#[deadline(budget = "1s")]
async fn underscored(_unused: String) -> Result<u32, Failure> {
    Ok(later(5).await)
}

// shape: parameter_mut — `mut x`
#[deadline(budget = "1s")]
async fn mutable(mut n: u32) -> Result<u32, Failure> {
    n += 1;
    tick().await;
    n += 1;
    Ok(n)
}

// shape: parameter_reassigned_str — `mut s: &str` reassigned from itself and from a local
#[deadline(budget = "1s")]
async fn reassigned(mut s: &str) -> Result<usize, Failure> {
    let local = s.to_uppercase();
    if s.len() > 3 {
        s = &s[1..];
    }
    tick().await;
    let before = s.len();
    s = &local;
    tick().await;
    Ok(before + s.len())
}

// shape: parameter_reassigned_slice — the same with a slice that is consumed in a loop
#[deadline(budget = "1s")]
async fn consumed(mut rest: &[u8]) -> Result<u32, Failure> {
    let mut sum = 0;
    while let [first, tail @ ..] = rest {
        sum += u32::from(*first);
        rest = tail;
        tick().await;
    }
    Ok(sum)
}

// shape: parameter_reassigned_reference — a reference replaced by one to a local value
#[deadline(budget = "1s")]
async fn replaced(mut text: &String) -> Result<usize, Failure> {
    let local = String::from("local");
    if text.is_empty() {
        text = &local;
    }
    tick().await;
    Ok(text.len())
}

// shape: parameter_mut_reborrowed — a `&mut` parameter lent out twice
#[deadline(budget = "1s")]
async fn reborrowed(list: &mut Vec<u32>) -> Result<usize, Failure> {
    async fn push(list: &mut Vec<u32>) {
        tick().await;
        list.push(1);
    }
    push(list).await;
    push(&mut *list).await;
    Ok(list.len())
}

// shape: parameter_cfg_off — a parameter that is configured away, with a type that does not exist
#[deadline(budget = "1s")]
async fn cfg_off(n: u32, #[cfg(any())] gone: Missing) -> Result<u32, Failure> {
    tick().await;
    Ok(n)
}

// shape: parameter_cfg_on — a parameter that stays
#[deadline(budget = "1s")]
async fn cfg_on(#[cfg(not(any()))] n: u32, #[cfg(any())] n: String) -> Result<u32, Failure> {
    tick().await;
    Ok(n)
}

// shape: parameter_allow — a lint attribute on a parameter
#[deadline(budget = "1s")]
async fn allowed(#[allow(unused_variables)] n: u32) -> Result<u32, Failure> {
    Ok(later(6).await)
}

// shape: parameter_expect — `#[expect]` on a parameter is fulfilled exactly once
#[deadline(budget = "1s")]
async fn expected(#[expect(unused_variables)] n: u32) -> Result<u32, Failure> {
    Ok(later(6).await)
}

// shape: parameter_allow_mut — a lint attribute about `mut`
#[deadline(budget = "1s")]
async fn allowed_mut(#[allow(unused_mut)] mut n: u32) -> Result<u32, Failure> {
    tick().await;
    Ok(n)
}

// shape: parameter_doc_cfg_attr — `cfg_attr` on a parameter
#[deadline(budget = "1s")]
async fn cfg_attr(#[cfg_attr(not(any()), allow(unused_variables))] n: u32) -> Result<u32, Failure> {
    Ok(later(6).await)
}

// shape: parameter_raw_identifier — `r#type`
#[deadline(budget = "1s")]
async fn r#match(r#type: u32, r#loop: u32) -> Result<u32, Failure> {
    tick().await;
    Ok(r#type + r#loop)
}

// shape: parameter_impl_trait — `impl Trait` in argument position
#[deadline(budget = "1s")]
async fn impl_trait(value: impl Display + Send + Sync) -> Result<String, Failure> {
    tick().await;
    Ok(value.to_string())
}

// shape: parameter_impl_into — `impl Into<String>` used before the first await
#[deadline(budget = "1s")]
async fn impl_into(value: impl Into<String> + Send) -> Result<String, Failure> {
    let value = value.into();
    tick().await;
    Ok(value)
}

// shape: parameter_impl_reference — `&impl Trait`
#[deadline(budget = "1s")]
async fn impl_reference(value: &(impl Display + Sync)) -> Result<String, Failure> {
    tick().await;
    Ok(value.to_string())
}

// shape: parameter_impl_fn — `impl Fn`
#[deadline(budget = "1s")]
async fn impl_fn(f: impl Fn(u32) -> u32 + Send) -> Result<u32, Failure> {
    tick().await;
    Ok(f(1))
}

// shape: parameter_impl_fn_mut — `mut f: impl FnMut`
#[deadline(budget = "1s")]
async fn impl_fn_mut(mut f: impl FnMut() -> u32 + Send) -> Result<u32, Failure> {
    f();
    tick().await;
    Ok(f())
}

// shape: parameter_impl_async_fn — `impl AsyncFn` with a borrowed argument
#[deadline(budget = "1s")]
#[allow(clippy::future_not_send)]
async fn impl_async_fn(f: impl AsyncFn(&str) -> usize) -> Result<usize, Failure> {
    Ok(f("abc").await + f("d").await)
}

// shape: parameter_impl_async_fn_mut — `impl AsyncFnMut` that keeps state
#[deadline(budget = "1s")]
#[allow(clippy::future_not_send)]
async fn impl_async_fn_mut(mut f: impl AsyncFnMut(u32)) -> Result<(), Failure> {
    f(1).await;
    f(2).await;
    Ok(())
}

// shape: parameter_impl_async_fn_once — `impl AsyncFnOnce` consumed by the call
#[deadline(budget = "1s")]
#[allow(clippy::future_not_send)]
async fn impl_async_fn_once(f: impl AsyncFnOnce() -> String) -> Result<String, Failure> {
    Ok(f().await)
}

// shape: parameter_impl_future — a future as a parameter
#[deadline(budget = "1s")]
async fn impl_future(
    future: impl std::future::Future<Output = u32> + Send,
) -> Result<u32, Failure> {
    Ok(future.await)
}

// shape: parameter_dyn — `&dyn Trait`
#[deadline(budget = "1s")]
async fn dynamic(value: &(dyn Display + Sync)) -> Result<String, Failure> {
    tick().await;
    Ok(value.to_string())
}

// shape: parameter_dyn_mut — `&mut dyn FnMut`
#[deadline(budget = "1s")]
async fn dynamic_mut(f: &mut (dyn FnMut() -> u32 + Send)) -> Result<u32, Failure> {
    tick().await;
    Ok(f())
}

// shape: parameter_box_dyn — `Box<dyn FnOnce>` called by value
#[deadline(budget = "1s")]
async fn box_dyn(f: Box<dyn FnOnce() -> u32 + Send>) -> Result<u32, Failure> {
    tick().await;
    Ok(f())
}

// shape: parameter_fn_pointer — a function pointer with a borrowed argument
#[deadline(budget = "1s")]
async fn fn_pointer(f: fn(&str) -> usize, s: &str) -> Result<usize, Failure> {
    tick().await;
    Ok(f(s))
}

// shape: parameter_twelve — twelve parameters
#[deadline(budget = "1s")]
#[allow(clippy::too_many_arguments, clippy::many_single_char_names)]
async fn twelve(
    a: u8,
    b: u16,
    c: u32,
    d: u64,
    e: i8,
    f: i16,
    g: i32,
    h: i64,
    i: char,
    j: bool,
    k: &str,
    l: String,
) -> Result<usize, Failure> {
    tick().await;
    let text = format!("{a}{b}{c}{d}{e}{f}{g}{h}{i}{j}{k}{l}");
    Ok(text.len())
}

// shape: parameter_names_of_ours — every local name the expansion may use, as parameters
#[deadline(budget = "1s")]
#[allow(clippy::too_many_arguments)]
async fn our_names(
    future: u32,
    body: u32,
    stopped: u32,
    parent: u32,
    limit: u32,
    ret: u32,
    value: u32,
    scope: u32,
    shield: u32,
    fallback: u32,
    v: u32,
    e: u32,
    cx: u32,
    rt: u32,
    r#gen: u32,
) -> Result<u32, Failure> {
    tick().await;
    let mut sum = 0;
    for n in [future, body, stopped, parent, limit, ret, value, scope] {
        sum += n;
    }
    Ok(sum + shield + fallback + v + e + cx + rt + r#gen)
}

// shape: parameter_constant_names — parameters in capitals beside our constants
#[deadline(budget = "1s")]
#[allow(non_snake_case)]
async fn constant_names(SCOPE: u32, LIMIT: u32, SHIELD: u32) -> Result<u32, Failure> {
    tick().await;
    Ok(SCOPE + LIMIT + SHIELD)
}

// shape: parameter_named_as_function — a parameter that shadows its own function
#[deadline(budget = "1s")]
async fn shadowed(shadowed: u32) -> Result<u32, Failure> {
    tick().await;
    Ok(shadowed)
}

// shape: parameter_named_as_crate — parameters named after crates and modules
#[deadline(budget = "1s")]
async fn crates(core: u32, std: u32, deadline_runtime: u32) -> Result<u32, Failure> {
    tick().await;
    Ok(core + std + deadline_runtime)
}

// shape: parameter_trailing_comma — trailing comma and line breaks
#[deadline(budget = "1s")]
#[rustfmt::skip]
async fn trailing(
    a: u32,
    b: u32,
) -> Result<u32, Failure> { tick().await; Ok(a + b) }

macro_rules! pair_pattern {
    ($a:ident, $b:ident) => {
        ($a, $b)
    };
}

macro_rules! pair_type {
    () => {
        (u32, u32)
    };
}

// shape: parameter_macro_pattern — pattern and type come from macros
#[deadline(budget = "1s")]
async fn macro_pattern(pair_pattern!(a, b): pair_type!()) -> Result<u32, Failure> {
    tick().await;
    Ok(a + b)
}

// shape: parameter_shadowed_in_body — a `let` with the parameter's name and another type
#[deadline(budget = "1s")]
async fn shadow_in_body(n: &str) -> Result<u32, Failure> {
    let n: u32 = n.parse()?;
    tick().await;
    Ok(n)
}

// shape: parameter_moved_conditionally — a parameter moved on one path only
#[deadline(budget = "1s")]
async fn moved_sometimes(text: String, keep: bool) -> Result<Option<String>, Failure> {
    if keep {
        tick().await;
        return Ok(Some(text));
    }
    Ok(None)
}

// shape: drop_order_named — named parameters, last one first
twin!(named_ours, named_plain, (first: Noisy, second: Noisy) {
    tick().await;
    let _ = (&first, &second);
});

// shape: drop_order_blank — `_` among named ones
twin!(blank_ours, blank_plain, (first: Noisy, _: Noisy, third: Noisy) {
    tick().await;
    let _ = (&first, &third);
});

// shape: drop_order_unused — unused ones are not dropped before the body
twin!(unused_ours, unused_plain, (_first: Noisy, _second: Noisy, log: Log) {
    log.note("entered");
    tick().await;
    log.note("leaving");
});

// shape: drop_order_partly_bound — the unbound half of a pattern lives as long as the parameter
twin!(partial_ours, partial_plain, ((first, _): (Noisy, Noisy), third: Noisy) {
    tick().await;
    let _ = (&first, &third);
});

// shape: drop_order_destructured — every part bound
twin!(destructured_ours, destructured_plain, ((first, second): (Noisy, Noisy), [third, fourth]: [Noisy; 2]) {
    tick().await;
    let _ = (&first, &second, &third, &fourth);
});

// shape: drop_order_moved — a parameter moved in the body
twin!(moved_ours, moved_plain, (first: Noisy, second: Noisy, third: Noisy) {
    drop(second);
    tick().await;
    let _ = (&first, &third);
});

// shape: drop_order_locals — locals before parameters
twin!(locals_ours, locals_plain, (first: Noisy, log: Log) {
    let _local = log.noisy("local");
    tick().await;
    let _second = log.noisy("second local");
    let _ = &first;
});

// shape: drop_order_tail_temporary — temporaries of the tail against locals and parameters
twin!(tail_ours, tail_plain, (first: Noisy, log: Log) -> usize {
    let _local = log.noisy("local");
    tick().await;
    log.noisy("temporary").name.len() + first.name.len()
});

// shape: drop_order_early_return — return from the middle
twin!(early_ours, early_plain, (first: Noisy, log: Log) -> usize {
    let local = log.noisy("local");
    tick().await;
    if local.name == "local" {
        return log.noisy("temporary").name.len();
    }
    first.name.len()
});

// shape: drop_order_ref_binding — `ref` parameters
twin!(ref_ours, ref_plain, (#[allow(clippy::toplevel_ref_arg)] ref first: Noisy, second: Noisy) {
    tick().await;
    let _ = (&first, &second);
});

// shape: drop_order_shadowed — a parameter shadowed by a local
twin!(shadowed_ours, shadowed_plain, (value: Noisy, log: Log) {
    let value = (log.noisy("shadow"), value);
    tick().await;
    let _ = &value;
});

// shape: drop_order_replaced — a parameter that is assigned
twin!(replaced_ours, replaced_plain, (mut value: Noisy, log: Log) {
    log.note(value.name);
    value = log.noisy("new");
    tick().await;
    let _ = &value;
});

// shape: drop_order_panic_free_tail — a tail that borrows a parameter through a guard
twin!(guard_ours, guard_plain, (cell: std::sync::Mutex<Noisy>) -> usize {
    tick().await;
    cell.lock().unwrap().name.len()
});

#[test]
fn drops() {
    same_drops!(|log| named_ours(log.noisy("1"), log.noisy("2")), |log| {
        named_plain(log.noisy("1"), log.noisy("2"))
    });
    same_drops!(
        |log| blank_ours(log.noisy("1"), log.noisy("2"), log.noisy("3")),
        |log| blank_plain(log.noisy("1"), log.noisy("2"), log.noisy("3"))
    );
    same_drops!(
        |log| unused_ours(log.noisy("1"), log.noisy("2"), log.clone()),
        |log| unused_plain(log.noisy("1"), log.noisy("2"), log.clone())
    );
    same_drops!(
        |log| partial_ours((log.noisy("1"), log.noisy("2")), log.noisy("3")),
        |log| partial_plain((log.noisy("1"), log.noisy("2")), log.noisy("3"))
    );
    same_drops!(
        |log| destructured_ours(
            (log.noisy("1"), log.noisy("2")),
            [log.noisy("3"), log.noisy("4")]
        ),
        |log| destructured_plain(
            (log.noisy("1"), log.noisy("2")),
            [log.noisy("3"), log.noisy("4")]
        )
    );
    same_drops!(
        |log| moved_ours(log.noisy("1"), log.noisy("2"), log.noisy("3")),
        |log| moved_plain(log.noisy("1"), log.noisy("2"), log.noisy("3"))
    );
    same_drops!(|log| locals_ours(log.noisy("1"), log.clone()), |log| {
        locals_plain(log.noisy("1"), log.clone())
    });
    same_drops!(|log| tail_ours(log.noisy("1"), log.clone()), |log| {
        tail_plain(log.noisy("1"), log.clone())
    });
    same_drops!(|log| early_ours(log.noisy("1"), log.clone()), |log| {
        early_plain(log.noisy("1"), log.clone())
    });
    same_drops!(|log| ref_ours(log.noisy("1"), log.noisy("2")), |log| {
        ref_plain(log.noisy("1"), log.noisy("2"))
    });
    same_drops!(|log| shadowed_ours(log.noisy("1"), log.clone()), |log| {
        shadowed_plain(log.noisy("1"), log.clone())
    });
    same_drops!(|log| replaced_ours(log.noisy("1"), log.clone()), |log| {
        replaced_plain(log.noisy("1"), log.clone())
    });
    same_drops!(
        |log| guard_ours(std::sync::Mutex::new(log.noisy("1"))),
        |log| guard_plain(std::sync::Mutex::new(log.noisy("1")))
    );
}

#[test]
fn values() {
    run(async {
        assert_eq!(plain(1).await, Ok(1));
        assert_eq!(none().await, Ok(1));
        assert_eq!(tuple((1, 2)).await, Ok(3));
        assert_eq!(tuple_mut((1, 2)).await, Ok(3));
        assert_eq!(structure(Point { x: 1, y: 2 }).await, Ok(3));
        assert_eq!(renamed(Point { x: 1, y: 2 }).await, Ok(1));
        let deep = Nested {
            point: Point { x: 1, y: 2 },
            rest: (3, 4, 5),
        };
        assert_eq!(nested(deep).await, Ok(9));
        assert_eq!(newtype(Wrapper("abc".into())).await, Ok(3));
        assert_eq!(unit_struct(Unit, ()).await, Ok(3));
        assert_eq!(array([1, 2, 3, 4]).await, Ok(5));
        assert_eq!(reference(&1).await, Ok(1));
        assert_eq!(reference_tuple(&(1, "ab".into())).await, Ok(3));
        assert_eq!(ref_binding("ab".into()).await, Ok(2));
        assert_eq!(ref_mut_binding("ab".into()).await, Ok(3));
        assert_eq!(at_binding((1, 2)).await, Ok(3));
        assert_eq!(or_pattern(Ok(1)).await, Ok(1));
        assert_eq!(infallible(Ok(1)).await, Ok(1));
        assert_eq!(blank(1, "").await, Ok(4));
        assert_eq!(underscored(String::new()).await, Ok(5));
        assert_eq!(mutable(1).await, Ok(3));
        assert_eq!(reassigned("abcd").await, Ok(7));
        assert_eq!(consumed(&[1, 2, 3]).await, Ok(6));
        assert_eq!(replaced(&String::new()).await, Ok(5));
        assert_eq!(reborrowed(&mut vec![]).await, Ok(2));
        assert_eq!(cfg_off(1).await, Ok(1));
        assert_eq!(cfg_on(1).await, Ok(1));
        assert_eq!(allowed(1).await, Ok(6));
        assert_eq!(expected(1).await, Ok(6));
        assert_eq!(allowed_mut(1).await, Ok(1));
        assert_eq!(cfg_attr(1).await, Ok(6));
        assert_eq!(r#match(1, 2).await, Ok(3));
        assert_eq!(impl_trait(1).await.unwrap(), "1");
        assert_eq!(impl_into("a").await.unwrap(), "a");
        assert_eq!(impl_reference(&1).await.unwrap(), "1");
        assert_eq!(impl_fn(|n| n + 1).await, Ok(2));
        let mut calls = 0;
        assert_eq!(
            impl_fn_mut(|| {
                calls += 1;
                calls
            })
            .await,
            Ok(2)
        );
        assert_eq!(impl_async_fn(async |s| later(s.len()).await).await, Ok(4));
        let mut sum = 0;
        impl_async_fn_mut(async |n| {
            tick().await;
            sum += n;
        })
        .await
        .unwrap();
        assert_eq!(sum, 3);
        let owned = String::from("owned");
        assert_eq!(
            impl_async_fn_once(async move || later(owned).await)
                .await
                .unwrap(),
            "owned"
        );
        assert_eq!(impl_future(later(9)).await, Ok(9));
        assert_eq!(dynamic(&1).await.unwrap(), "1");
        assert_eq!(dynamic_mut(&mut || 8).await, Ok(8));
        assert_eq!(box_dyn(Box::new(|| 8)).await, Ok(8));
        assert_eq!(fn_pointer(str::len, "abc").await, Ok(3));
        let text = twelve(1, 2, 3, 4, 5, 6, 7, 8, 'i', true, "k", "l".into());
        assert_eq!(text.await, Ok(15));
        assert_eq!(
            our_names(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1).await,
            Ok(15)
        );
        assert_eq!(constant_names(1, 2, 3).await, Ok(6));
        assert_eq!(shadowed(1).await, Ok(1));
        assert_eq!(crates(1, 2, 3).await, Ok(6));
        assert_eq!(trailing(1, 2).await, Ok(3));
        assert_eq!(macro_pattern((1, 2)).await, Ok(3));
        assert_eq!(shadow_in_body("12").await, Ok(12));
        assert_eq!(shadow_in_body("x").await, Err(Failure::Parse));
        assert_eq!(
            moved_sometimes("a".into(), true).await.unwrap().unwrap(),
            "a"
        );
        assert_eq!(moved_sometimes("a".into(), false).await, Ok(None));
    });
}
