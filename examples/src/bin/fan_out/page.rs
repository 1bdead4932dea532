//! The two functions this story is about.

use std::fmt;
use std::time::Duration;

use deadline_runtime::fan_out::{branch, fan_out, fan_out_all, optional, required};
use deadline_runtime::{Cause, Stopped, deadline};

use crate::service::{Service, World};

/// What came of the services, in their order.
pub struct Page {
    pub parts: Vec<Option<&'static str>>,
    pub missing: Vec<(&'static str, Cause)>,
}

#[derive(Debug)]
pub enum PageError {
    Stopped(Stopped),
    Down(&'static str),
}

impl From<Stopped> for PageError {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(stopped)
    }
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped(stopped) => stopped.fmt(f),
            Self::Down(service) => write!(f, "{service} is down"),
        }
    }
}

/// The same call to each service: what is required is known at run time. None may take more than 200 ms.
#[deadline(budget = "500ms", reserve = "50ms")]
pub async fn load(world: &World<'_>, services: &[Service]) -> Result<Page, PageError> {
    let cut_off = Duration::from_millis(200);
    let calls = services
        .iter()
        .map(|service| branch(service.name, service.need, world.call(service)).budget(cut_off));
    let page = fan_out_all(calls).await?;
    let missing = page.missing().iter();
    Ok(Page {
        missing: missing
            .map(|missing| (missing.operation(), missing.cause()))
            .collect(),
        parts: page.values.into_iter().map(Result::ok).collect(),
    })
}

/// Two different values, each of its own type.
#[deadline(budget = "300ms", reserve = "50ms")]
pub async fn greet(world: &World<'_>) -> Result<String, Stopped> {
    let page = fan_out((
        required("name", async {
            world.wait("name", Duration::from_millis(20)).await;
            Ok::<_, Stopped>(String::from("Ada"))
        }),
        optional("weather", async {
            world.wait("weather", Duration::from_secs(4)).await;
            Ok::<i8, Stopped>(21)
        }),
    ))
    .await?;
    let (name, weather) = page.values;
    Ok(match weather {
        Ok(degrees) => format!("Hello {name}, it is {degrees} degrees"),
        Err(_) => format!("Hello {name}, no weather today"),
    })
}
