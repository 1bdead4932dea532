//! Every receiver a method can have, and when a by-value one is dropped.
use crate::support::{Failure, Log, Noisy, later, run, tick};
use deadline_runtime::deadline;
use std::{pin::Pin, rc::Rc, sync::Arc};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Account {
    id: u32,
    owner: String,
}

impl Account {
    const BASE: u32 = 100;

    fn new(id: u32) -> Self {
        Self {
            id,
            owner: format!("owner {id}"),
        }
    }

    const fn bump(&mut self) -> u32 {
        self.id += 1;
        self.id
    }

    // shape: receiver_ref — the plain borrowed receiver
    #[deadline(budget = "1s")]
    async fn by_ref(&self) -> Result<u32, Failure> {
        tick().await;
        Ok(self.id)
    }

    // shape: receiver_mut — a mutable borrow that is used across an await
    #[deadline(budget = "1s")]
    async fn by_mut(&mut self) -> Result<u32, Failure> {
        self.bump();
        tick().await;
        Ok(self.bump())
    }

    // shape: receiver_value — self moves into the future
    #[deadline(budget = "1s")]
    async fn by_value(self) -> Result<String, Failure> {
        tick().await;
        Ok(self.owner)
    }

    // shape: receiver_mut_value — `mut self` is reassigned in the body
    #[deadline(budget = "1s")]
    async fn by_mut_value(mut self) -> Result<Self, Failure> {
        self.id += 1;
        tick().await;
        self = Self {
            id: self.id + Self::BASE,
            ..self
        };
        Ok(self)
    }

    // shape: receiver_typed_ref — `self: &Self`
    #[deadline(budget = "1s")]
    #[allow(clippy::needless_arbitrary_self_type)]
    async fn typed_ref(self: &Self) -> Result<u32, Failure> {
        tick().await;
        Ok(self.id)
    }

    // shape: receiver_typed_mut — `self: &mut Self`
    #[deadline(budget = "1s")]
    #[allow(clippy::needless_arbitrary_self_type)]
    async fn typed_mut(self: &mut Self) -> Result<u32, Failure> {
        tick().await;
        Ok(self.bump())
    }

    // shape: receiver_typed_value — `self: Self`
    #[deadline(budget = "1s")]
    #[allow(clippy::needless_arbitrary_self_type)]
    async fn typed_value(self: Self) -> Result<u32, Failure> {
        tick().await;
        Ok(self.id)
    }

    // shape: receiver_box — `self: Box<Self>`
    #[deadline(budget = "1s")]
    async fn boxed(self: Box<Self>) -> Result<String, Failure> {
        tick().await;
        Ok(self.owner)
    }

    // shape: receiver_mut_box — `mut self: Box<Self>`
    #[deadline(budget = "1s")]
    async fn mut_boxed(mut self: Box<Self>) -> Result<u32, Failure> {
        tick().await;
        Ok(self.bump())
    }

    // shape: receiver_rc — `self: Rc<Self>`, a future that is not Send
    #[deadline(budget = "1s")]
    #[allow(clippy::future_not_send)]
    async fn rc(self: Rc<Self>) -> Result<u32, Failure> {
        tick().await;
        Ok(self.id)
    }

    // shape: receiver_rc_ref — `self: &Rc<Self>`
    #[deadline(budget = "1s")]
    #[allow(clippy::future_not_send)]
    async fn rc_ref(self: &Rc<Self>) -> Result<usize, Failure> {
        tick().await;
        Ok(Rc::strong_count(self))
    }

    // shape: receiver_arc — `self: Arc<Self>`
    #[deadline(budget = "1s")]
    async fn arc(self: Arc<Self>) -> Result<u32, Failure> {
        tick().await;
        Ok(self.id)
    }

    // shape: receiver_pin_ref — `self: Pin<&Self>`
    #[deadline(budget = "1s")]
    async fn pin_ref(self: Pin<&Self>) -> Result<u32, Failure> {
        tick().await;
        Ok(self.id)
    }

    // shape: receiver_pin_mut — `self: Pin<&mut Self>`
    #[deadline(budget = "1s")]
    async fn pin_mut(self: Pin<&mut Self>) -> Result<u32, Failure> {
        tick().await;
        Ok(self.get_mut().bump())
    }

