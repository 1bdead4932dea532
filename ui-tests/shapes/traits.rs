//! Traits: native async functions, `-> impl Future`, defaults and `#[async_trait]`.
use crate::support::{Failure, later, run, tick};
use async_trait::async_trait;
use deadline_runtime::deadline;
use std::{future::Future, pin::Pin, sync::Arc};

#[allow(async_fn_in_trait)]
trait Native {
    const STEP: u32;
    type Item;

    async fn get(&self, id: u32) -> Result<u32, Failure>;
    async fn put(&mut self, id: u32) -> Result<(), Failure>;
    async fn take(self) -> Result<u32, Failure>
    where
        Self: Sized;
    async fn item(&self) -> Result<Self::Item, Failure>;
    async fn text<'a>(&self, text: &'a str) -> Result<&'a str, Failure>;
    async fn make(id: u32) -> Result<Self, Failure>
    where
        Self: Sized;
    async fn generic<T: Into<u32> + Send>(&self, value: T) -> Result<u32, Failure>;

    // shape: trait_default_keep_async — a default method of a trait
    #[deadline(budget = "1s", keep_async)]
    async fn twice(&self, id: u32) -> Result<u32, Failure> {
        Ok(self.get(id).await? + self.get(id).await?)
    }

    // shape: trait_default_overridden — a default method that an impl replaces by a plain async fn
    #[deadline(budget = "1s", keep_async)]
    async fn label(&self) -> Result<&'static str, Failure> {
        tick().await;
        Ok("default")
    }

    // shape: trait_default_consuming — a default method that takes self by value
    #[deadline(budget = "1s", keep_async)]
    async fn finish(self) -> Result<u32, Failure>
    where
        Self: Sized,
    {
        self.take().await
    }
}

struct Store {
    value: u32,
}

impl Native for Store {
    const STEP: u32 = 2;
    type Item = String;

    // shape: trait_native_ref — `async fn` with `&self` in an impl
    #[deadline(budget = "1s")]
    async fn get(&self, id: u32) -> Result<u32, Failure> {
        tick().await;
        Ok(self.value + id * Self::STEP)
    }

    // shape: trait_native_mut — with `&mut self`
    #[deadline(budget = "1s")]
    async fn put(&mut self, id: u32) -> Result<(), Failure> {
        tick().await;
        self.value = id;
        Ok(())
    }

    // shape: trait_native_value — with `self`
    #[deadline(budget = "1s")]
    async fn take(self) -> Result<u32, Failure> {
        tick().await;
        Ok(self.value)
    }

    // shape: trait_native_associated — an associated type in the result
    #[deadline(budget = "1s")]
    async fn item(&self) -> Result<Self::Item, Failure> {
        tick().await;
        Ok(self.value.to_string())
    }

    // shape: trait_native_lifetime — a named lifetime of the trait's method
    #[deadline(budget = "1s")]
    async fn text<'a>(&self, text: &'a str) -> Result<&'a str, Failure> {
        tick().await;
        Ok(text.trim())
    }

    // shape: trait_native_constructor — without a receiver
    #[deadline(budget = "1s")]
    async fn make(id: u32) -> Result<Self, Failure> {
        tick().await;
        Ok(Self { value: id })
    }

    // shape: trait_native_generic — a generic method
    #[deadline(budget = "1s")]
    async fn generic<T: Into<u32> + Send>(&self, value: T) -> Result<u32, Failure> {
        tick().await;
        Ok(self.value + value.into())
    }

    async fn label(&self) -> Result<&'static str, Failure> {
        tick().await;
        Ok("overridden")
    }
}

trait Returning: Sync {
    fn fetch(&self, id: u32) -> impl Future<Output = Result<u32, Failure>> + Send;

    fn fetch_unbounded(&self) -> impl Future<Output = Result<u32, Failure>>;

    fn fetch_borrowed<'a>(
        &'a self,
        text: &'a str,
    ) -> impl Future<Output = Result<&'a str, Failure>> + Send + 'a;

    // shape: trait_default_impl_future — a default that is `-> impl Future + Send`, by way of an inner function
    fn fetch_twice(&self, id: u32) -> impl Future<Output = Result<u32, Failure>> + Send {
        #[deadline(budget = "1s")]
        async fn inner<T: Returning + ?Sized>(this: &T, id: u32) -> Result<u32, Failure> {
            Ok(this.fetch(id).await? + this.fetch(id).await?)
        }
        inner(self, id)
    }
}

impl Returning for Store {
    // shape: trait_impl_future_send — `async fn` in the impl of `-> impl Future + Send`
    #[deadline(budget = "1s")]
    async fn fetch(&self, id: u32) -> Result<u32, Failure> {
        tick().await;
        Ok(self.value + id)
    }

    // shape: trait_impl_future — the same without `Send`
    #[deadline(budget = "1s")]
    async fn fetch_unbounded(&self) -> Result<u32, Failure> {
        tick().await;
        Ok(self.value)
    }

