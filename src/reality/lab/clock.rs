//! The clock of a laboratory: that of the machine, from the moment when the laboratory began.

use std::time::{Duration, Instant};

use rustix::event::{PollFd, Timespec, poll};

use super::LabError;
use crate::time::{SimDuration, SimTime};

/// Time since a laboratory began; the same for all its threads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock that stands at 0 after `wait`.
    pub(super) fn starting_after(wait: Duration) -> Self {
        Self { start: real_now() + wait }
    }

    /// What it shows; 0 before it starts.
    pub(super) fn now(self) -> SimTime {
        let passed = real_now().saturating_duration_since(self.start);
        SimTime::from_nanos(u64::try_from(passed.as_nanos()).expect("a laboratory is short"))
    }

    /// How long until it shows `time`; nothing if it did already.
    pub(super) fn until(self, time: SimTime) -> Duration {
        let at = self.start + Duration::from_nanos(time.as_nanos().min(FAR.as_nanos()));
        at.saturating_duration_since(real_now())
    }

    /// Waits until it shows `time`, or something can be read or written.
    pub(super) fn wait(self, time: SimTime, descriptors: &mut [PollFd<'_>]) -> Result<(), LabError> {
        let until = self.until(time);
        let timeout = Timespec { tv_sec: until.as_secs() as i64, tv_nsec: until.subsec_nanos().into() };
        match poll(descriptors, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(LabError(format!("can't wait: {error}"))),
        }
    }
}

/// Further than any laboratory goes.
const FAR: SimDuration = SimDuration::from_secs(86_400);

#[expect(clippy::disallowed_methods, reason = "a laboratory lives in real time")]
fn real_now() -> Instant {
    Instant::now()
}
