//! Explicit, elided, several, invariant and hidden lifetimes.
use crate::support::{Failure, later, run, tick};
use deadline_runtime::deadline;
use std::{
    borrow::Cow,
    cell::Cell,
    fmt::{self, Display},
    marker::PhantomData,
    sync::{Mutex, MutexGuard},
};

// shape: lifetime_elided — one reference in, one out
#[deadline(budget = "1s")]
async fn elided(text: &str) -> Result<&str, Failure> {
    tick().await;
    Ok(text.trim())
}

// shape: lifetime_explicit — the same, named
#[deadline(budget = "1s")]
#[allow(clippy::needless_lifetimes)]
async fn explicit<'a>(text: &'a str) -> Result<&'a str, Failure> {
    tick().await;
    Ok(text.trim())
}

// shape: lifetime_two_inputs — two anonymous lifetimes that the future captures
#[deadline(budget = "1s")]
async fn two_inputs(a: &str, b: &str) -> Result<usize, Failure> {
    tick().await;
    Ok(a.len() + b.len())
}

// shape: lifetime_several — the result borrows from one of two
#[deadline(budget = "1s")]
#[allow(clippy::needless_lifetimes)]
async fn several<'a, 'b>(a: &'a str, b: &'b str) -> Result<&'a str, Failure> {
    tick().await;
    Ok(if b.is_empty() { a } else { &a[..1] })
}

// shape: lifetime_outlives — a bound between lifetimes
#[deadline(budget = "1s")]
async fn outlives<'a, 'b: 'a>(a: &'a str, b: &'b str) -> Result<&'a str, Failure> {
    tick().await;
    Ok(if a.is_empty() { b } else { a })
}

// shape: lifetime_shared — both inputs share one
#[deadline(budget = "1s")]
async fn shared<'a>(a: &'a str, b: &'a str) -> Result<[&'a str; 2], Failure> {
    tick().await;
    Ok([a, b])
}

// shape: lifetime_where — an outlives bound in the where clause
#[deadline(budget = "1s")]
async fn in_where<'a, T>(value: &'a T) -> Result<&'a T, Failure>
where
    T: 'a + Sync + ?Sized,
{
    tick().await;
    Ok(value)
}

// shape: lifetime_static — `'static` in and out
#[deadline(budget = "1s")]
async fn statics(a: &'static str) -> Result<&'static str, Failure> {
    tick().await;
    Ok(a)
}

// shape: lifetime_static_result_of_borrow — a result that does not borrow from the input
#[deadline(budget = "1s")]
async fn static_result(a: &str) -> Result<&'static str, Failure> {
    tick().await;
    Ok(if a.is_empty() { "empty" } else { "full" })
}

// shape: lifetime_invariant_mut — an invariant lifetime behind `&mut Vec<&'a _>`
#[deadline(budget = "1s")]
async fn invariant_mut<'a>(list: &mut Vec<&'a str>, item: &'a str) -> Result<(), Failure> {
    tick().await;
    list.push(item);
    Ok(())
}

// shape: lifetime_invariant_cell — an invariant lifetime in a cell, in a future that is not Send
#[deadline(budget = "1s")]
#[allow(clippy::future_not_send)]
async fn invariant_cell<'a>(cell: &Cell<&'a str>, text: &'a str) -> Result<&'a str, Failure> {
    let before = cell.replace(text);
    tick().await;
    Ok(before)
}

struct Invariant<'a>(PhantomData<fn(&'a ()) -> &'a ()>);

// shape: lifetime_invariant_marker — two invariant parameters that cannot be unified
#[deadline(budget = "1s")]
#[allow(clippy::needless_lifetimes)]
async fn invariant_markers<'a, 'b>(
    a: Invariant<'a>,
    b: Invariant<'b>,
) -> Result<(Invariant<'a>, Invariant<'b>), Failure> {
    tick().await;
    Ok((a, b))
}

struct View<'a> {
    text: &'a str,
}

struct Pair<'a, 'b> {
    left: &'a str,
    right: &'b str,
}

// shape: lifetime_anonymous — `View<'_>`
#[deadline(budget = "1s")]
async fn anonymous(view: View<'_>) -> Result<usize, Failure> {
    tick().await;
    Ok(view.text.len())
}