    // shape: trait_impl_future_lifetime — the same with a lifetime bound
    #[deadline(budget = "1s")]
    async fn fetch_borrowed<'a>(&'a self, text: &'a str) -> Result<&'a str, Failure> {
        tick().await;
        Ok(text)
    }
}

struct Logged<S>(S);

impl<S: Returning + Send> Returning for Logged<S> {
    // shape: trait_generic_impl — a generic impl that delegates under the same name
    #[deadline(budget = "1s")]
    async fn fetch(&self, id: u32) -> Result<u32, Failure> {
        Ok(self.0.fetch(id).await? + 1)
    }

    // shape: trait_generic_impl_unbounded — with a non-Send inner future
    #[deadline(budget = "1s")]
    #[allow(clippy::future_not_send)]
    async fn fetch_unbounded(&self) -> Result<u32, Failure> {
        self.0.fetch_unbounded().await
    }

    // shape: trait_generic_impl_lifetime — with lifetimes
    #[deadline(budget = "1s")]
    async fn fetch_borrowed<'a>(&'a self, text: &'a str) -> Result<&'a str, Failure> {
        self.0.fetch_borrowed(text).await
    }
}

#[async_trait]
trait Dynamic: Send + Sync {
    async fn load(&self, id: u32) -> Result<u32, Failure>;
    async fn store(&mut self, id: u32) -> Result<(), Failure>;
    async fn borrowed<'a>(&'a self, text: &'a str) -> Result<&'a str, Failure>;
    async fn owned(self: Box<Self>) -> Result<u32, Failure>;
    async fn shared(self: Arc<Self>, text: &str) -> Result<u32, Failure>;
    async fn plain(&self) -> u32;

    // shape: async_trait_default — a default method under `#[async_trait]`
    #[deadline(budget = "1s")]
    async fn load_twice(&self, id: u32) -> Result<u32, Failure> {
        Ok(self.load(id).await? + self.load(id).await?)
    }

    // shape: async_trait_default_loop — a default method with a loop and an early return
    #[deadline(budget = "1s")]
    async fn load_all(&self, ids: &[u32]) -> Result<Vec<u32>, Failure> {
        let mut all = Vec::new();
        for id in ids {
            if *id == 0 {
                return Err(Failure::Refused("zero"));
            }
            all.push(self.load(*id).await?);
        }
        Ok(all)
    }
}

#[async_trait]
impl Dynamic for Store {
    // shape: async_trait_ref — `&self` in an `#[async_trait]` impl
    #[deadline(budget = "1s")]
    async fn load(&self, id: u32) -> Result<u32, Failure> {
        tick().await;
        Ok(self.value + id)
    }

    // shape: async_trait_mut — `&mut self`
    #[deadline(budget = "1s")]
    async fn store(&mut self, id: u32) -> Result<(), Failure> {
        tick().await;
        self.value = id;
        Ok(())
    }

    // shape: async_trait_lifetime — named lifetimes
    #[deadline(budget = "1s")]
    async fn borrowed<'a>(&'a self, text: &'a str) -> Result<&'a str, Failure> {
        tick().await;
        Ok(text)
    }

    // shape: async_trait_box — `self: Box<Self>`
    #[deadline(budget = "1s")]
    async fn owned(self: Box<Self>) -> Result<u32, Failure> {
        tick().await;
        Ok(self.value)
    }

    // shape: async_trait_arc — `self: Arc<Self>` with a pattern-free reference beside
    #[deadline(budget = "1s")]
    async fn shared(self: Arc<Self>, text: &str) -> Result<u32, Failure> {
        let length: u32 = later(text).await.parse()?;
        Ok(self.value + length)
    }

    // shape: async_trait_fallback — a return type that cannot carry a stop
    #[deadline(budget = "1s", fallback = panic!("stopped"))]
    async fn plain(&self) -> u32 {
        later(self.value).await
    }
}

#[async_trait(?Send)]
trait Local {
    async fn local(&self) -> Result<u32, Failure>;
}

#[async_trait(?Send)]
impl Local for std::rc::Rc<Store> {
    // shape: async_trait_not_send — `#[async_trait(?Send)]`
    #[deadline(budget = "1s")]
    async fn local(&self) -> Result<u32, Failure> {
        let other = Self::clone(self);
        tick().await;
        Ok(other.value)
    }
}

#[async_trait]
trait Generic<T> {
    async fn convert(&self, value: T) -> Result<String, Failure>;
}

#[async_trait]
impl<T> Generic<T> for Store
where
    T: std::fmt::Display + Send + 'static,
{
    // shape: async_trait_generic — generic trait, impl and method
    #[deadline(budget = "1s")]
    async fn convert(&self, value: T) -> Result<String, Failure> {
        tick().await;
        Ok(format!("{}{value}", self.value))
    }
}

