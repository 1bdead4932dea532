//! [`Process`]: a child that ends with its parent.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::clock::real_time;

/// A child whose lines are kept.
///
/// It must end when its input ends: that closes when this is dropped, when a test panics, and when the whole process is
/// killed, so that nothing is ever left behind.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    input: Option<ChildStdin>,
    lines: Arc<Lines>,
}

#[derive(Debug, Default)]
struct Lines {
    said: Mutex<Said>,
    more: Notify,
}

#[derive(Debug, Default)]
struct Said {
    output: Vec<String>,
    errors: Vec<String>,
    over: bool,
}

/// Much more than anything here takes.
const PATIENCE: Duration = Duration::from_secs(30);

impl Process {
    /// Starts it.
    ///
    /// # Errors
    /// What the system says if it cannot be started.
    ///
    /// # Panics
    /// Under a paused clock.
    pub fn start(name: &str, command: &mut Command) -> std::io::Result<Self> {
        real_time();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let lines = Arc::<Lines>::default();
        let input = child.stdin.take();
        if let (Some(output), Some(errors)) = (child.stdout.take(), child.stderr.take()) {
            let kept = lines.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    kept.add(|said| said.output.push(line));
                }
                kept.add(|said| said.over = true);
            });
            let kept = lines.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(errors).lines().map_while(Result::ok) {
                    kept.add(|said| said.errors.push(line));
                }
            });
        }
        Ok(Self {
            name: name.to_owned(),
            child,
            input,
            lines,
        })
    }

    /// Sends a line.
    ///
    /// # Panics
    /// If it has ended.
    pub fn tell(&mut self, line: &str) {
        let sent = self.input.as_mut().map(|input| writeln!(input, "{line}"));
        assert!(matches!(sent, Some(Ok(()))), "{self:?} has ended");
    }

    /// What `pick` finds among the lines printed so far, as soon as it finds it.
    ///
    /// # Panics
    /// If that never comes.
    pub async fn wait_for<T>(&self, mut pick: impl FnMut(&[String]) -> Option<T>) -> T {
        let start = Instant::now();
        loop {
            let more = self.lines.more.notified();
            let over = {
                let said = self.lines.lock();
                if let Some(found) = pick(&said.output) {
                    return found;
                }
                said.over
            };
            let late = start.elapsed() > PATIENCE;
            assert!(!over && !late, "{} said only {:#?}", self.name, self.lines);
            // A second at most, so that the limit above is seen.
            let _ = tokio::time::timeout(Duration::from_secs(1), more).await;
        }
    }

    /// What it wrote to its standard error so far.
    #[must_use]
    pub fn errors(&self) -> String {
        self.lines.lock().errors.join("\n")
    }
}

impl Lines {
    fn lock(&self) -> std::sync::MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, what: impl FnOnce(&mut Said)) {
        what(&mut self.lock());
        self.more.notify_waiters();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.input.take());
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(5) {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(5)),
                Ok(Some(_)) | Err(_) => return,
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_child_is_told_heard_and_ended_with_its_owner() {
        let mut echo = Command::new("sh");
        echo.args(["-c", "echo $$; exec cat"]);
        let mut process = Process::start("echo", &mut echo).expect("a shell");
        let pid = process.wait_for(|lines| lines.first().cloned()).await;
        process.tell("hello");
        let heard = process.wait_for(|lines| lines.get(1).cloned()).await;
        assert_eq!(heard, "hello");
        let alive = || std::path::Path::new("/proc").join(&pid).exists();
        assert!(alive());
        drop(process);
        assert!(!alive());
    }

    #[tokio::test(start_paused = true)]
    #[should_panic(expected = "paused clock")]
    async fn none_is_started_under_a_paused_clock() {
        let _ = Process::start("true", &mut Command::new("true"));
    }
}
