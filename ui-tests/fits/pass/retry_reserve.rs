//! With a reserve, and something before it.
use deadline_runtime::{Attempts, Budgeted, Stopped, deadline};

#[deadline(budget = "100ms")]
async fn ping() -> Result<u32, Stopped> {
    Ok(1)
}

async fn other(id: u32) -> u32 {
    id
}

/// A combinator carries its figure in its type.
struct Retry<F, const ATTEMPTS: u64, const EACH: u64, const BACKOFFS: u64>(F);

impl<F: Future, const ATTEMPTS: u64, const EACH: u64, const BACKOFFS: u64> IntoFuture
    for Retry<F, ATTEMPTS, EACH, BACKOFFS>
{
    type Output = F::Output;
    type IntoFuture = F;

    fn into_future(self) -> F {
        self.0
    }
}

impl<F, const ATTEMPTS: u64, const EACH: u64, const BACKOFFS: u64> Budgeted
    for Retry<F, ATTEMPTS, EACH, BACKOFFS>
{
    type Budget = Attempts<ATTEMPTS, EACH, BACKOFFS>;
}

#[deadline(budget = "805ms", reserve = "100ms")]
async fn patient(id: u32) -> Result<u32, Stopped> {
    ping().await?;
    Ok(Retry::<_, 2, 300, 5>(other(id)).await)
}

fn main() {}
