//! What fits, or counts nothing, compiles without an error and without a warning.
//!
//! Each function has no millisecond to spare, or calls what would not fit if it counted.
#![deny(warnings, clippy::pedantic, clippy::nursery)]
#![allow(
    dead_code,
    clippy::manual_async_fn,
    clippy::unused_async,
    clippy::future_not_send,
    clippy::use_self
)]

use deadline_runtime::{Budgeted, Millis, Percent, Stopped, deadline};
use std::fmt::Debug;
use std::future::ready;
use std::pin::Pin;
use std::time::Duration;

type Answer = Result<u32, Stopped>;

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Answer {
    Ok(ready(id).await)
}

#[deadline(budget = "1h")]
async fn long(id: u32) -> Answer {
    Ok(ready(id).await)
}

mod under_cfg {
    use super::{Answer, deadline, load, long};

    #[deadline(budget = "400ms")]
    async fn statement(id: u32) -> Answer {
        #[cfg(any())]
        long(id).await?;
        #[cfg(not(any()))]
        let id = load(id).await?;
        #[cfg(any())]
        let id = long(id).await?;
        Ok(id)
    }

    #[deadline(budget = "400ms")]
    async fn block(id: u32) -> Answer {
        #[cfg(any())]
        {
            long(id).await?;
            #[cfg(not(any()))]
            long(id).await?;
        }
        #[cfg(not(any()))]
        {
            #[cfg(any())]
            long(id).await?;
            load(id).await?;
        }
        Ok(id)
    }

    #[deadline(budget = "400ms")]
    async fn arm(id: u32) -> Answer {
        match id {
            #[cfg(any())]
            1 => long(id).await,
            2 => load(id).await,
            _ => Ok(1),
        }
    }

    struct Fields {
        id: u32,
        #[cfg(any())]
        other: u32,
    }

    #[deadline(budget = "400ms")]
    async fn field(id: u32) -> Answer {
        let fields = Fields {
            id: load(id).await?,
            #[cfg(any())]
            other: long(id).await?,
        };
        Ok(fields.id)
    }

    #[deadline(budget = "400ms")]
    async fn hidden(id: u32) -> Answer {
        #[cfg_attr(all(), cfg(any()))]
        long(id).await?;
        #[cfg_attr(all(), allow(unused_variables))]
        let id = load(id).await?;
        Ok(id)
    }

    #[deadline(budget = "400ms")]
    async fn with_a_budget(id: u32) -> Answer {
        #[cfg(any())]
        #[budget("400ms")]
        long(id).await?;
        #[cfg(not(any()))]
        #[budget("400ms")]
        long(id).await?;
        Ok(id)
    }
}

mod unknown {
    use super::{Answer, Budgeted, Duration, Pin, deadline, load, long, ready};

    #[deadline(budget = "1ms")]
    async fn parameter<F: Future<Output = u32>>(future: F) -> Answer {
        Ok(future.await)
    }

    #[deadline(budget = "1ms")]
    async fn some_budget<F: Future<Output = u32> + Budgeted>(future: F) -> Answer {
        Ok(future.await)
    }

    trait Loads {
        type Load: Future<Output = u32> + Budgeted;
        fn load(&self) -> Self::Load;
        fn other(&self) -> impl Future<Output = u32> + Budgeted;
    }

    #[deadline(budget = "1ms")]
    async fn associated<L: Loads + Sync>(loads: &L) -> Answer {
        Ok(loads.load().await + loads.other().await)
    }

    #[deadline(budget = "1ms")]
    async fn object(future: Pin<Box<dyn Future<Output = u32> + Send>>) -> Answer {
        Ok(future.await)
    }

    #[async_trait::async_trait]
    trait Store {
        async fn get(&self, id: u32) -> Answer;
    }

    struct Database;

    #[async_trait::async_trait]
    impl Store for Database {
        #[deadline(budget = "1h")]
        async fn get(&self, id: u32) -> Answer {
            long(id).await
        }
    }

    #[deadline(budget = "1ms")]
    async fn boxed_by_a_trait(store: &(dyn Store + Sync)) -> Answer {
        Database.get(1).await?;
        store.get(1).await
    }

