//! Annotated functions that other crates call.

use deadline_runtime::{Stopped, deadline};

/// Declares 1s.
///
/// # Errors
/// When it is stopped.
#[deadline(budget = "1s")]
pub async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

/// Has a method.
#[derive(Clone, Copy, Debug)]
pub struct Client;

impl Client {
    /// Declares 500ms.
    ///
    /// # Errors
    /// When it is stopped.
    #[deadline(budget = "500ms")]
    pub async fn call(&self) -> Result<u32, Stopped> {
        Ok(1)
    }
}
