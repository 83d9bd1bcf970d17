//! A small results folder, written as the interface says, for tests.
//!
//! The numbers are made up but behave: affinity keeps traffic in its zone, a fault makes the zone's clients
//! suffer, and spilling trades the one for the other.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::Results;
use super::description::{Description, EXPERIMENT, FaultEntry, NAME, TimingEntry};
use crate::experiment::{Axis, AxisRole, FaultWords, PerCell};
use crate::time::SimDuration;

/// What the folder is about.
pub(crate) struct SampleFolder {
    pub(crate) arms: Vec<String>,
    /// The arms (by position) that have the axis, or none.
    pub(crate) swept: Vec<usize>,
    pub(crate) axis: String,
    pub(crate) values: Vec<String>,
    /// An axis that every arm has: name and values.
    pub(crate) shared: Option<(String, Vec<String>)>,
    pub(crate) replications: usize,
    pub(crate) zones: usize,
    /// A metric without values in the arm `stay`.
    pub(crate) missing: Option<&'static str>,
    /// A metric that is zero everywhere.
    pub(crate) zero: Option<&'static str>,
}

impl Default for SampleFolder {
    fn default() -> Self {
        Self {
            arms: ["disabled", "stay", "spill"].map(str::to_owned).to_vec(),
            swept: vec![2],
            axis: "spillover_ratio".to_owned(),
            values: (0..=10).map(|tenth| format!("{:.1}", f64::from(tenth) / 10.0)).collect(),
            shared: None,
            replications: 5,
            zones: 3,
            missing: None,
            zero: None,
        }
    }
}

/// The experiment file, of which nobody reads more than that it is there.
const EXPERIMENT_TEXT: &str = "name = \"spillover-sweep\"\n[simulation]\nduration = \"10m\"\n";

const METRICS: [(&str, &str); 16] = [
    ("connections", "1"),
    ("failed_connections", "1"),
    ("failure_ratio", "ratio"),
    ("failed_no_backend", "1"),
    ("failed_connect_timeout", "1"),
    ("failed_refused", "1"),
    ("failed_request_timeout", "1"),
    ("cross_zone_connection_ratio", "ratio"),
    ("cross_zone_usd_per_month", "USD"),
    ("connect_p50_ms", "ms"),
    ("connect_p99_ms", "ms"),
    ("request_p50_ms", "ms"),
    ("request_p99_ms", "ms"),
    ("backend_load_max_over_mean", "1"),
    ("zone_load_max_over_mean", "1"),
    ("peak_utilization", "ratio"),
];

/// A fault of a kind on a target, from when to when, in seconds.
pub(crate) fn fault(kind: &str, target: &str, (from, until): (u64, Option<u64>)) -> FaultEntry {
    FaultEntry {
        words: FaultWords { kind: kind.to_owned(), target: target.to_owned() },
        at: Some(SimDuration::from_secs(from)),
        until: until.map(SimDuration::from_secs),
        ..FaultEntry::default()
    }
}

/// Changes what the folder `dir` says of its rows.
pub(crate) fn redescribe(dir: &Path, change: impl FnOnce(&mut Description)) {
    let text = fs::read_to_string(dir.join(NAME)).unwrap();
    let mut description: Description = serde_json::from_str(&text).unwrap();
    change(&mut description);
    let text = fs::read_to_string(dir.join(EXPERIMENT)).unwrap();
    description.stamped(&text).write(dir).unwrap();
}

/// A cell: arm, axis values as they stand in the files, and how eagerly it spills, 0 to 1.
struct SampleCell {
    number: usize,
    arm: String,
    values: String,
    spill: f64,
    rate: f64,
}

