//! Refuses real I/O under a paused clock.

use std::time::Duration;

/// Panics under a paused clock: it jumps to the next timer whenever everything waits, also while a socket or another
/// process is about to answer, so that limits expire at random.
///
/// # Panics
/// If the clock of this runtime is paused.
pub fn real_time() {
    let before = tokio::time::Instant::now();
    std::thread::sleep(Duration::from_millis(1));
    assert_ne!(
        before,
        tokio::time::Instant::now(),
        "real sockets and processes under a paused clock expire at random: take `start_paused` away"
    );
}

#[cfg(test)]
mod tests {
    use super::real_time;

    #[tokio::test(start_paused = true)]
    #[should_panic(expected = "paused clock")]
    async fn a_paused_clock_is_refused() {
        real_time();
    }

    #[tokio::test]
    async fn the_clock_on_the_wall_is_not() {
        real_time();
    }
}
