//! How far a job is, in one line: runs, rate, time left, and for a precision the width that is still too large.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::console::{Console, TICK};
use crate::experiment::Experiment;
use crate::job::agenda::CellStanding;
use crate::job::{JobAccount, JobProgress};
use crate::metrics::Metric;

/// The bar's length: a thousandth part moves it.
const LENGTH: u64 = 1000;

/// The progress bar of a job. It is drawn at once, and while long runs are under way too.
pub(super) struct ProgressLine {
    bar: ProgressBar,
    /// Whether its runs are only known to be so many at most.
    is_search: bool,
    /// When it was last drawn, since it was made.
    shown: Option<Duration>,
}

impl ProgressLine {
    /// The line of a job, or of a search that has so many runs at `most`.
    pub(super) fn new(most: Option<u64>, console: &Console) -> Self {
        let bar = console.bar(most.unwrap_or(LENGTH));
        let style = match most {
            Some(_) => "{bar:30} {pos} of at most {len} runs  {per_sec}",
            None => "{bar:30} {msg}",
        };
        bar.set_style(ProgressStyle::with_template(style).expect("the template is right"));
        Self { bar, is_search: most.is_some(), shown: None }
    }

    /// Draws the line, if it has not been drawn lately.
    pub(super) fn show(&mut self, progress: &JobProgress<'_>) {
        if self.is_search {
            return self.bar.set_position(progress.finished as u64);
        }
        let elapsed = self.bar.elapsed();
        if self.bar.is_hidden() || self.shown.is_some_and(|shown| elapsed - shown < TICK) {
            return;
        }
        self.shown = Some(elapsed);
        let account = progress.account();
        self.bar.set_position((account.done * LENGTH as f64) as u64);
        let width = account.widest.map(|standing| width_text(progress.experiment, &standing));
        self.bar.set_message(text(&account, elapsed) + &width.unwrap_or_default());
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn width_text(experiment: &Experiment, standing: &CellStanding) -> String {
    let (Some(width), Some(precision)) = (standing.width, experiment.precision()) else {
        return String::new();
    };
    let cell = experiment.describe(&experiment.cells()[standing.cell]);
    let metric = precision.metric.name;
    let text = |value: f64| Metric::of(metric).format.text(value);
    if width.half.is_infinite() {
        return format!("  {metric} the same in all runs so far, in {cell}");
    }
    format!("  {metric} to within {}, wanted {}, in {cell}", text(width.half), text(width.allowed))
}

/// What `account` is after so much time.
fn text(account: &JobAccount, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    let own = account.done - account.earlier;
    let mut text = format!("{} of {} runs", account.finished, account.runs);
    // Before anything is done, the time left is unknown.
    if own > 0.0 && seconds > 0.0 {
        let rate = own * account.runs as f64 / seconds;
        let left = Duration::try_from_secs_f64((1.0 - account.done) / own * seconds);
        text += &format!("  {}  {} left", rate_text(rate), left.map_or("ages".to_owned(), time_text));
    }
    text
}

/// A rate in the unit in which it is at least 1.
fn rate_text(per_second: f64) -> String {
    match per_second {
        rate if rate >= 1.0 => format!("{rate:.1} runs/s"),
        rate if rate * 60.0 >= 1.0 => format!("{:.1} runs/min", rate * 60.0),
        rate => format!("{:.1} runs/h", rate * 3600.0),
    }
}

/// A time in its two largest units.
fn time_text(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {}s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}h {}m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{}d {}h", seconds / 86_400, seconds / 3600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_of_one_long_run_has_a_rate_and_an_end() {
        // 2 % of the only run in 36 s.
        let elapsed = Duration::from_secs(36);
        let account = JobAccount { finished: 0, runs: 1, done: 0.02, earlier: 0.0, widest: None };
        assert_eq!(text(&account, elapsed), "0 of 1 runs  2.0 runs/h  29m 24s left");
        let begun = JobAccount { done: 0.0, ..account };
        assert_eq!(text(&begun, elapsed), "0 of 1 runs");
    }

    #[test]
    fn what_an_earlier_job_did_is_no_speed_of_this_one() {
        let account = JobAccount { finished: 75, runs: 100, done: 0.75, earlier: 0.5, widest: None };
        assert_eq!(text(&account, Duration::from_secs(5)), "75 of 100 runs  5.0 runs/s  5s left");
    }

    #[test]
    fn times_and_rates_stand_in_fitting_units() {
        let text = |seconds| time_text(Duration::from_secs(seconds));
        assert_eq!([text(59), text(61), text(3661), text(90_000)], ["59s", "1m 1s", "1h 1m", "1d 1h"]);
        assert_eq!(
            [rate_text(12.34), rate_text(0.5), rate_text(0.01)],
            ["12.3 runs/s", "30.0 runs/min", "36.0 runs/h"]
        );
    }
}
