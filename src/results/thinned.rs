//! The timeline as charts need it: of a few cells, thinned while it is read. A file may have millions of rows, a chart has room for
//! a thousand points.
//!
//! Rows of a cell come in the order of their times, so that only the sample that is being read must be remembered to know
//! a row that is there twice.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::Path;

use super::error::ResultsError;
use super::table::CsvTable;
use crate::metrics::tables::{CsvRow, FileRow, TIMELINE_NUMBERS, TimelineRow};
use crate::unfit::Unfit;

/// Of so many samples of a cell each is kept; of more, means of as many in a row as make at least half as many of them.
const SAMPLES_KEPT: usize = 2000;

/// The rows of a timeline that are kept.
#[derive(Clone, Debug, Default)]
pub(super) struct ThinTimeline {
    /// Cell by cell, in the order of the file.
    pub(super) rows: Vec<TimelineRow>,
    /// How many samples in a row are the most that one row is the mean of.
    pub(super) width: usize,
}

/// Reads the timeline of the folder `dir`, every row of which `check` may refuse, and keeps that of `cells`. Without a file there is none.
pub(super) fn read(
    dir: &Path,
    cells: &BTreeSet<usize>,
    check: impl Fn(&CsvRow<'_>) -> Result<(), Unfit>,
) -> Result<ThinTimeline, ResultsError> {
    let path = dir.join(TimelineRow::FILE.name);
    let mut order = Order::default();
    let mut kept: Vec<(usize, Samples)> = Vec::new();
    if std::fs::symlink_metadata(&path).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        return Ok(ThinTimeline { rows: Vec::new(), width: 1 });
    }
    CsvTable::open(&path)?.read(|row| {
        check(row)?;
        let read = TimelineRow::read(row)?;
        order.check(&read, row)?;
        if cells.contains(&read.cell) {
            let place = kept.iter().position(|(cell, _)| *cell == read.cell).unwrap_or(kept.len());
            if place == kept.len() {
                kept.push((read.cell, Samples::default()));
            }
            kept[place].1.add(read);
        }
        Ok(())
    })?;
    let width = kept.iter().map(|(_, samples)| samples.width).max().unwrap_or(1);
    Ok(ThinTimeline {
        rows: kept.into_iter().flat_map(|(cell, samples)| samples.rows(cell)).collect(),
        width,
    })
}

/// Knows rows that are there twice.
#[derive(Default)]
struct Order {
    /// The latest time of each cell.
    latest: BTreeMap<usize, f64>,
    /// The pairs of zones that the latest sample has had.
    seen: BTreeSet<(String, String)>,
}

impl Order {
    fn check(&mut self, read: &TimelineRow, row: &CsvRow<'_>) -> Result<(), Unfit> {
        let Some(time) = read.time_s else { return Ok(()) };
        let latest = self.latest.insert(read.cell, time);
        if latest.is_none_or(|latest| latest < time) {
            self.seen.clear();
        }
        let is_new = self.seen.insert((read.client_zone.clone(), read.backend_zone.clone()));
        if latest.is_none_or(|latest| latest <= time) && is_new {
            return Ok(());
        }
        Err(row
            .odd("the row is there twice, or out of order; sort rows by cell and time_s, each of them once"))
    }
}

/// What is kept of a cell.
struct Samples {
    /// How many samples in a row are in a bin.
    width: usize,
    /// How many samples there were.
    count: usize,
    /// Pairs of zones, in the order in which they first appear.
    pairs: Vec<(String, String)>,
    bins: Vec<Bin>,
    latest: f64,
}

/// Some samples in a row: when they begin, and their sums pair by pair.
struct Bin {
    time: f64,
    sums: Vec<Sums>,
}

/// Sums of the numbers of a row, and of how many rows that have them; nothing of a pair that has no row.
#[derive(Clone, Copy, Default)]
struct Sums {
    rows: u32,
    numbers: [(f64, u32); TIMELINE_NUMBERS],
}

impl Sums {
    fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        for (own, other) in self.numbers.iter_mut().zip(other.numbers) {
            // Nothing and a number are that number, to the last bit.
            *own = if own.1 == 0 { other } else { (own.0 + other.0, own.1 + other.1) };
        }
    }
}

impl Default for Samples {
    fn default() -> Self {
        Self { width: 1, count: 0, pairs: Vec::new(), bins: Vec::new(), latest: f64::NEG_INFINITY }
    }
}

impl Samples {
    fn add(&mut self, mut row: TimelineRow) {
        let Some(time) = row.time_s else { return };
        if time > self.latest {
            self.latest = time;
            if self.count == self.width * SAMPLES_KEPT {
                self.halve();
            }
            if self.count.is_multiple_of(self.width) {
                self.bins.push(Bin { time, sums: Vec::new() });
            }
            self.count += 1;
        }
        let numbers = row.numbers().map(|number| (number.unwrap_or(0.0), u32::from(number.is_some())));
        let pair = (std::mem::take(&mut row.client_zone), std::mem::take(&mut row.backend_zone));
        let place = self.pairs.iter().position(|known| *known == pair).unwrap_or(self.pairs.len());
        if place == self.pairs.len() {
            self.pairs.push(pair);
        }
        let sums = &mut self.bins.last_mut().expect("a sample has begun").sums;
        sums.resize(sums.len().max(place + 1), Sums::default());
        sums[place].add(&Sums { rows: 1, numbers });
    }