    // shape: receiver_mut_pin_mut — `mut self: Pin<&mut Self>` reborrowed with `as_mut`
    #[deadline(budget = "1s")]
    async fn mut_pin_mut(mut self: Pin<&mut Self>) -> Result<u32, Failure> {
        self.as_mut().get_mut().bump();
        tick().await;
        Ok(self.as_mut().get_mut().bump())
    }

    // shape: receiver_pin_box — `self: Pin<Box<Self>>`
    #[deadline(budget = "1s")]
    async fn pin_box(self: Pin<Box<Self>>) -> Result<u32, Failure> {
        tick().await;
        Ok(self.id)
    }

    // shape: receiver_pin_arc — two pointers deep
    #[deadline(budget = "1s")]
    async fn pin_arc(self: Pin<Arc<Self>>) -> Result<u32, Failure> {
        tick().await;
        Ok(self.id)
    }

    // shape: receiver_named_lifetime — `&'a self` tied to the result
    #[deadline(budget = "1s")]
    #[allow(clippy::needless_lifetimes)]
    async fn named<'a>(&'a self) -> Result<&'a str, Failure> {
        tick().await;
        Ok(&self.owner)
    }

    // shape: receiver_named_mut_lifetime — `&'a mut self` returned as a borrow
    #[deadline(budget = "1s")]
    #[allow(clippy::needless_lifetimes)]
    async fn named_mut<'a>(&'a mut self) -> Result<&'a mut String, Failure> {
        tick().await;
        Ok(&mut self.owner)
    }

    // shape: receiver_arc_lifetime — `self: &'a Arc<Self>`
    #[deadline(budget = "1s")]
    #[allow(clippy::needless_lifetimes)]
    async fn named_arc<'a>(self: &'a Arc<Self>) -> Result<&'a str, Failure> {
        tick().await;
        Ok(&self.owner)
    }

    // shape: receiver_elided_result — the result borrows from self although there is another reference
    #[deadline(budget = "1s")]
    async fn elided(&self, other: &str) -> Result<&str, Failure> {
        tick().await;
        Ok(if other.is_empty() { "" } else { &self.owner })
    }

    // shape: receiver_self_type — `Self` as parameter, result and constructor
    #[deadline(budget = "1s")]
    async fn merge(self, other: Self) -> Result<Self, Failure> {
        tick().await;
        Ok(Self {
            id: self.id + other.id,
            ..other
        })
    }

    // shape: receiver_none — an associated function that calls `Self::`
    #[deadline(budget = "1s")]
    async fn build(id: u32) -> Result<Self, Failure> {
        tick().await;
        Ok(Self::new(Self::BASE + id))
    }

    // shape: receiver_in_closure — self captured by closures of the body
    #[deadline(budget = "1s")]
    async fn in_closure(&self) -> Result<u32, Failure> {
        let add = |n: u32| self.id + n;
        tick().await;
        Ok(vec![1, 2].into_iter().map(add).sum())
    }

    // shape: receiver_in_format — self inside a format macro
    #[deadline(budget = "1s")]
    async fn in_format(&self) -> Result<String, Failure> {
        tick().await;
        Ok(format!("{}:{}", self.id, self.owner))
    }

    // shape: receiver_two_field_borrows — disjoint borrows of self's fields across an await
    #[deadline(budget = "1s")]
    async fn two_fields(&mut self) -> Result<usize, Failure> {
        let id = &mut self.id;
        let owner = &self.owner;
        tick().await;
        *id += 1;
        Ok(owner.len())
    }

    // shape: receiver_unused — a borrowed receiver that the body never names
    #[deadline(budget = "1s")]
    #[allow(clippy::unused_self)]
    async fn unused(&self) -> Result<u32, Failure> {
        tick().await;
        Ok(7)
    }

    // shape: receiver_mut_sequential — `&mut self` calls itself in sequence
    #[deadline(budget = "2s")]
    async fn sequential(&mut self) -> Result<u32, Failure> {
        let first = self.by_mut().await?;
        let second = self.typed_mut().await?;
        Ok(first + second)
    }
}

#[derive(Clone, Copy)]
struct Position(i32, i32);

