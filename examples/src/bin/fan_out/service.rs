//! Services that take their time, and somebody who writes down how their calls ended.

use std::cell::RefCell;
use std::time::Duration;

use deadline_examples::timeline::Timeline;
use deadline_runtime::fan_out::Need;
use deadline_runtime::{Cause, Context};
use tokio::time::sleep;

use crate::page::PageError;

#[derive(Clone, Copy)]
pub struct Service {
    pub name: &'static str,
    pub need: Need,
    pub takes: Duration,
    pub fails: bool,
}

impl Service {
    pub const fn required(name: &'static str, takes: Duration) -> Self {
        Self {
            name,
            need: Need::Required,
            takes,
            fails: false,
        }
    }

    pub const fn optional(name: &'static str, takes: Duration) -> Self {
        Self {
            need: Need::Optional,
            ..Self::required(name, takes)
        }
    }
}

pub struct World<'a> {
    timeline: &'a Timeline,
    stopped: RefCell<Vec<(&'static str, Option<Cause>)>>,
}

impl<'a> World<'a> {
    pub const fn new(timeline: &'a Timeline) -> Self {
        Self {
            timeline,
            stopped: RefCell::new(Vec::new()),
        }
    }

    pub async fn call(&self, service: &Service) -> Result<&'static str, PageError> {
        self.wait(service.name, service.takes).await;
        if service.fails {
            self.timeline.note(format!("{} fails", service.name));
            return Err(PageError::Down(service.name));
        }
        Ok(service.name)
    }

    /// Takes its time, and notes when it is not left it.
    pub async fn wait(&self, name: &'static str, time: Duration) {
        let call = Call {
            name,
            world: self,
            done: false,
        };
        sleep(time).await;
        call.end();
    }

    /// The calls that were ended from outside, and why.
    pub fn stopped(&self) -> Vec<(&'static str, Option<Cause>)> {
        self.stopped.borrow().clone()
    }
}

struct Call<'a> {
    name: &'static str,
    world: &'a World<'a>,
    done: bool,
}

impl Call<'_> {
    fn end(mut self) {
        self.done = true;
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        // Destructors see the context of the branch.
        let cause = Context::current().cause();
        let word = cause.map_or("nobody waits", Cause::as_str);
        self.world
            .timeline
            .note(format!("{} is stopped: {word}", self.name));
        self.world.stopped.borrow_mut().push((self.name, cause));
    }
}
