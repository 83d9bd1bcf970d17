//! How much memory and room on the disk a job is expected to take, before it begins.
//!
//! Sizes follow from what is asked for: zones, places, samples, backends, client groups, cells and runs. Connections count
//! with the entries that tracking keeps of them. What only happens (events, values of latency) is taken to be as much as in
//! the shipped experiments, so that this is an order of magnitude and no promise.

use std::fmt;

use super::agenda::Agenda;
use super::cost::expected_connections;
use super::error::JobError;
use crate::experiment::Experiment;
use crate::sim::outcome::{BackendOutcome, TrafficSample, ZoneSample};
use crate::sim::scenario::Scenario;

/// What a job is expected to take, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JobSize {
    /// Memory, at one time.
    pub memory: f64,
    /// The journal.
    pub journal: f64,
    /// The CSV files.
    pub results: f64,
    /// The part of the memory that grows with the cells.
    of_cells: f64,
    /// What the connections of one run carry, over the network that is simulated.
    pub traffic: f64,
}

const MIB: f64 = 1_048_576.0;
const GIB: f64 = 1024.0 * MIB;

/// Bytes of a histogram of latencies in memory and in the journal.
const HISTOGRAM: (f64, f64) = (32_000.0, 6_000.0);
/// Bytes of an open or tracked connection, with its port, its events and its entry.
const CONNECTION: f64 = 300.0;
/// How long tracking keeps a connection that is over, in seconds.
const TRACKED: f64 = 600.0;
/// Bytes of a value of the timeline in the journal, and of a row of it in its file.
const SAMPLE: (f64, f64) = (70.0, 80.0);
/// Bytes of a row of another file.
const ROW: f64 = 110.0;
/// Bytes of what a backend is in memory for each cell.
const MEMBER: f64 = 400.0;
/// Events that a run keeps.
const EVENTS: f64 = 300.0;

/// The most that a run's sums of bytes can hold, with room for what chance and retries add.
const TRAFFIC_MAX: f64 = (1_u64 << 62) as f64;

/// What one run of a scenario takes, and what a cell of it takes beside that.
struct Shape {
    outcome: f64,
    line: f64,
    rows: f64,
    timeline: f64,
    connections: f64,
    members: f64,
    traffic: f64,
}

impl Shape {
    fn of(scenario: &Scenario) -> Self {
        let (zones, places) = (scenario.zones.len() as f64, scenario.places.len() as f64);
        let (backends, clients) = (scenario.backends.len() as f64, scenario.clients.len() as f64);
        let samples = scenario.timing.samples() as f64;
        let pairs = places * (zones + 1.0) * samples;
        let histograms = places * zones * 3.0;
        let in_memory = |count: f64, size: usize| count * size as f64;
        let seconds = scenario.timing.window_end().as_secs_f64().max(1.0);
        let tracked = expected_connections(scenario).unwrap_or(0.0) * (TRACKED / seconds).min(1.0);
        let end = scenario.timing.window_end();
        let carried = scenario.clients.iter().map(|client| {
            let profile = &client.connection;
            let bytes = profile.request_bytes.mean() + profile.response_bytes.mean();
            // Of a closed loop it is not known ahead.
            client.arrivals.expected_before(end).unwrap_or(0.0) * profile.requests.mean() * bytes
        });
        Self {
            traffic: carried.sum(),
            outcome: in_memory(pairs, size_of::<TrafficSample>())
                + in_memory(zones * samples, size_of::<ZoneSample>())
                + in_memory(backends, size_of::<BackendOutcome>())
                + histograms * HISTOGRAM.0
                + samples * 24.0
                + EVENTS * 80.0,
            line: (pairs + zones * samples) * SAMPLE.0
                + backends * 400.0
                + histograms * HISTOGRAM.1
                + EVENTS * 100.0,
            rows: ROW
                * (clients * (zones + 4.0) + (places + 1.0) * (zones + 1.0) * 3.0 + backends + 10.0 + EVENTS),
            timeline: pairs * SAMPLE.1,
            connections: tracked * CONNECTION,
            members: backends * MEMBER,
        }
    }
}

