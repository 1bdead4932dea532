//! An answer of reqwest's with its body inside the deadline.

use ::http::response;
use ::reqwest::{Body, Response, ResponseBuilderExt as _, Url};

use crate::http::client::{Call, InboundBody, Outgoing};
use crate::scope::TARGET;

/// The same answer, whose body ends with the context of the call.
pub(super) fn within(answer: Response, asked: &Url, outgoing: &Outgoing, call: Call) -> Response {
    let url = answer.url().clone();
    if url != *asked {
        // Neither of the two: they are not for everybody who reads logs.
        tracing::warn!(
            target: TARGET,
            op = call.operation(),
            request_id = outgoing.cx.request_id().as_deref().unwrap_or(""),
            "the client has followed a redirect and sent the same figure again: build it with `for_internal_services`"
        );
    }
    if outgoing.cx.is_none() || !outgoing.cx.mode().enforces() {
        return answer;
    }
    let answer: ::http::Response<Body> = answer.into();
    let mut answer =
        answer.map(|body| Body::wrap(InboundBody::new(body, &outgoing.cx, call, false)));
    // The conversion leaves the address behind, which only reqwest itself can name.
    if let Ok(named) = response::Builder::new().url(url).body(()) {
        let extensions = named.into_parts().0.extensions;
        answer.extensions_mut().extend(extensions);
    }
    answer.into()
}
