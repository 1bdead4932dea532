//! A figure that is a const parameter of the impl: the sum would be another one for each.
use deadline_runtime::{Budgeted, Millis, Stopped, deadline};

struct Within<const N: u64, F>(F);

impl<const N: u64, F> Within<N, F>
where
    F: Future<Output = u32> + Budgeted<Budget = Millis<N>>,
{
    #[deadline(budget = "1s")]
    async fn run(self) -> Result<u32, Stopped> {
        Ok(self.0.await)
    }
}

fn main() {}
