//! Methods, whatever their receiver.
use deadline_runtime::{Stopped, deadline};

struct Client;

impl Client {
    #[deadline(budget = "400ms")]
    async fn by_ref(&self) -> Result<u32, Stopped> {
        Ok(1)
    }

    #[deadline(budget = "300ms")]
    async fn by_mut(&mut self) -> Result<u32, Stopped> {
        Ok(1)
    }

    #[deadline(budget = "200ms")]
    async fn by_value(self) -> Result<u32, Stopped> {
        Ok(1)
    }

    #[deadline(budget = "900ms")]
    async fn all(mut self) -> Result<u32, Stopped> {
        self.by_ref().await?;
        self.by_mut().await?;
        self.by_value().await
    }
}

fn main() {}
