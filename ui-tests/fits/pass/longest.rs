//! A combinator that runs its futures side by side declares the longest of them.
use deadline_runtime::{Attempts, Budgeted, Longest, Millis, Stopped, Unbudgeted, deadline};

#[deadline(budget = "200ms")]
async fn save(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

struct Race<F>(F);

impl<F: Future> IntoFuture for Race<F> {
    type Output = F::Output;
    type IntoFuture = F;

    fn into_future(self) -> F {
        self.0
    }
}

impl<F> Budgeted for Race<F> {
    type Budget = Longest<(Millis<400, 250>, Attempts<2, 140, 20>, Unbudgeted)>;
}

#[deadline(budget = "500ms")]
async fn patient(id: u32) -> Result<u32, Stopped> {
    Race(async { id }).await;
    save(id).await
}

fn main() {}