/// What the runs of `agenda` are expected to take on so many threads.
pub fn expected_size(experiment: &Experiment, agenda: &Agenda, threads: usize) -> JobSize {
    let mut size = JobSize::default();
    let (mut most, mut members) = (0.0_f64, 0.0);
    for cell in experiment.cells() {
        let runs = f64::from(agenda.most_of(cell.index));
        let shape = Shape::of(&experiment.scenario(cell));
        size.journal += runs * shape.line;
        size.results += runs * shape.rows + shape.timeline;
        members += shape.members;
        size.traffic = size.traffic.max(shape.traffic);
        // Each thread has a run and its outcome; one more is written, one waits, and one has the sums of the cell.
        let own = threads as f64 * (shape.outcome + shape.connections) + 3.0 * shape.outcome;
        most = most.max(own);
    }
    (size.memory, size.of_cells) = (most + members, members);
    size
}

impl JobSize {
    /// That of a job with so many times the cells.
    #[must_use]
    pub(super) fn of_cells(self, times: f64) -> Self {
        Self {
            memory: self.memory + self.of_cells * (times - 1.0),
            journal: self.journal * times,
            results: self.results * times,
            of_cells: self.of_cells * times,
            traffic: self.traffic,
        }
    }

    /// Checks that it is within the limits of `experiment`.
    ///
    /// # Errors
    /// If it is not.
    pub fn check(&self, experiment: &Experiment) -> Result<(), JobError> {
        if self.traffic > TRAFFIC_MAX {
            return Err(JobError::TooLarge(format!(
                "the requests and responses of a run would have about {} together, more than can be counted; write a lower rate, \
                 fewer requests, or smaller request_bytes and response_bytes of clients",
                text(self.traffic)
            )));
        }
        let (memory, results) = experiment.limits_gib();
        let kinds = [
            ("memory", self.memory, memory, "max_memory_gib"),
            ("room on the disk", self.journal + self.results, results, "max_results_gib"),
        ];
        match kinds.into_iter().find(|(_, bytes, limit, _)| *bytes > f64::from(*limit) * GIB) {
            None => Ok(()),
            Some((what, bytes, limit, key)) => Err(JobError::TooLarge(format!(
                "about {} of {what} would be needed, and simulation.{key} allows {limit} GiB; lengthen \
                 simulation.sample_interval, leave out cells or replications, or raise simulation.{key}",
                text(bytes)
            ))),
        }
    }
}

impl fmt::Display for JobSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [memory, journal, results] = [self.memory, self.journal, self.results].map(text);
        write!(f, "memory: about {memory}, journal: about {journal}, results: about {results}")
    }
}

