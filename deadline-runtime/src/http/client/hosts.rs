//! [`InternalHosts`]: who is told about our deadlines.

use std::fmt;
use std::sync::Arc;

/// The hosts that are sent our headers. A stranger learns neither how long we wait nor our request ids.
///
/// ```
/// use deadline_runtime::http::InternalHosts;
///
/// let hosts = InternalHosts::new(["profile", ".svc.cluster.local"]);
/// assert!(hosts.contains("profile"));
/// assert!(hosts.contains("orders.svc.cluster.local"));
/// assert!(!hosts.contains("profile.example.com"));
/// ```
#[derive(Clone)]
pub struct InternalHosts(Option<IsInternal>);

/// `None` in its place is every host.
type IsInternal = Arc<dyn Fn(&str) -> bool + Send + Sync>;

impl InternalHosts {
    /// The listed hosts. A name that begins with a dot stands for every host below it. Case does not matter, a port
    /// does not belong in the list; IPv6 addresses are written without brackets.
    pub fn new<H: Into<String>>(hosts: impl IntoIterator<Item = H>) -> Self {
        let hosts: Vec<String> = hosts
            .into_iter()
            .map(|host| host.into().to_ascii_lowercase())
            .collect();
        Self::matching(move |asked| {
            let asked = asked.to_ascii_lowercase();
            hosts.iter().any(|host| {
                if host.starts_with('.') {
                    asked.len() > host.len() && asked.ends_with(host.as_str())
                } else {
                    asked == *host
                }
            })
        })
    }

    /// Every host, for a client that only ever talks to the inside. Also the one for a channel to a single service, such
    /// as tonic's, whose requests name no host.
    #[must_use]
    pub const fn all() -> Self {
        Self(None)
    }

    /// The hosts for which `is_internal` says so.
    pub fn matching(is_internal: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(is_internal)))
    }

    /// Whether a host, without port and brackets, is one of them.
    #[must_use]
    pub fn contains(&self, host: &str) -> bool {
        let host = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or(host);
        self.0.as_ref().is_none_or(|is_internal| is_internal(host))
    }

    /// Whether a request is told that may not name its host.
    pub(in crate::http) fn admits(&self, host: Option<&str>) -> bool {
        match host {
            Some(host) => self.contains(host),
            None => self.0.is_none(),
        }
    }
}

impl fmt::Debug for InternalHosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InternalHosts")
    }
}