    #[deadline(budget = "1ms")]
    async fn spawned(id: u32) -> Answer {
        let task = tokio::spawn(long(id));
        task.await.unwrap_or(Ok(0))
    }

    #[deadline(budget = "1ms")]
    async fn wrapped(id: u32) -> Answer {
        tokio::time::timeout(Duration::from_millis(1), long(id))
            .await
            .unwrap_or(Ok(0))
    }

    #[deadline(budget = "400ms")]
    async fn elsewhere(id: u32) -> Answer {
        let closure = async |id| long(id).await;
        let block = async { long(id).await };
        let value = closure(id).await;
        tokio::select! {
            biased;
            value = block => value,
            other = load(id) => other,
        }
        .and(value)
    }

    #[deadline(budget = "1ms")]
    async fn biased_join(id: u32) -> Answer {
        let (left, right) = tokio::join!(biased; long(id), ready(1));
        Ok(left? + right)
    }

    #[deadline(budget = "400ms")]
    async fn one_after_the_other_in_a_branch(id: u32) -> Answer {
        let (left, right) = tokio::join!(load(id), async { long(id).await });
        Ok(left? + right?)
    }
}

mod without_a_limit {
    use super::{Answer, Budgeted, Percent, deadline, load, long};

    #[deadline]
    async fn no_budget(id: u32) -> Answer {
        long(id).await?;
        long(id).await
    }

    #[deadline(budget = "10%")]
    async fn percentage(id: u32) -> Answer {
        long(id).await?;
        long(id).await
    }

    fn declares_a_percentage(
        id: u32,
    ) -> impl Future<Output = Answer> + Budgeted<Budget = Percent<10>> {
        percentage(id)
    }

    #[deadline(budget = "400ms")]
    async fn calls_them(id: u32) -> Answer {
        no_budget(id).await?;
        percentage(id).await?;
        declares_a_percentage(id).await?;
        load(id).await
    }

    #[deadline(budget = "1ms", allow_overcommit)]
    async fn overcommitted(id: u32) -> Answer {
        long(id).await
    }

    #[deadline(budget = "1ms", keep_async)]
    async fn kept(id: u32) -> Answer {
        long(id).await
    }

    #[deadline(budget = "1ms")]
    async fn shielded(id: u32) -> Answer {
        #[shield("1ms")]
        long(id).await
    }
}

mod itself {
    use super::{Answer, Debug, deadline};

    #[deadline(budget = "10ms", reserve = "1ms")]
    async fn recursive(id: u32) -> Answer {
        if id == 0 {
            return Ok(0);
        }
        Box::pin(recursive(id - 1)).await
    }

    struct Tree(Vec<Tree>);

    impl Tree {
        #[deadline(budget = "10ms", reserve = "1ms")]
        async fn depth(&self) -> Answer {
            let mut deepest = 0;
            for tree in &self.0 {
                deepest = deepest.max(Box::pin(tree.depth_of()).await?);
            }
            if deepest > 100 {
                return Box::pin(self.depth()).await;
            }
            Ok(deepest + 1)
        }

        #[deadline(budget = "9ms", reserve = "1ms")]
        async fn depth_of(&self) -> Answer {
            if self.0.is_empty() {
                return Box::pin(Self::depth_of(self)).await;
            }
            Ok(1)
        }
    }

    /// Each boxes the other.
    #[deadline(budget = "10ms")]
    async fn even(number: u32) -> Answer {
        if number == 0 {
            Ok(1)
        } else {
            Box::pin(odd(number - 1)).await
        }
    }

    #[deadline(budget = "10ms")]
    async fn odd(number: u32) -> Answer {
        if number == 0 {
            Ok(0)
        } else {
            Box::pin(even(number - 1)).await
        }
    }

    #[deadline(budget = "10ms", reserve = "1ms")]
    async fn generic<T: Debug + Clone>(value: T, depth: u32) -> Answer {
        if depth == 0 {
            return Ok(0);
        }
        Box::pin(generic(value.clone(), depth - 1)).await
    }
}