fn text(bytes: f64) -> String {
    if bytes >= GIB { format!("{:.1} GiB", bytes / GIB) } else { format!("{:.1} MiB", bytes / MIB) }
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::answers::search::Goal;
    use crate::experiment::{Overrides, Source};
    use crate::job::search::{Search, SearchRequest};
    use crate::job::{Folder, Watcher, run};
    use crate::results::JOURNAL_FILE;

    fn written(simulation: &str, more: &str) -> String {
        let replications = if simulation.contains("replications") { "" } else { "replications = 2, " };
        format!(
            r#"
            name = "size"
            simulation = {{ {replications}{simulation} }}
            region = {{ name = "r", zones = ["a", "b", "c"] }}
            backend_service.backends = [{{ group = "ig", zone = "a", size = 1 }}]
            clients = [{{ name = "web", kind = "vm", zone = "a", arrivals = {{ poisson = {{ rate = 1.0 }} }} }}]
            {more}
            "#
        )
    }

    fn parsed(text: String) -> Experiment {
        let source = Source { name: "test.toml".to_owned(), text };
        Experiment::parse(source, &Overrides::default())
            .unwrap_or_else(|error| panic!("{}", error.render(false)))
    }

    fn experiment(simulation: &str, more: &str) -> Experiment {
        parsed(written(simulation, more))
    }

    fn size(experiment: &Experiment) -> JobSize {
        expected_size(experiment, &Agenda::new(experiment, None), 2)
    }

    #[test]
    fn what_is_asked_for_beyond_a_limit_is_refused_and_a_key_lifts_it() {
        let small = experiment("warmup = \"0s\"", "");
        size(&small).check(&small).unwrap();
        assert!(size(&small).to_string().contains("MiB"));
        let huge = "duration = \"100000s\", sample_interval = \"1s\"";
        let sweep = "sweep = { \"clients.web.addresses\" = { from = 1, to = 900, step = 1 } }";
        let refused = experiment(huge, sweep);
        let error = size(&refused).check(&refused).unwrap_err().to_string();
        assert!(
            error.contains("raise simulation.max_results_gib") && error.contains("GiB of room"),
            "{error}"
        );
        let lifted = experiment(&format!("{huge}, max_results_gib = 100000"), sweep);
        size(&lifted).check(&lifted).unwrap();
        assert_eq!(lifted.fingerprint(), refused.fingerprint(), "a limit changes no results");
    }

    #[test]
    fn a_search_has_the_same_limits() {
        let search = |simulation: &str| {
            let limits = vec!["failure_ratio<=0.1%".parse().unwrap()];
            let request = SearchRequest {
                path: "clients.web.arrivals.poisson.rate".to_owned(),
                low: "1".to_owned(),
                high: "1000".to_owned(),
                step: "1".to_owned(),
                arms: Vec::new(),
                goal: Goal::Boundary(limits),
            };
            Search::new(&experiment(simulation, ""), request).unwrap()
        };
        let small = search("warmup = \"0s\"");
        let size = small.expected_size(2).unwrap();
        size.check(&experiment("", "")).unwrap();
        // Twelve steps or so of two replications each.
        let one = self::size(&experiment("warmup = \"0s\"", ""));
        assert!((5.0..20.0).contains(&(size.journal / one.journal)), "{size} for {one}");
        let out = tempfile::tempdir().unwrap();
        let large = search("duration = \"100000s\", sample_interval = \"1s\", replications = 1000");
        let error = large.run(&Folder::new(out.path()), &mut Scales(0.0)).unwrap_err().to_string();
        assert!(error.contains("raise simulation.max_results_gib"), "{error}");
        assert_eq!(fs::read_dir(out.path()).unwrap().count(), 0, "nothing was begun");
    }

    #[test]
    fn bytes_that_no_sum_can_hold_are_refused() {
        let of = |rate: &str| {
            let connection = "connection = { response_bytes = { constant = 1e15 } }, arrivals";
            let text = written("", "").replace("arrivals", connection);
            size(&parsed(text.replace("1.0", rate)))
        };
        let small = experiment("", "");
        of("0.1").check(&small).unwrap();
        let error = of("100.0").check(&small).unwrap_err().to_string();
        assert!(error.contains("more than can be counted") && error.contains("response_bytes"), "{error}");
    }

    /// Weighs the journal.
    struct Scales(f64);

    impl Watcher for Scales {
        fn written(&mut self, folder: &Path) -> Result<(), Box<dyn Error + Send + Sync>> {
            self.0 = fs::metadata(folder.join(JOURNAL_FILE))?.len() as f64;
            Ok(())
        }
    }

    #[test]
    fn sizes_are_those_of_real_files_within_a_factor() {
        let own = experiment("warmup = \"0s\", duration = \"1000s\", sample_interval = \"1s\"", "");
        let out = tempfile::tempdir().unwrap();
        let mut journal = Scales(0.0);
        run(&own, &Folder::new(out.path()), &mut journal).unwrap();
        let names = ["timeline.csv", "runs.csv", "traffic.csv", "latency.csv", "backends.csv"];
        let length = |name: &str| fs::metadata(out.path().join(name)).unwrap().len();
        let written = names.into_iter().map(length).sum::<u64>() as f64;
        let expected = size(&own);
        for (expected, found) in [(expected.journal, journal.0), (expected.results, written)] {
            assert!((0.5..4.0).contains(&(expected / found)), "expected {expected}, found {found}");
        }
    }
}
