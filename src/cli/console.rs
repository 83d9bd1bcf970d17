//! What goes to the terminal: data to standard output, everything else to standard error.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use clap::ColorChoice;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::compute::plain;
use crate::experiment::ExperimentError;

/// How often a bar is drawn at least.
pub(super) const TICK: Duration = Duration::from_millis(500);

/// The terminal, as the user wants it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Console {
    quiet: bool,
    color: bool,
}

impl Console {
    pub(super) fn new(quiet: bool, color: ColorChoice) -> Self {
        let is_plain = || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let color = match color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => io::stderr().is_terminal() && !is_plain(),
        };
        Self { quiet, color }
    }

    /// Whether nothing but data and errors is wanted.
    pub(super) fn is_quiet(self) -> bool {
        self.quiet
    }

    /// Writes data to standard output. A reader that has gone away is no error.
    pub(super) fn data(self, text: &str) -> io::Result<()> {
        match io::stdout().lock().write_all(plain(text).as_bytes()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            result => result,
        }
    }

    /// A bar of so many parts, on a terminal that does not want quiet. It is drawn from now on, twice a second.
    pub(super) fn bar(self, parts: u64) -> ProgressBar {
        let target = if self.quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(parts), target);
        bar.set_style(ProgressStyle::with_template("{bar:30} {percent} %").expect("the template is right"));
        bar.enable_steady_tick(TICK);
        bar
    }

    /// Says something on standard error, unless quiet.
    pub(super) fn note(self, text: &str) {
        if !self.quiet {
            say(&plain(text));
        }
    }

    /// Says something on standard error that even who wants quiet must see.
    pub(super) fn insist(self, text: &str) {
        say(&plain(text));
    }

    pub(super) fn error(self, error: &anyhow::Error) {
        match error.chain().find_map(|cause| cause.downcast_ref::<ExperimentError>()) {
            Some(cause) => {
                say(&cause.render(self.color));
                if !error.is::<ExperimentError>() {
                    say(&plain(&format!("note: {error}")));
                }
            }
            None => self.warn(&format!("{error:#}")),
        }
    }

    /// Warns of something that is no error, unless quiet.
    pub(super) fn caution(self, text: &str) {
        if !self.quiet {
            say(&self.labelled("warning:", 33, text));
        }
    }

    /// Says something that even who wants quiet must know.
    pub(super) fn warn(self, text: &str) {
        say(&self.labelled("error:", 31, text));
    }

    /// `text` after a label in the terminal's colour of this number.
    fn labelled(self, label: &str, color: u8, text: &str) -> String {
        let text = plain(text);
        if self.color {
            format!("\u{1b}[1;{color}m{label}\u{1b}[0m {text}")
        } else {
            format!("{label} {text}")
        }
    }
}

/// Writes a line to standard error. If nobody reads it any more, there is nobody to tell.
fn say(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}
