//! How far a job is, in one line: runs, rate, time left, and for a precision the width that is still too large.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::cli::console::Console;
use crate::experiment::Experiment;
use crate::job::agenda::{Agenda, CellStanding};
use crate::job::cost::costs;
use crate::job::runner::UnderWay;
use crate::metrics::gauge::Gauge;

/// The bar's length: a thousandth part moves it.
const LENGTH: u64 = 1000;
/// How often the line is drawn at least.
const TICK: Duration = Duration::from_millis(500);

/// The progress bar of a job. It is drawn at once, and while long runs are under way too.
pub(super) struct ProgressLine<'a> {
    experiment: &'a Experiment,
    bar: ProgressBar,
    /// The cost of a run of each cell.
    costs: Vec<u64>,
    begun: Instant,
    shown: Option<Instant>,
    /// The runs that are there from the beginning: how many, and their cost.
    planned: (usize, f64),
    /// The cost of the runs that were finished before.
    earlier: f64,
    done: f64,
    finished: usize,
}

/// How far a job is.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Account {
    /// Runs that are finished.
    finished: usize,
    /// Runs that there will be, as far as that is known.
    runs: usize,
    /// What is done of all costs, from 0 to 1.
    done: f64,
    /// The same at the beginning.
    earlier: f64,
    /// How long the job is running.
    elapsed: Duration,
}

impl<'a> ProgressLine<'a> {
    /// The line of a job with `agenda`, of which `finished` runs were finished before.
    #[allow(clippy::disallowed_methods, reason = "how long a job takes is real time")]
    pub(super) fn new(
        experiment: &'a Experiment,
        agenda: &Agenda,
        finished: impl Iterator<Item = usize>,
        console: &Console,
    ) -> Self {
        let target =
            if console.is_quiet() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(LENGTH), target);
        bar.set_style(ProgressStyle::with_template("{bar:30} {msg}").expect("the template is right"));
        bar.enable_steady_tick(TICK);
        let costs = costs(experiment);
        let (earlier, count) =
            finished.fold((0.0, 0), |(cost, count), cell| (cost + costs[cell] as f64, count + 1));
        let planned = agenda.runs().iter().map(|run| costs[run.cell] as f64);
        let planned = (agenda.runs().len(), planned.sum());
        let begun = Instant::now();
        Self { experiment, bar, costs, begun, shown: None, planned, earlier, done: earlier, finished: count }
    }

    /// A run of cell number `cell` is finished.
    pub(super) fn finished(&mut self, cell: usize) {
        self.done += self.costs[cell] as f64;
        self.finished += 1;
    }

    /// Draws the line, if it has not been drawn lately.
    #[allow(clippy::disallowed_methods, reason = "who looks on lives in real time")]
    pub(super) fn show(&mut self, agenda: &Agenda, under_way: &[UnderWay]) {
        if self.bar.is_hidden() || self.shown.is_some_and(|shown| shown.elapsed() < TICK) {
            return;
        }
        self.shown = Some(Instant::now());
        let standings: Vec<CellStanding> = agenda.standings().collect();
        let account = self.account(&standings, under_way);
        self.bar.set_position((account.done * LENGTH as f64) as u64);
        let width = widest(standings.into_iter()).map(|standing| self.width(&standing)).unwrap_or_default();
        self.bar.set_message(account.text() + &width);
    }

    /// Takes the line away.
    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    fn account(&self, standings: &[CellStanding], under_way: &[UnderWay]) -> Account {
        let cost = |cell: usize| self.costs[cell] as f64;
        let (runs, all) = match standings {
            [] => self.planned,
            _ => standings.iter().fold((0, 0.0), |(runs, all), standing| {
                (runs + standing.expected as usize, all + cost(standing.cell) * f64::from(standing.expected))
            }),
        };
        let partly: f64 = under_way.iter().map(|it| cost(it.run.cell) * it.done).sum();
        Account {
            finished: self.finished,
            runs,
            done: ((self.done + partly) / all).min(1.0),
            earlier: self.earlier / all,
            elapsed: self.begun.elapsed(),
        }
    }

    fn width(&self, standing: &CellStanding) -> String {
        let (Some(width), Some(precision)) = (standing.width, self.experiment.precision()) else {
            return String::new();
        };
        let cell = self.experiment.describe(&self.experiment.cells()[standing.cell]);
        let metric = precision.metric.name;
        let text = |value: f64| Gauge::of(metric).unit.text(value);
        format!("  {metric} ±{}, wanted ±{}, in {cell}", text(width.half), text(width.allowed))
    }
}

/// The cell that is farthest from its precision, of those that are not there.
fn widest(standings: impl Iterator<Item = CellStanding>) -> Option<CellStanding> {
    let excess = |standing: &CellStanding| standing.width.map_or(0.0, |width| width.half / width.allowed);
    let open = standings.filter(|standing| standing.end.is_none());
    open.max_by(|a, b| excess(a).total_cmp(&excess(b)))
}

impl Account {
    fn text(&self) -> String {
        let seconds = self.elapsed.as_secs_f64();
        let own = self.done - self.earlier;
        let mut text = format!("{} of {} runs", self.finished, self.runs);
        // Until something has passed there is nothing to go by.
        if own > 0.0 && seconds > 0.0 {
            let rate = own * self.runs as f64 / seconds;
            let left = Duration::try_from_secs_f64((1.0 - self.done) / own * seconds);
            text += &format!("  {}  {} left", rate_text(rate), left.map_or("ages".to_owned(), time_text));
        }
        text
    }
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
    use crate::job::agenda::CellEnd;
    use crate::stats::Width;

    #[test]
    fn a_job_of_one_long_run_has_a_rate_and_an_end() {
        // 2 % of the only run in 36 s.
        let elapsed = Duration::from_secs(36);
        let account = Account { finished: 0, runs: 1, done: 0.02, earlier: 0.0, elapsed };
        assert_eq!(account.text(), "0 of 1 runs  2.0 runs/h  29m 24s left");
        let begun = Account { done: 0.0, ..account };
        assert_eq!(begun.text(), "0 of 1 runs");
    }

    #[test]
    fn what_an_earlier_job_did_is_no_speed_of_this_one() {
        let elapsed = Duration::from_secs(5);
        let account = Account { finished: 75, runs: 100, done: 0.75, earlier: 0.5, elapsed };
        assert_eq!(account.text(), "75 of 100 runs  5.0 runs/s  5s left");
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

    #[test]
    fn the_widest_open_cell_is_shown() {
        let standing = |cell, half, end| CellStanding {
            cell,
            replications: 15,
            expected: 20,
            width: Some(Width { half, allowed: 1.0 }),
            end,
        };
        let all =
            [standing(0, 2.0, None), standing(1, 3.0, None), standing(2, 9.0, Some(CellEnd::Exhausted))];
        assert_eq!(widest(all.into_iter()).unwrap().cell, 1);
        assert_eq!(widest(std::iter::empty()), None);
    }
}