// shape: by_hand_impl_future — a plain function that returns an async block as `impl Future + Send`
#[deadline(budget = "1s")]
#[allow(clippy::manual_async_fn)]
fn by_hand(id: u32) -> impl Future<Output = Result<u32, Failure>> + Send {
    async move { Ok(later(id).await) }
}

// shape: by_hand_impl_future_borrowed — the same with a borrowed parameter and statements before the block
#[deadline(budget = "1s")]
#[allow(clippy::elidable_lifetime_names)]
fn by_hand_borrowed<'a>(text: &'a str) -> impl Future<Output = Result<usize, Failure>> + Send + 'a {
    let length = text.len();
    async move {
        let text = later(text).await;
        Ok(length + text.len())
    }
}

trait ByHand {
    fn by_hand<'a>(
        &'a self,
        id: u32,
    ) -> Pin<Box<dyn Future<Output = Result<u32, Failure>> + Send + 'a>>;
}

impl ByHand for Store {
    fn by_hand<'a>(
        &'a self,
        id: u32,
    ) -> Pin<Box<dyn Future<Output = Result<u32, Failure>> + Send + 'a>> {
        // shape: trait_boxed_by_hand — an annotated inner function behind a hand-written boxed method
        #[deadline(budget = "1s")]
        async fn inner(this: &Store, id: u32) -> Result<u32, Failure> {
            Ok(later(this.value).await + id)
        }
        Box::pin(inner(self, id))
    }
}

trait Extension {
    fn extended(&self) -> impl Future<Output = Result<usize, Failure>> + Send;
}

impl<T: AsRef<str> + Sync + ?Sized> Extension for T {
    // shape: trait_blanket_impl — a blanket impl over unsized types
    #[deadline(budget = "1s")]
    async fn extended(&self) -> Result<usize, Failure> {
        tick().await;
        Ok(self.as_ref().len())
    }
}

// shape: trait_generic_user — a generic function that calls the trait's method, `Send` through the bound
#[deadline(budget = "1s")]
async fn use_returning<R: Returning>(store: &R) -> Result<u32, Failure> {
    store.fetch(1).await
}

// shape: trait_object_user — a function that calls a trait object's method
#[deadline(budget = "1s")]
async fn use_dynamic(store: &dyn Dynamic) -> Result<u32, Failure> {
    store.load_twice(1).await
}

const fn is_send<T: Send>(value: T) -> T {
    value
}

#[test]
fn values() {
    run(async {
        let mut store = Store { value: 1 };
        assert_eq!(store.get(1).await, Ok(3));
        assert_eq!(Native::put(&mut store, 2).await, Ok(()));
        assert_eq!(store.item().await.unwrap(), "2");
        assert_eq!(store.text(" a ").await, Ok("a"));
        assert_eq!(store.generic(1_u8).await, Ok(3));
        assert_eq!(store.twice(1).await, Ok(8));
        assert_eq!(store.label().await, Ok("overridden"));
        assert_eq!(Store::make(3).await.unwrap().take().await, Ok(3));
        assert_eq!(Store { value: 4 }.finish().await, Ok(4));
        assert_eq!(is_send(store.fetch(1)).await, Ok(3));
        assert_eq!(store.fetch_unbounded().await, Ok(2));
        assert_eq!(store.fetch_borrowed("b").await, Ok("b"));
        assert_eq!(store.fetch_twice(1).await, Ok(6));
        assert_eq!(use_returning(&store).await, Ok(3));
        let logged = Logged(Store { value: 5 });
        assert_eq!(is_send(logged.fetch(1)).await, Ok(7));
        assert_eq!(logged.fetch_unbounded().await, Ok(5));
        assert_eq!(logged.fetch_borrowed("b").await, Ok("b"));
        assert_eq!(is_send(use_dynamic(&store)).await, Ok(6));
        assert_eq!(store.load_all(&[1, 2]).await.unwrap(), [3, 4]);
        assert_eq!(store.load_all(&[0]).await, Err(Failure::Refused("zero")));
        Dynamic::store(&mut store, 9).await.unwrap();
        assert_eq!(store.borrowed("b").await, Ok("b"));
        assert_eq!(store.plain().await, 9);
        assert_eq!(Box::new(Store { value: 1 }).owned().await, Ok(1));
        assert_eq!(Arc::new(Store { value: 1 }).shared("2").await, Ok(3));
        let rc = std::rc::Rc::new(Store { value: 1 });
        assert_eq!(rc.local().await, Ok(1));
        assert_eq!(store.convert("x").await.unwrap(), "9x");
        assert_eq!(store.by_hand(1).await, Ok(10));
        assert_eq!("abc".extended().await, Ok(3));
        assert_eq!(is_send(by_hand(1)).await, Ok(1));
        assert_eq!(is_send(by_hand_borrowed("a")).await, Ok(2));
    });
}