// shape: lifetime_hidden — hidden in the signature of a callback
#[deadline(budget = "1s")]
#[allow(elided_lifetimes_in_paths)]
async fn hidden(f: &(dyn Fn(View) -> usize + Sync)) -> Result<usize, Failure> {
    let local = String::from("abc");
    tick().await;
    Ok(f(View { text: &local }))
}

trait Named {}
impl<T> Named for T {}

// shape: lifetime_hidden_type — an opaque type that captures a lifetime its bounds do not name
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn hidden_type(text: &str) -> impl Named + use<'_> {
    tick().await;
    View { text }
}

// shape: lifetime_hidden_two — the same with two of them, one invariant
#[deadline(budget = "1s", fallback = panic!("stopped"))]
async fn hidden_two<'a, 'b>(list: &'a mut Vec<&'b str>) -> impl Named + use<'a, 'b> {
    tick().await;
    list.push("hidden");
    list
}

// shape: lifetime_formatter — the usual hidden one, in a non-Send future
#[deadline(budget = "1s", fallback = Err(fmt::Error))]
#[allow(clippy::future_not_send)]
async fn formatter(f: &mut fmt::Formatter<'_>) -> fmt::Result {
    tick().await;
    f.write_str("formatted")
}

// shape: lifetime_two_in_struct — a struct with two, one of them returned
#[deadline(budget = "1s")]
#[allow(clippy::needless_lifetimes)]
async fn two_in_struct<'a, 'b>(pair: Pair<'a, 'b>) -> Result<(&'b str, &'a str), Failure> {
    tick().await;
    Ok((pair.right, pair.left))
}

// shape: lifetime_nested_references — `&'a mut &'b str`
#[deadline(budget = "1s")]
async fn nested<'b>(text: &mut &'b str) -> Result<&'b str, Failure> {
    tick().await;
    let (head, tail) = text.split_at(1);
    *text = tail;
    Ok(head)
}

// shape: lifetime_dyn_bound — `dyn Trait + 'a`
#[deadline(budget = "1s")]
async fn dyn_bound<'a>(
    value: Box<dyn Display + Send + 'a>,
) -> Result<Box<dyn Display + Send + 'a>, Failure> {
    tick().await;
    Ok(value)
}

// shape: lifetime_cow — `Cow<'_, str>` elided from the parameter
#[deadline(budget = "1s")]
async fn cow(text: &str) -> Result<Cow<'_, str>, Failure> {
    tick().await;
    Ok(if text.contains(' ') {
        Cow::Owned(text.replace(' ', "_"))
    } else {
        Cow::Borrowed(text)
    })
}

// shape: lifetime_guard_returned — a lock guard that outlives the future
#[deadline(budget = "1s")]
async fn guard(mutex: &Mutex<u32>) -> Result<MutexGuard<'_, u32>, Failure> {
    tick().await;
    Ok(mutex.lock().unwrap())
}

// shape: lifetime_late_bound_call — a late-bound lifetime used with two different borrows
#[deadline(budget = "2s")]
async fn late_bound() -> Result<usize, Failure> {
    let outer = String::from(" outer ");
    let length = {
        let inner = String::from(" in ");
        elided(&inner).await?.len()
    };
    Ok(elided(&outer).await?.len() + length)
}

// shape: lifetime_local_borrow_in_result — a borrow of a local moves through the callee and back
#[deadline(budget = "1s")]
async fn local_borrow() -> Result<String, Failure> {
    let text = String::from(" local ");
    let trimmed = explicit(&text).await?;
    Ok(trimmed.to_owned())
}

impl<'a> View<'a> {
    // shape: lifetime_impl_header — the impl's lifetime in result and parameter
    #[deadline(budget = "1s")]
    async fn longer(&self, other: &'a str) -> Result<&'a str, Failure> {
        tick().await;
        Ok(if other.len() > self.text.len() {
            other
        } else {
            self.text
        })
    }

    // shape: lifetime_method_three — impl's, method's and anonymous lifetimes
    #[deadline(budget = "1s")]
    async fn three<'b>(&mut self, b: &'b str, _c: &str) -> Result<(&'a str, &'b str), Failure> {
        self.text = &self.text[1..];
        tick().await;
        Ok((self.text, b))
    }
}

