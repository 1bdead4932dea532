//! A page from ten services, three of which it cannot do without.
//!
//! `cargo run -p deadline-examples --bin fan_out` takes about a second and ends with status 1 if a promise is broken.

mod page;
mod service;

use std::process::ExitCode;
use std::time::Duration;

use deadline_examples::timeline::Timeline;
use deadline_runtime::{Cause, Stopped};

use crate::page::{Page, PageError};
use crate::service::{Service, World};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let timeline = Timeline::default();
    all_in_time(&timeline).await;
    one_is_slow(&timeline).await;
    a_required_one_fails(&timeline).await;
    the_deadline_strikes(&timeline).await;
    timeline.end()
}

/// How much later than promised something may be seen on a busy machine; what is stopped would take longer.
const SLACK: Duration = ms(200);

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Ten services, the first three required.
fn services() -> [Service; 10] {
    [
        Service::required("profile", ms(60)),
        Service::required("cart", ms(40)),
        Service::required("prices", ms(90)),
        Service::optional("orders", ms(30)),
        Service::optional("stock", ms(70)),
        Service::optional("reviews", ms(50)),
        Service::optional("coupons", ms(20)),
        Service::optional("history", ms(80)),
        Service::optional("friends", ms(10)),
        Service::optional("ads", ms(100)),
    ]
}

fn show(timeline: &Timeline, page: &Page) {
    let there: Vec<_> = page.parts.iter().flatten().copied().collect();
    timeline.note(format!(
        "answered with {}: {}",
        there.len(),
        there.join(", ")
    ));
    for (name, cause) in &page.missing {
        timeline.note(format!("missing: {name} ({cause})"));
    }
}

async fn all_in_time(timeline: &Timeline) {
    timeline.scene("ten services, all in time");
    let world = World::new(timeline);
    match page::load(&world, &services()).await {
        Ok(page) => {
            show(timeline, &page);
            timeline.promise(page.missing.is_empty(), "the page is complete");
        }
        Err(error) => timeline.promise(false, format!("the page is complete: {error}")),
    }
    let took = timeline.elapsed();
    timeline.promise(
        took >= ms(100) && took < ms(100) + SLACK,
        "it took as long as the slowest, about 100 ms",
    );
}

async fn one_is_slow(timeline: &Timeline) {
    timeline.scene("an optional one is slow, another is down");
    let world = World::new(timeline);
    let mut services = services();
    services[5].takes = ms(4_000);
    services[9].fails = true;
    let page = page::load(&world, &services).await;
    let took = timeline.elapsed();
    match page {
        Ok(page) => {
            show(timeline, &page);
            timeline.promise(
                page.missing
                    == [
                        ("reviews", Cause::DependencyTimeout),
                        ("ads", Cause::DependencyFailed),
                    ],
                "the page is there without the two, and says why each is missing",
            );
        }
        Err(error) => {
            timeline.promise(false, format!("the page is there without the two: {error}"));
        }
    }
    timeline.promise(
        took >= ms(200) && took < ms(200) + SLACK,
        "the slow one was cut off at its 200 ms",
    );
    timeline.promise(
        world.stopped() == [("reviews", Some(Cause::DependencyTimeout))],
        "its call was ended",
    );
}

async fn a_required_one_fails(timeline: &Timeline) {
    timeline.scene("a required one fails");
    let world = World::new(timeline);
    let mut services = services();
    services[1].fails = true;
    // Those that take longer than it does take much longer, so that a busy machine tells the same story.
    for service in &mut services {
        if service.takes > ms(40) {
            service.takes *= 10;
        }
    }
    let page = page::load(&world, &services).await;
    let took = timeline.elapsed();
    let failed = match &page {
        Err(error) => {
            timeline.note(format!("no page: {error}"));
            matches!(error, PageError::Down("cart"))
        }
        Ok(_) => false,
    };
    timeline.promise(failed, "its error is what the page fails with");
    timeline.promise(took < ms(40) + SLACK, "at once, at about 40 ms");
    let stopped = world.stopped();
    timeline.promise(
        stopped.len() == 6
            && stopped
                .iter()
                .all(|(_, cause)| *cause == Some(Cause::SiblingFailed)),
        "the six that were still on their way were stopped with sibling_failed before that",
    );
}

async fn the_deadline_strikes(timeline: &Timeline) {
    timeline.scene("the deadline strikes while an optional one without a cut-off is on its way");
    let world = World::new(timeline);
    let greeting: Result<_, Stopped> = page::greet(&world).await;
    let took = timeline.elapsed();
    match greeting {
        Ok(text) => {
            timeline.note(&text);
            timeline.promise(
                text == "Hello Ada, no weather today",
                "what has finished is answered with",
            );
        }
        Err(error) => timeline.promise(
            false,
            format!("what has finished is answered with: {error}"),
        ),
    }
    timeline.promise(
        took >= ms(250) && took < ms(300) + SLACK,
        "out of the reserve: work ends at 250 ms, the answer is out before 300 ms",
    );
}
