//! [`ClientBuilderExt`].

use ::reqwest::ClientBuilder;
use ::reqwest::redirect;
use ::reqwest::retry;

/// Builds reqwest clients whose own conveniences do not resend a deadline.
pub trait ClientBuilderExt: Sized {
    /// For services of your own: no redirect is followed and nothing is repeated inside the client.
    ///
    /// reqwest follows ten redirects and repeats what a server has refused on the level of the protocol. Both happen
    /// below us and send the headers of the first time again: a figure that is too large by then, and after a redirect
    /// possibly to a host that should not have it. An answer 3xx is an answer here; follow it with a call of its own, and
    /// repeat outside, where the figure is computed for each attempt.
    ///
    /// ```
    /// use deadline_runtime::http::ClientBuilderExt as _;
    ///
    /// # fn main() -> Result<(), reqwest::Error> {
    /// let client = reqwest::Client::builder().for_internal_services().build()?;
    /// # let _ = client;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    fn for_internal_services(self) -> Self;
}

impl ClientBuilderExt for ClientBuilder {
    fn for_internal_services(self) -> Self {
        self.redirect(redirect::Policy::none())
            .retry(retry::never())
    }
}