mod forms {
    use super::{Answer, Budgeted, Millis, deadline, load, ready};

    /// A trait of the user's with ordinary names, for everything.
    trait Blanket: Sized {
        fn counts(self) -> Self {
            self
        }
        fn gate(self) -> Self {
            self
        }
        fn fit(self) -> Self {
            self
        }
        fn hold(self) -> Self {
            self
        }
        fn reserve(self) -> Self {
            self
        }
    }

    impl<T> Blanket for T {}

    struct Calls;
    trait Fits {}
    impl Fits for Calls {}

    #[deadline(budget = "400ms", reserve = "0s 100ms")]
    async fn names(call_0: u32, future: u32) -> Answer {
        let calls = Calls;
        let _ = calls.fit();
        let call = call_0 + future;
        Ok(ready(call).await.counts().gate().hold().reserve())
    }

    #[deadline(budget = "400ms")]
    async fn never(id: u32) -> Answer {
        if id == 0 {
            let value: u32 = std::future::pending().await;
            return Ok(value);
        }
        load(id).await
    }

    #[deadline(budget = "400ms")]
    async fn chains(id: u32) -> Answer {
        if let Ok(id) = load(id).await
            && id > 1
            && let Some(id) = id.checked_add(1)
        {
            return Ok(id);
        }
        Ok(id)
    }

    #[deadline(budget = "400ms")]
    async fn callback<F: AsyncFn(u32) -> u32>(f: F) -> Answer {
        let value = f(1).await;
        load(value).await
    }

    struct Array<const N: usize>([u32; N]);

    impl<const N: usize> Array<N> {
        #[deadline(budget = "400ms")]
        async fn first(&self) -> Answer {
            load(self.0[0]).await
        }
    }

    #[deadline(budget = "1ms")]
    async fn const_generic<const N: u64, F>(future: F) -> Answer
    where
        F: Future<Output = Answer> + Budgeted<Budget = Millis<N>>,
    {
        future.await
    }

    trait Base {
        fn get(&self) -> impl Future<Output = Answer> + Send;
    }

    impl Base for u32 {
        #[deadline(budget = "400ms")]
        async fn get(&self) -> Answer {
            load(*self).await
        }
    }

    #[deadline(budget = "1ms")]
    async fn through_the_trait<B: Base>(base: B) -> Answer {
        base.get().await
    }

    #[deadline(budget = "400ms")]
    async fn leaves_in_many_ways(mut id: u32) -> Answer {
        'out: loop {
            match id {
                0 => return load(id).await,
                1 => {
                    while id > 1 {
                        for next in 0..3 {
                            if next > 1 {
                                id = match load(id).await {
                                    Ok(id) if id > 7 => break 'out,
                                    Ok(id) => id,
                                    Err(stopped) => return Err(stopped),
                                };
                                continue 'out;
                            }
                        }
                    }
                }
                _ => break,
            }
        }
        Ok(id)
    }
}

mod figures {
    use super::{Answer, deadline, load};

    /// A cap of a second and a plan of 50ms: three fit.
    #[deadline(budget = "1s", plan = "50ms")]
    async fn planned(id: u32) -> Answer {
        load(id).await
    }

    #[deadline(budget = "2s", reserve = "1s")]
    async fn three(id: u32) -> Answer {
        planned(id).await?;
        planned(id).await?;
        planned(id).await
    }

    /// The constant is known in the body only.
    #[deadline(budget = "400ms")]
    async fn local_constant(id: u32) -> Answer {
        const HALF: std::time::Duration = std::time::Duration::from_millis(200);
        #[budget(HALF)]
        planned(id).await?;
        #[budget(HALF)]
        planned(id).await
    }

    #[deadline(budget = "400ms")]
    async fn narrowed(id: u32) -> Answer {
        #[budget("100ms")]
        planned(id).await?;
        #[budget("75%")]
        planned(id).await
    }
}

/// The opt-in warnings of `audit` have nothing to say about these.
mod audited {
    use super::{Answer, deadline, load};