/// Small repeatable noise around 1.
fn noise(seed: usize) -> f64 {
    let mixed = (seed as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    1.0 + 0.06 * (((mixed ^ (mixed >> 29)) >> 40) as f64 / (1u64 << 24) as f64 - 0.5)
}

impl SampleFolder {
    /// One arm, one cell, one replication.
    pub(crate) fn one_cell() -> Self {
        Self { arms: vec!["base".to_owned()], swept: Vec::new(), replications: 1, ..Self::default() }
    }

    /// Three arms over an axis of forty values, one of them also over its own eleven: 520 cells.
    pub(crate) fn five_hundred_cells() -> Self {
        let rates = (1..=40).map(|step| (step * 25).to_string()).collect();
        Self { shared: Some(("rate".to_owned(), rates)), replications: 2, ..Self::default() }
    }

    /// Arms whose names don't fit anywhere.
    pub(crate) fn long_names() -> Self {
        let name = |what: &str| format!("zonal-affinity-{what}-with-a-name-that-nobody-should-ever-choose");
        Self { arms: ["disabled", "stay", "spill"].map(name).to_vec(), ..Self::default() }
    }

    /// Twenty arms and eight zones, no axis.
    pub(crate) fn many_arms() -> Self {
        let arms = (0..20).map(|arm| format!("policy-{arm}")).collect();
        Self { arms, swept: Vec::new(), zones: 8, ..Self::default() }
    }

    /// Arms alone, no axis.
    pub(crate) fn no_axis() -> Self {
        Self { swept: Vec::new(), ..Self::default() }
    }

    pub(crate) fn results(&self) -> Results {
        let all = |results: &Results| results.cells.iter().map(|cell| cell.number).collect();
        Results::read_with_timeline(self.write().path(), all).unwrap()
    }

    pub(crate) fn write(&self) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        self.write_to(folder.path());
        folder
    }

    pub(crate) fn write_to(&self, dir: &Path) {
        let put = |name: &str, text: String| fs::write(dir.join(name), text).unwrap();
        let cells = self.cells();
        put(EXPERIMENT, EXPERIMENT_TEXT.to_owned());
        self.description().stamped(EXPERIMENT_TEXT).write(dir).unwrap();
        put("manifest.json", "{\"version\": \"0.1.0\", \"seed\": 42}\n".to_owned());
        put("runs.csv", self.runs(&cells));
        put("summary.csv", self.summary(&cells));
        put("traffic.csv", self.traffic(&cells));
        put("latency.csv", self.latency(&cells));
        put("backends.csv", self.backends(&cells));
        put("decisions.csv", self.decisions(&cells));
        put("timeline.csv", self.timeline(&cells));
    }

    fn cells(&self) -> Vec<SampleCell> {
        let one = vec![String::new()];
        let shared = self.shared.as_ref().map_or(&one, |(_, values)| values);
        let mut cells = Vec::new();
        for (position, arm) in self.arms.iter().enumerate() {
            let own = if self.swept.contains(&position) { &self.values } else { &one };
            for value in own {
                for other in shared {
                    let mut values = String::new();
                    if !self.swept.is_empty() {
                        write!(values, ",{value}").unwrap();
                    }
                    if self.shared.is_some() {
                        write!(values, ",{other}").unwrap();
                    }
                    let spill = match arm {
                        _ if arm.contains("stay") => 0.0,
                        _ if arm.contains("disabled") => 1.0,
                        _ => value.parse().unwrap_or(0.5),
                    };
                    let rate = other.parse().unwrap_or(200.0);
                    cells.push(SampleCell { number: cells.len(), arm: arm.clone(), values, spill, rate });
                }
            }
        }
        cells
    }

    /// A file: its header, and the rows of each cell after the columns that name the cell.
    fn table(
        &self,
        columns: &str,
        cells: &[SampleCell],
        rows: impl Fn(&SampleCell, &mut dyn FnMut(String)),
    ) -> String {
        let own = if self.swept.is_empty() { String::new() } else { format!(",{}", self.axis) };
        let shared = self.shared.as_ref().map_or(String::new(), |(name, _)| format!(",{name}"));
        let mut text = format!("cell,arm{own}{shared},{columns}\n");
        for cell in cells {
            rows(cell, &mut |row| {
                writeln!(text, "{},{}{},{row}", cell.number, cell.arm, cell.values).unwrap();
            });
        }
        text
    }

    fn zone(&self, index: usize) -> String {
        format!("us-central1-{}", char::from(b'a' + index as u8))
    }

    /// What the job would have said of it.
    fn description(&self) -> Description {
        let [warmup, duration, sample_interval] = [120, 1800, 10].map(SimDuration::from_secs);
        let half = fault("silent", "us-central1-a (50 %)", (600, Some(900)));
        Description {
            name: "spillover-sweep".to_owned(),
            question: "How much stays?".to_owned(),
            axes: self.axes(),
            zones: (0..self.zones).map(|zone| self.zone(zone)).collect(),
            timing: PerCell::uniform(TimingEntry { warmup: Some(warmup), duration, sample_interval }),
            faults: PerCell::uniform(vec![half, fault("slow", "ig-b", (1320, Some(1440)))]),
            ..Description::default()
        }
    }

    /// What sweeps can be chosen; what all arms share can't.
    fn axes(&self) -> Vec<Axis> {
        let own = (!self.swept.is_empty()).then_some((self.axis.as_str(), AxisRole::Choice));
        let shared = self.shared.as_ref().map(|(name, _)| (name.as_str(), AxisRole::Circumstance));
        let axis =
            |(name, role): (&str, AxisRole)| Axis { column: name.to_owned(), path: name.to_owned(), role };
        own.into_iter().chain(shared).map(axis).collect()
    }

    fn metric(&self, cell: &SampleCell, name: &str, replication: usize) -> Option<f64> {
        if self.missing == Some(name) && cell.arm.contains("stay") {
            return None;
        }
        if self.zero == Some(name) {
            return Some(0.0);
        }
        let affinity = !cell.arm.contains("disabled");
        let spill = cell.spill;
        let load = cell.rate / 200.0;
        let failing = 0.03 * (1.0 - spill).powi(2) + 0.002;
        let crossing = if affinity { 0.18 * spill.powf(1.5) } else { 0.667 };
        let value = match name {
            "connections" => 5.0e5 * load,
            "failed_connections" => 5.0e5 * load * failing,
            "failure_ratio" => failing,
            "failed_no_backend" => 0.0,
            "failed_connect_timeout" => 4.0e5 * load * failing,
            "failed_refused" => 3.0e4 * load * failing * (1.0 + spill),
            "failed_request_timeout" => 7.0e4 * load * failing,
            "cross_zone_connection_ratio" => crossing,
            "cross_zone_usd_per_month" => 2400.0 * load * crossing,
            "connect_p50_ms" => 0.09 + 0.1 * crossing,
            "connect_p99_ms" => 0.9 + 900.0 * failing * load,
            "request_p50_ms" => 5.2 + 0.1 * crossing,
            "request_p99_ms" => 31.0 * load.sqrt() + 2000.0 * failing,
            "backend_load_max_over_mean" => 1.05 + 0.9 * (1.0 - spill),
            "zone_load_max_over_mean" => 1.01 + 0.4 * (1.0 - spill),
            _ => 0.7 * load.min(1.3),
        };
        Some(value * noise(replication * 31 + cell.number * 7 + name.len()))
    }

    fn runs(&self, cells: &[SampleCell]) -> String {
        let names = METRICS.map(|(name, _)| name);
        self.table(&format!("replication,seed,{}", names.join(",")), cells, |cell, put| {
            for replication in 0..self.replications {
                let text = |name| self.metric(cell, name, replication).map(|value| value.to_string());
                put(format!(
                    "{replication},42,{}",
                    names.map(|name| text(name).unwrap_or_default()).join(",")
                ));
            }
        })
    }

    fn summary(&self, cells: &[SampleCell]) -> String {
        self.table("metric,unit,n,mean,std_dev,ci_low,ci_high,confidence,n_nonzero", cells, |cell, put| {
            for (name, unit) in METRICS {
                let values: Vec<f64> =
                    (0..self.replications).filter_map(|at| self.metric(cell, name, at)).collect();
                let n = values.len() as f64;
                let mean = values.iter().sum::<f64>() / n;
                let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
                let half = 2.776 * (variance / n).sqrt();
                let spread = match values.len() {
                    0 => ",,,,".to_owned(),
                    1 => format!("{mean},,,,"),
                    _ => format!("{mean},{},{},{},0.95", variance.sqrt(), mean - half, mean + half),
                };
                let nonzero = values.iter().filter(|value| **value != 0.0).count();
                put(format!("{name},{unit},{n},{spread},{nonzero}"));
            }
        })
    }

    /// The share of what comes from zone `from` that goes to zone `to`, if `away` of it leaves.
    fn share(&self, from: usize, to: usize, away: f64) -> f64 {
        if from == to { 1.0 - away } else { away / (self.zones as f64 - 1.0) }
    }

    /// Every pair of zones.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.zones).flat_map(|from| (0..self.zones).map(move |to| (from, to)))
    }

    fn traffic(&self, cells: &[SampleCell]) -> String {
        let columns = "replication,client,client_zone,backend_zone,connections,failed_connections,requests,\
                       request_bytes,response_bytes";
        self.table(columns, cells, |cell, put| {
            for replication in 0..self.replications {
                for (from, to) in self.pairs() {
                    let away = self.metric(cell, "cross_zone_connection_ratio", replication).unwrap_or(0.0);
                    let connections = (1.6e5 * self.share(from, to, away)).round();
                    let zones = format!("{},{}", self.zone(from), self.zone(to));
                    put(format!("{replication},web-{from},{zones},{connections},12,{connections},9,9"));
                }
            }
        })
    }

    fn latency(&self, cells: &[SampleCell]) -> String {
        let columns =
            "replication,client_zone,backend_zone,kind,count,mean_ms,p50_ms,p90_ms,p99_ms,p999_ms,max_ms";
        self.table(columns, cells, |cell, put| {
            for replication in 0..self.replications {
                for (kind, base) in [("network_rtt", 0.07), ("connect", 0.09), ("request", 5.2)] {
                    let tail = 1.0 + 0.5 * (1.0 - cell.spill);
                    let quantile = |factor: f64| base * factor * noise(replication * 13 + cell.number);
                    let mut values = [1.4, 1.0, 2.2, 6.0 * tail, 14.0 * tail, 60.0 * tail * tail]
                        .map(|factor| quantile(factor).to_string());
                    if self.missing == Some("p999_ms") {
                        values[4].clear();
                    }
                    put(format!("{replication},all,all,{kind},500000,{}", values.join(",")));
                }
            }
        })
    }

    fn backends(&self, cells: &[SampleCell]) -> String {
        let columns = "replication,backend,group,zone,connections,requests,load_multiple,utilization,\
                       peak_active,unhealthy_s,failed_connections,mean_queue_length,mean_wait_ms,\
                       offered_load,available_s";
        self.table(columns, cells, |cell, put| {
            for replication in 0..self.replications {
                for (zone, member) in
                    (0..self.zones).flat_map(|zone| (1..=4).map(move |member| (zone, member)))
                {
                    let hot = if zone == 0 { 1.0 - cell.spill } else { 0.0 };
                    let skew = if member <= 2 { 1.0 + 0.7 * hot } else { 1.0 - 0.5 * hot };
                    let multiple = skew * noise(replication * 17 + zone * 5 + member + cell.number);
                    let group = format!("ig-{}", char::from(b'a' + zone as u8));
                    let name = format!("{group}-{member},{group},{}", self.zone(zone));
                    put(format!(
                        "{replication},{name},41000,123000,{multiple},0.5,20,150,9,0.3,1.5,0.52,1650"
                    ));
                }
                put(format!("{replication},,,,3,0,,,,,3,,,,"));
            }
        })
    }

    fn decisions(&self, cells: &[SampleCell]) -> String {
        self.table("replication,client,outcome,connections", cells, |_, put| {
            (0..self.replications).for_each(|replication| put(format!("{replication},web-0,in_zone,1000")));
        })
    }

    fn timeline(&self, cells: &[SampleCell]) -> String {
        let columns = "time_s,client_zone,backend_zone,connections_per_s,failed_per_s,connect_p99_ms,\
                       healthy_backends,active_connections,utilization,failover_switches";
        let step = if cells.len() > 50 { 120 } else { 10 };
        self.table(columns, cells, |cell, put| {
            for time in (120..1920).step_by(step) {
                let broken = (600..900).contains(&time);
                let spilled = if broken { 0.5 * cell.spill } else { 0.0 };
                let away = if cell.arm.contains("disabled") { 0.667 } else { spilled };
                for (from, to) in self.pairs() {
                    let noise = noise(time + from * 3 + to + cell.number);
                    let rate = 200.0 * self.share(from, to, away) * noise;
                    let failed = if broken && to == 0 { rate * (0.2 - 0.15 * cell.spill) } else { 0.0 };
                    let healthy = if (610..915).contains(&time) && to == 0 { 2 } else { 4 };
                    let zones = format!("{},{}", self.zone(from), self.zone(to));
                    let busy = 1.6 / f64::from(healthy);
                    put(format!("{time},{zones},{rate},{failed},1.5,{healthy},{},{busy},0", rate * 0.9));
                }
            }
        })
    }
}