impl View<'_> {
    // shape: lifetime_anonymous_impl — `impl View<'_>`
    #[deadline(budget = "1s")]
    async fn length(&self) -> Result<usize, Failure> {
        Ok(later(self.text.len()).await)
    }
}

// shape: lifetime_async_fn_argument — a callback that borrows from a local
#[deadline(budget = "1s")]
#[allow(clippy::future_not_send)]
async fn callback<'a>(prefix: &'a str, f: impl AsyncFn(&'a str, &str)) -> Result<(), Failure> {
    let local = String::from("local");
    f(prefix, &local).await;
    Ok(())
}

// shape: lifetime_slice_of_references — `&[&str]`
#[deadline(budget = "1s")]
async fn slices(parts: &[&str]) -> Result<String, Failure> {
    let mut all = String::new();
    for part in parts {
        tick().await;
        all.push_str(part);
    }
    Ok(all)
}

// shape: lifetime_iterator_of_references — `impl Iterator<Item = &'a str>`
#[deadline(budget = "1s")]
async fn iterators<'a>(
    parts: impl Iterator<Item = &'a str> + Send,
) -> Result<Vec<&'a str>, Failure> {
    let mut all = Vec::new();
    for part in parts {
        all.push(later(part).await);
    }
    Ok(all)
}

#[test]
fn values() {
    run(async {
        let owned = String::from(" a ");
        assert_eq!(elided(&owned).await, Ok("a"));
        assert_eq!(explicit(&owned).await, Ok("a"));
        assert_eq!(two_inputs(&owned, "b").await, Ok(4));
        let short = {
            let other = String::from("x");
            several(&owned, &other).await
        };
        assert_eq!(short, Ok(" "));
        assert_eq!(outlives("", "b").await, Ok("b"));
        assert_eq!(shared("a", "b").await, Ok(["a", "b"]));
        assert_eq!(in_where("a").await, Ok("a"));
        assert_eq!(statics("a").await, Ok("a"));
        let result = static_result(&owned.replace(' ', "")[1..]).await;
        assert_eq!(result, Ok("empty"));
        let mut list = vec![];
        invariant_mut(&mut list, &owned).await.unwrap();
        assert_eq!(list, [" a "]);
        let cell = Cell::new("old");
        assert_eq!(invariant_cell(&cell, &owned).await, Ok("old"));
        let markers = invariant_markers(Invariant(PhantomData), Invariant(PhantomData)).await;
        assert!(markers.is_ok());
        assert_eq!(anonymous(View { text: &owned }).await, Ok(3));
        assert_eq!(hidden(&|view| view.text.len()).await, Ok(3));
        let _ = hidden_type(&owned).await;
        let mut hidden_list = vec![owned.as_str()];
        let _ = hidden_two(&mut hidden_list).await;
        assert_eq!(hidden_list.len(), 2);
        let pair = Pair {
            left: "l",
            right: &owned,
        };
        assert_eq!(two_in_struct(pair).await, Ok((" a ", "l")));
        let mut rest = "abc";
        assert_eq!(nested(&mut rest).await, Ok("a"));
        assert_eq!(rest, "bc");
        let shown = dyn_bound(Box::new(&owned)).await.unwrap().to_string();
        assert_eq!(shown, " a ");
        assert_eq!(cow("a b").await.unwrap(), "a_b");
        let mutex = Mutex::new(1);
        *guard(&mutex).await.unwrap() += 1;
        assert_eq!(*guard(&mutex).await.unwrap(), 2);
        assert_eq!(late_bound().await, Ok(7));
        assert_eq!(local_borrow().await.unwrap(), "local");
        let mut view = View { text: "ab" };
        assert_eq!(view.longer("abc").await, Ok("abc"));
        assert_eq!(view.three("b", "c").await, Ok(("b", "b")));
        assert_eq!(view.length().await, Ok(1));
        let seen = Mutex::new(0);
        callback("p", async |p, local| {
            *seen.lock().unwrap() = p.len() + local.len();
        })
        .await
        .unwrap();
        assert_eq!(*seen.lock().unwrap(), 6);
        assert_eq!(slices(&["a", &owned]).await.unwrap(), "a a ");
        assert_eq!(iterators(owned.split('a')).await.unwrap(), [" ", " "]);
    });
}

struct Written;

impl Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        run(formatter(f))
    }
}

#[test]
fn written() {
    assert_eq!(Written.to_string(), "formatted");
}
