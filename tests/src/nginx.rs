//! [`Nginx`]: nginx with a configuration of ours, in a folder of its own.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::peers::process::Process;

/// A running nginx. It ends when this is dropped.
#[derive(Debug)]
pub struct Nginx {
    /// Where it listens, one for each `${port}`, `${port_2}` … of its configuration.
    pub ports: Vec<SocketAddr>,
    dir: PathBuf,
    // Before the folder goes.
    process: Option<Process>,
}

/// Runs its arguments until its input ends.
const UNTIL_INPUT_ENDS: &str = r#""$@" & read -r _; kill $! 2>/dev/null; wait"#;

impl Nginx {
    /// Starts nginx with `configuration`, in which `${dir}`, `${port}`, `${port_2}` and the names in `filled` are
    /// replaced.
    ///
    /// # Panics
    /// If it is not installed or does not start, or under a paused clock.
    #[must_use]
    pub fn start(configuration: &str, filled: &[(&str, String)]) -> Self {
        let mut last = String::new();
        // nginx cannot be asked for any free port, so it is given some that were free just now.
        for _ in 0..5 {
            match Self::start_once(configuration, filled) {
                Ok(nginx) => return nginx,
                Err(said) => last = said,
            }
        }
        panic!("nginx does not start; is it installed (tests/peers/install)? It said: {last}");
    }

    fn start_once(configuration: &str, filled: &[(&str, String)]) -> Result<Self, String> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let free: Vec<TcpListener> = (0..2)
            .map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port"))
            .collect();
        let ports: Vec<SocketAddr> = free
            .iter()
            .map(|listener| listener.local_addr().expect("an address"))
            .collect();
        drop(free);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("deadline-nginx-{}-{number}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&dir).expect("a folder");
        let mut text = configuration
            .replace("${dir}", &dir.to_string_lossy())
            .replace("${port}", &ports[0].port().to_string())
            .replace("${port_2}", &ports[1].port().to_string());
        for (name, value) in filled {
            text = text.replace(&format!("${{{name}}}"), value);
        }
        std::fs::write(dir.join("nginx.conf"), text).expect("a configuration");
        let mut command = Command::new("sh");
        command
            .args(["-c", UNTIL_INPUT_ENDS, "sh", "nginx", "-e", "stderr"])
            .arg("-p")
            .arg(&dir)
            .args(["-c", "nginx.conf"])
            // Where Debian has it, which is not on everybody's path.
            .env(
                "PATH",
                format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default()),
            );
        let process = Process::start("nginx", &mut command).map_err(|error| error.to_string())?;
        let nginx = Self {
            ports,
            dir,
            process: Some(process),
        };
        let start = Instant::now();
        let errors = || {
            nginx
                .process
                .as_ref()
                .map(Process::errors)
                .unwrap_or_default()
        };
        while start.elapsed() < Duration::from_secs(5) && !errors().contains("[emerg]") {
            // Its own pid file tells it from a stranger who took the port.
            if nginx.dir.join("nginx.pid").exists() && TcpStream::connect(nginx.ports[0]).is_ok() {
                return Ok(nginx);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err(errors())
    }

    /// The line that nginx logged for a request, whose id comes first in it, as soon as it is there.
    ///
    /// # Panics
    /// If it never comes.
    pub async fn logged(&self, request_id: &str) -> String {
        let start = Instant::now();
        loop {
            let log = std::fs::read_to_string(self.dir.join("access.log")).unwrap_or_default();
            let of = log
                .lines()
                .find_map(|line| line.strip_prefix(request_id)?.strip_prefix(' '));
            if let Some(line) = of {
                return line.to_owned();
            }
            let late = start.elapsed() > Duration::from_secs(20);
            assert!(!late, "no `{request_id}` in {log}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        drop(self.process.take());
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