impl Position {
    // shape: receiver_copy — a `Copy` self that is modified
    #[deadline(budget = "1s")]
    async fn shift(mut self) -> Result<i32, Failure> {
        self.0 += 1;
        tick().await;
        Ok(self.0 + self.1)
    }

    // shape: receiver_tuple_constructor — `Self(..)` called as a function
    #[deadline(budget = "1s")]
    async fn swapped(self) -> Result<Self, Failure> {
        let Self(x, y) = self;
        tick().await;
        Ok(Self(y, x))
    }
}

enum Shape {
    Round(u32),
    Flat,
}

impl Shape {
    // shape: receiver_enum — self matched by value, with `Self::` patterns
    #[deadline(budget = "1s")]
    async fn area(self) -> Result<u32, Failure> {
        match self {
            Self::Round(r) => Ok(later(3 * r * r).await),
            Self::Flat => Ok(0),
        }
    }
}

struct Cache<'a, T: ?Sized> {
    label: &'a str,
    value: &'a T,
}

impl<'a, T: ToString + Sync + ?Sized> Cache<'a, T> {
    // shape: receiver_generic_impl — lifetimes and types of the impl header
    #[deadline(budget = "1s")]
    async fn text(&self) -> Result<String, Failure> {
        tick().await;
        Ok(format!("{}={}", self.label, self.value.to_string()))
    }

    // shape: receiver_impl_lifetime_result — a result with the impl's lifetime, longer than self's
    #[deadline(budget = "1s")]
    async fn inner(&self) -> Result<&'a T, Failure> {
        tick().await;
        Ok(self.value)
    }
}

struct Parts {
    first: Noisy,
    second: Noisy,
    log: Log,
}

impl Parts {
    fn new(log: &Log) -> Self {
        Self {
            first: log.noisy("first"),
            second: log.noisy("second"),
            log: log.clone(),
        }
    }

    // shape: receiver_value_unused — an unused by-value self lives as long as in an async fn
    twin!(unused_ours, unused_plain, (self, log: Log) {
        log.note("entered");
        tick().await;
        log.note("leaving");
    });

    // shape: receiver_mut_value_unused — the same with `mut self`
    twin!(unused_mut_ours, unused_mut_plain, (#[allow(unused_mut)] mut self, log: Log) {
        log.note("entered");
        tick().await;
        log.note("leaving");
    });

    // shape: receiver_box_unused — the same with `Box<Self>`
    twin!(unused_box_ours, unused_box_plain, (self: Box<Self>, log: Log) {
        log.note("entered");
        tick().await;
        log.note("leaving");
    });

    // shape: receiver_partly_moved — one field is moved out, the other is not dropped at the call
    twin!(partly_ours, partly_plain, (self) {
        self.log.note("entered");
        let first = self.first;
        tick().await;
        self.log.note("leaving");
        drop(first);
    });

    // shape: receiver_partly_used — one field is read, the others stay until the end
    twin!(read_ours, read_plain, (self) {
        self.log.note("entered");
        tick().await;
        self.log.note(self.second.name);
    });

    // shape: receiver_box_partly_moved — a field is moved out of the box
    twin!(box_partly_ours, box_partly_plain, (self: Box<Self>) {
        let second = self.second;
        tick().await;
        self.log.note("leaving");
        drop(second);
    });

    // shape: receiver_mut_partly_replaced — a field of `mut self` is replaced
    twin!(replaced_ours, replaced_plain, (mut self) {
        self.first = self.log.noisy("replacement");
        tick().await;
        self.log.note("leaving");
    });

    // shape: receiver_value_and_parameters — drop order of self among parameters
    twin!(ordered_ours, ordered_plain, (self, _: Noisy, last: Noisy) {
        tick().await;
        self.log.note(last.name);
    });

    // shape: receiver_value_underscored — self is only matched with `_`
    twin!(ignored_ours, ignored_plain, (self, log: Log) {
        let _ = self;
        tick().await;
        log.note("leaving");
    });
}