    #[deadline(budget = "400ms", audit)]
    async fn awaits(id: u32) -> Answer {
        load(id).await
    }

    #[deadline(budget = "400ms", audit)]
    async fn rounds(id: u32) -> Answer {
        let mut sum = 0_u32;
        for next in 0..id {
            sum = sum.wrapping_add(next);
        }
        Ok(sum)
    }

    #[deadline(budget = "400ms", audit)]
    async fn selects(id: u32) -> Answer {
        tokio::select! {
            value = load(id) => value,
            () = tokio::time::sleep(std::time::Duration::from_millis(1)) => Ok(0),
        }
    }

    mod own {
        pub(super) const fn spawn(id: u32) -> u32 {
            id
        }
        pub(super) const fn sleep(id: u32) -> u32 {
            id
        }
    }

    #[deadline(budget = "400ms", audit)]
    async fn of_the_same_name(id: u32) -> Answer {
        load(own::spawn(own::sleep(id))).await
    }
}

/// What is seen too late, or not at all, is no error.
mod not_seen {
    use super::{Answer, Budgeted, Duration, Millis, deadline, long, ready};

    /// Known behind the await, and not annotated.
    mod later {
        use super::{Answer, deadline, ready};

        #[deadline(budget = "1ms")]
        async fn option(id: u32) -> Answer {
            let mut next = None;
            let mut sum = 0;
            for round in 0..id {
                if let Some(ready) = next.take() {
                    sum += ready.await;
                }
                next = Some(ready(round));
            }
            Ok(sum)
        }

        const fn same<T>(_: &[T], _: &[T]) {}

        #[deadline(budget = "1ms", allow_overcommit)]
        async fn unchecked(id: u32) -> Answer {
            let mut waiting = Vec::new();
            while let Some(next) = waiting.pop() {
                let () = next.await;
            }
            same(&waiting, &[ready(())]);
            Ok(id)
        }

        #[deadline(keep_async)]
        async fn kept(id: u32) -> Answer {
            let mut next: Option<_> = None;
            if let Some(next) = next.take() {
                let _: u32 = next.await;
            }
            next.replace(ready(id));
            Ok(id)
        }

        #[deadline(budget = "10%", checkpoints = "off")]
        async fn percentage(id: u32) -> Answer {
            let mut next = Option::default();
            if let Some(next) = next.take() {
                let _: u32 = next.await;
            }
            next.replace(ready(id));
            Ok(id)
        }

        #[deadline(budget = "1ms")]
        async fn joined(id: u32) -> Answer {
            let mut next = None;
            for round in 0..id {
                if let Some(next) = next.take() {
                    let (first, second) = tokio::join!(next, ready(1));
                    let _: u32 = first;
                    let _: u32 = second;
                }
                next = Some(ready(round));
            }
            Ok(id)
        }
    }

    struct Client(u32);

    impl Client {
        const DB: Duration = Duration::from_millis(1);

        #[deadline(budget = Self::DB)]
        async fn by_self(&self, id: u32) -> Answer {
            long(self.0 + id).await
        }
    }

    #[deadline(budget = "1ms", keep_async)]
    async fn kept(id: u32) -> Answer {
        long(id).await
    }

    macro_rules! unknown {
        ($future:expr) => {
            $future.await
        };
    }

    #[deadline(budget = "1ms")]
    async fn in_a_macro(id: u32) -> Answer {
        unknown!(long(id))
    }

    #[deadline(budget = "1ms")]
    async fn const_parameter<const N: u64>(id: u32) -> Answer {
        long(id).await
    }

    struct Within<const N: u64, F>(F);

    impl<const N: u64, F> Within<N, F>
    where
        F: Future<Output = u32> + Budgeted<Budget = Millis<N>>,
    {
        #[deadline(budget = "400ms")]
        async fn with_a_figure(self) -> Answer {
            #[budget("400ms")]
            let id = self.0.await;
            Ok(id)
        }

        #[deadline(budget = "1ms", allow_overcommit)]
        async fn overcommitted(self) -> Answer {
            Ok(self.0.await)
        }
    }
}
