//! [`Holdings`]: what this process holds.

use std::time::{Duration, Instant};

use tokio::runtime::Handle;

/// Tasks, descriptors and memory at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Holdings {
    /// Tasks of the runtime.
    pub tasks: usize,
    /// Open descriptors.
    pub descriptors: usize,
    /// Bytes allocated and not freed.
    pub live: usize,
    /// Bytes of memory that are resident.
    pub resident: usize,
}

impl Holdings {
    /// What is held now. `live` is asked of the allocator.
    ///
    /// # Panics
    /// Where there is no `/proc`.
    #[must_use]
    pub fn now(live: fn() -> usize) -> Self {
        let status = std::fs::read_to_string("/proc/self/status").expect("/proc");
        let resident = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .and_then(|line| line.trim().strip_suffix(" kB")?.parse::<usize>().ok())
            .expect("a figure");
        // The folder that is being read is one of them, each time.
        let descriptors = std::fs::read_dir("/proc/self/fd").expect("/proc").count();
        Self {
            tasks: Handle::current().metrics().num_alive_tasks(),
            descriptors,
            live: live(),
            resident: resident * 1024,
        }
    }

    /// What is held once tasks and descriptors are back at those of `before`, or after a while.
    pub async fn back_at(before: &Self, live: fn() -> usize) -> Self {
        let start = Instant::now();
        loop {
            let now = Self::now(live);
            let back = now.tasks <= before.tasks && now.descriptors <= before.descriptors;
            if back || start.elapsed() > Duration::from_secs(20) {
                return now;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