#[test]
fn drops_of_by_value_receivers() {
    same_drops!(|log| Parts::new(log).unused_ours(log.clone()), |log| {
        Parts::new(log).unused_plain(log.clone())
    });
    same_drops!(|log| Parts::new(log).unused_mut_ours(log.clone()), |log| {
        Parts::new(log).unused_mut_plain(log.clone())
    });
    same_drops!(
        |log| Box::new(Parts::new(log)).unused_box_ours(log.clone()),
        |log| Box::new(Parts::new(log)).unused_box_plain(log.clone())
    );
    same_drops!(|log| Parts::new(log).partly_ours(), |log| Parts::new(log)
        .partly_plain());
    same_drops!(|log| Parts::new(log).read_ours(), |log| Parts::new(log)
        .read_plain());
    same_drops!(|log| Box::new(Parts::new(log)).box_partly_ours(), |log| {
        Box::new(Parts::new(log)).box_partly_plain()
    });
    same_drops!(|log| Parts::new(log).replaced_ours(), |log| Parts::new(log)
        .replaced_plain());
    same_drops!(
        |log| Parts::new(log).ordered_ours(log.noisy("blank"), log.noisy("last")),
        |log| Parts::new(log).ordered_plain(log.noisy("blank"), log.noisy("last"))
    );
    same_drops!(|log| Parts::new(log).ignored_ours(log.clone()), |log| {
        Parts::new(log).ignored_plain(log.clone())
    });
}

#[test]
fn unused_receiver_is_not_dropped_at_the_call() {
    assert_eq!(
        crate::support::finished(|log| Parts::new(log).unused_ours(log.clone())),
        [
            "created", "entered", "leaving", "first", "second", "returned"
        ]
    );
}

#[test]
fn values() {
    run(async {
        let mut account = Account::new(1);
        assert_eq!(account.by_ref().await, Ok(1));
        assert_eq!(account.by_mut().await, Ok(3));
        assert_eq!(account.typed_ref().await, Ok(3));
        assert_eq!(account.typed_mut().await, Ok(4));
        assert_eq!(account.named().await, Ok("owner 1"));
        account.named_mut().await.unwrap().push('!');
        assert_eq!(account.elided("x").await, Ok("owner 1!"));
        assert_eq!(account.in_closure().await, Ok(11));
        assert_eq!(account.in_format().await.unwrap(), "4:owner 1!");
        assert_eq!(account.two_fields().await, Ok(8));
        assert_eq!(account.unused().await, Ok(7));
        assert_eq!(account.sequential().await, Ok(15));
        assert_eq!(Pin::new(&account).pin_ref().await, Ok(8));
        assert_eq!(Pin::new(&mut account).pin_mut().await, Ok(9));
        assert_eq!(Pin::new(&mut account).mut_pin_mut().await, Ok(11));
        assert_eq!(account.clone().by_value().await.unwrap(), "owner 1!");
        assert_eq!(account.clone().by_mut_value().await.unwrap().id, 112);
        assert_eq!(account.clone().typed_value().await, Ok(11));
        assert_eq!(Box::new(Account::new(5)).boxed().await.unwrap(), "owner 5");
        assert_eq!(Box::new(Account::new(5)).mut_boxed().await, Ok(6));
        let rc = Rc::new(Account::new(6));
        assert_eq!(rc.rc_ref().await, Ok(1));
        assert_eq!(rc.rc().await, Ok(6));
        let arc = Arc::new(Account::new(7));
        assert_eq!(arc.named_arc().await, Ok("owner 7"));
        assert_eq!(arc.arc().await, Ok(7));
        assert_eq!(Box::pin(Account::new(8)).pin_box().await, Ok(8));
        assert_eq!(Arc::pin(Account::new(9)).pin_arc().await, Ok(9));
        let merged = Account::new(1).merge(Account::new(2)).await.unwrap();
        assert_eq!((merged.id, merged.owner.as_str()), (3, "owner 2"));
        assert_eq!(Account::build(1).await.unwrap().id, 101);
        assert_eq!(Position(1, 2).shift().await, Ok(4));
        assert_eq!(Position(1, 2).swapped().await.unwrap().0, 2);
        assert_eq!(Shape::Round(2).area().await, Ok(12));
        assert_eq!(Shape::Flat.area().await, Ok(0));
        let value = String::from("v");
        let cache = Cache {
            label: "l",
            value: value.as_str(),
        };
        assert_eq!(cache.text().await.unwrap(), "l=v");
        assert_eq!(cache.inner().await, Ok("v"));
    });
}
