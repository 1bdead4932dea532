//! A facade that depends on `deadline-runtime` under another name and re-exports it.
pub use dl;

use dl::{Stopped, deadline};

/// Loads, as a public and documented function of a library.
///
/// # Errors
/// When it is stopped.
#[deadline(budget = "1s", reserve = "10ms", crate = dl)]
pub async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(std::future::ready(id).await)
}

/// A client with public methods.
#[derive(Clone, Copy, Debug, Default)]
pub struct Client {
    calls: u32,
}

impl Client {
    /// Counts the calls.
    ///
    /// # Errors
    /// When it is stopped.
    #[deadline(budget = "1s", crate = ::dl)]
    pub async fn call(&mut self, times: u32) -> Result<u32, Stopped> {
        for _ in 0..times {
            self.calls += load(1).await?;
        }
        Ok(self.calls)
    }

    /// Boxes its body.
    #[deadline(budget = "450ms", boxed, fallback = String::new(), crate = ::dl)]
    pub async fn text(&self, name: &str) -> String {
        format!("{name} {}", std::future::ready(self.calls).await)
    }
}