    /// Makes one bin of every two.
    fn halve(&mut self) {
        self.width *= 2;
        let mut halves = std::mem::take(&mut self.bins).into_iter();
        while let Some(mut bin) = halves.next() {
            for (place, sums) in halves.next().into_iter().flat_map(|next| next.sums).enumerate() {
                bin.sums.resize(bin.sums.len().max(place + 1), Sums::default());
                bin.sums[place].add(&sums);
            }
            self.bins.push(bin);
        }
    }

    fn rows(self, cell: usize) -> impl Iterator<Item = TimelineRow> {
        let Self { pairs, bins, .. } = self;
        bins.into_iter().flat_map(move |bin| {
            let there = pairs.iter().zip(bin.sums).filter(|(_, sums)| sums.rows > 0);
            let row = |(pair, sums): (&(String, String), Sums)| {
                TimelineRow::of_sums(cell, bin.time, pair.clone(), sums.numbers)
            };
            there.map(row).collect::<Vec<_>>()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    /// Reads a timeline of `samples` samples of two cells and two pairs, of which the first cell is kept.
    fn thinned(samples: usize) -> ThinTimeline {
        let folder = tempfile::tempdir().unwrap();
        let columns = TimelineRow::FILE.columns.join(",");
        let mut text = format!("cell,arm,{columns}\n");
        for cell in 0..2 {
            for sample in 0..samples {
                for zone in ["a", "b"] {
                    // A backend fails in the last sample.
                    let healthy = if sample + 1 == samples { 1 } else { 2 };
                    let switches = usize::from(sample == 7);
                    let p99 = if sample % 2 == 0 { sample.to_string() } else { String::new() };
                    let row = format!("{},a,{zone},{sample},0.1,{p99},{healthy},3,,{switches}", 10 * sample);
                    writeln!(text, "{cell},base,{row}").unwrap();
                }
            }
        }
        std::fs::write(folder.path().join(TimelineRow::FILE.name), text).unwrap();
        read(folder.path(), &[0].into(), |_| Ok(())).unwrap()
    }

    #[test]
    fn a_short_timeline_stays_as_it_is() {
        let timeline = thinned(SAMPLES_KEPT);
        assert_eq!((timeline.rows.len(), timeline.width), (2 * SAMPLES_KEPT, 1));
        let row = &timeline.rows[2 * 100 + 1];
        assert_eq!((row.cell, row.time_s, row.backend_zone.as_str()), (0, Some(1000.0), "b"));
        assert_eq!(
            (row.connections_per_s, row.failed_per_s, row.connect_p99_ms),
            (Some(100.0), Some(0.1), Some(100.0))
        );
        assert_eq!((row.utilization, timeline.rows[2 * 101].connect_p99_ms), (None, None));
    }

    #[test]
    fn a_long_timeline_is_of_means_and_of_a_bounded_length() {
        for samples in [SAMPLES_KEPT + 1, 2 * SAMPLES_KEPT, 5 * SAMPLES_KEPT + 3, 40 * SAMPLES_KEPT] {
            let timeline = thinned(samples);
            let ThinTimeline { rows, width } = &timeline;
            assert!(
                rows.len() <= 2 * SAMPLES_KEPT && rows.len() >= SAMPLES_KEPT,
                "{samples}: {}",
                rows.len()
            );
            assert_eq!(rows.len(), 2 * samples.div_ceil(*width));
            let mean = (*width as f64 - 1.0) / 2.0;
            assert_eq!((rows[1].time_s, rows[1].connections_per_s), (Some(0.0), Some(mean)), "{samples}");
            assert_eq!(rows[2].time_s, Some(10.0 * *width as f64));
            let failed = rows.iter().map(|row| row.failed_per_s.unwrap());
            assert!(failed.into_iter().all(|failed| (failed - 0.1).abs() < 1e-12));
            let switches: f64 = rows.iter().filter_map(|row| row.failover_switches).sum();
            assert_eq!(switches, 2.0, "a count is not lost in a mean: once, told by both pairs");
            assert!(rows.last().unwrap().healthy_backends < Some(2.0));
        }
    }

    #[test]
    fn rows_twice_or_out_of_order_are_errors_wherever_they_stand() {
        let read_rows = |rows: &[&str]| {
            let folder = tempfile::tempdir().unwrap();
            let mut text = format!("cell,arm,{}\n", TimelineRow::FILE.columns.join(","));
            rows.iter().for_each(|row| writeln!(text, "{row},1,0,1,1,1,,0").unwrap());
            std::fs::write(folder.path().join(TimelineRow::FILE.name), text).unwrap();
            read(folder.path(), &[0].into(), |_| Ok(())).map(|timeline| timeline.rows.len())
        };
        assert_eq!(
            read_rows(&["0,x,0,a,a", "0,x,0,a,b", "1,x,0,a,a", "0,x,10,a,a", "1,x,10,a,a"]).unwrap(),
            3
        );
        for rows in [
            &["0,x,0,a,a", "0,x,0,a,b", "0,x,0,a,a"][..],
            &["0,x,0,a,a", "0,x,10,a,a", "0,x,0,a,b"],
            &["0,x,0,a,a", "0,x,10,a,a", "1,x,0,a,a", "0,x,0,a,a"],
        ] {
            let error = read_rows(rows).unwrap_err().to_string();
            assert!(
                error.contains("timeline.csv, line") && error.contains("twice, or out of order"),
                "{error}"
            );
        }
    }
}
