//! What SIGINT, SIGTERM and SIGHUP do: they end every command at once, but one that keeps what it has finished.
//!
//! Without a handler the first process of a container would ignore them. What the parent has ignored stays ignored: SIGHUP
//! after `nohup`, SIGINT in the background of a script.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::{fs, process, thread};

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::Status;

/// Whether what runs now looks at [`asked`] several times a second, and ends by itself.
static FINISHES: AtomicBool = AtomicBool::new(false);
/// The first signal that has come; 0 before.
static ASKED: AtomicI32 = AtomicI32::new(0);

/// Listens to signals from now on.
pub(super) fn listen() -> anyhow::Result<()> {
    let ignored = ignored();
    let heard = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_in(ignored, *signal));
    let mut signals = Signals::new(heard).context("can't listen for Ctrl-C")?;
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || signals.forever().for_each(hear))
        .context("can't listen for Ctrl-C")?;
    Ok(())
}

fn hear(signal: i32) {
    let is_first = ASKED.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    // Whoever asks twice does not want to wait.
    if !is_first || !FINISHES.load(Ordering::Relaxed) {
        process::exit(status(signal) as i32);
    }
}

/// The signals that the parent has ignored, as Linux tells them: bit n - 1 stands for signal n. None where it can't be known.
fn ignored() -> u64 {
    let of_self = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = of_self.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

fn is_in(mask: u64, signal: i32) -> bool {
    mask >> (signal - 1) & 1 == 1
}

fn status(signal: i32) -> Status {
    match signal {
        SIGTERM => Status::Terminated,
        SIGHUP => Status::HungUp,
        _ => Status::Interrupted,
    }
}

/// How the command ends that has been asked to end, if it has.
pub(super) fn asked() -> Option<Status> {
    match ASKED.load(Ordering::Relaxed) {
        0 => None,
        signal => Some(status(signal)),
    }
}

/// While it lives, a signal leaves it to the command to end.
#[derive(Debug)]
pub(super) struct Finishing(());

impl Finishing {
    pub(super) fn begin() -> Self {
        FINISHES.store(true, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for Finishing {
    fn drop(&mut self) {
        FINISHES.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_has_a_bit_for_each_signal() {
        assert!(is_in(0x1, SIGHUP) && is_in(0x2, SIGINT) && is_in(0x4000, SIGTERM));
        assert!(!is_in(0x4002, SIGHUP) && !is_in(0, SIGTERM));
    }
}
