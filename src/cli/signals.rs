//! What SIGINT, SIGTERM and SIGHUP do: they end every command at once, but one that keeps what it has finished.
//!
//! Without a handler the first process of a container would ignore them.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

use super::Status;

/// Whether what runs now looks at [`is_asked`] several times a second, and ends by itself.
static FINISHES: AtomicBool = AtomicBool::new(false);
/// Whether a signal has come.
static ASKED: AtomicBool = AtomicBool::new(false);

/// Listens to signals from now on.
pub(super) fn listen() -> anyhow::Result<()> {
    let handler = || {
        // Whoever asks twice does not want to wait.
        if ASKED.swap(true, Ordering::Relaxed) || !FINISHES.load(Ordering::Relaxed) {
            process::exit(Status::Interrupted as i32);
        }
    };
    ctrlc::set_handler(handler).context("can't listen for Ctrl-C")
}

/// Whether the command has been asked to end.
pub(super) fn is_asked() -> bool {
    ASKED.load(Ordering::Relaxed)
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
