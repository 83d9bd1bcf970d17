//! Readers under damaged input: each gets shipped files with random changes, and says what is wrong or reads them. None
//! panics, and none goes on for ever.
//!
//! Each target runs for `ZONESIM_FUZZ_SECONDS`, one second by default. What fails is shrunk and printed.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use crate::answers::thresholds::judged;
use crate::experiment::{Experiment, Overrides, Source};
use crate::figures::charts;
use crate::job::manifest::Manifest;
use crate::job::{self, Folder, JobEnd, JobError, Watcher};
use crate::random::hash_bytes;
use crate::results::observed::Observed;
use crate::results::sample::SampleFolder;
use crate::results::{JOURNAL, JOURNAL_FILE, Results, is_unfinished};

/// One change of a file.
#[derive(Clone, Debug)]
enum Change {
    FlipBit(Index, u8),
    Cut(Index),
    Remove(Index, usize),
    Repeat(Index, usize, usize),
    Insert(Index, &'static str),
    Number(Index, &'static str),
    SwapLines(Index, Index),
}

/// What is put where something else is expected.
const TOKENS: &[&str] = &[
    "\0",
    "\n",
    "\"",
    ",",
    "=",
    "[",
    "]",
    "{",
    "}",
    "#",
    "\u{feff}",
    "\u{202e}",
    "\u{1b}[31m",
    "é",
    "\r\n",
    "null",
    "true",
    "NaN",
    "inf",
    "-",
    "..",
    "/",
    "\\",
    "'",
    "\"\"\"",
    "[[",
    "]]",
    "0",
    "9",
    "e",
    "ns",
    "us",
    "[arms]\n",
    "[sweep]\n",
    "set = {}\n",
    "name = \"a\"\n",
    "[[clients]]\n",
    "faults = []\n",
    "\"auto\"",
    "\"unlimited\"",
    ":",
    "\t",
    " ",
];

const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "-1",
    "1",
    "2",
    "1e308",
    "1e-308",
    "1e999",
    "NaN",
    "inf",
    "-inf",
    "9007199254740993",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775807",
    "-9223372036854775808",
    "4294967296",
    "0.1",
    "1.5",
    "00",
    "1_000",
    "0x10",
    "\"\"",
    "\"10y\"",
    "\"1ns\"",
    "\"0s\"",
];

fn change() -> impl Strategy<Value = Change> {
    let at = any::<Index>;
    prop_oneof![
        (at(), 0_u8..8).prop_map(|(at, bit)| Change::FlipBit(at, bit)),
        at().prop_map(Change::Cut),
        (at(), 1_usize..200).prop_map(|(at, length)| Change::Remove(at, length)),
        (at(), 1_usize..200, 1_usize..40).prop_map(|(at, length, times)| Change::Repeat(at, length, times)),
        (at(), prop::sample::select(TOKENS)).prop_map(|(at, token)| Change::Insert(at, token)),
        (at(), prop::sample::select(NUMBERS)).prop_map(|(at, number)| Change::Number(at, number)),
        (at(), at()).prop_map(|(one, other)| Change::SwapLines(one, other)),
    ]
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let length = bytes.len();
        match self {
            Self::FlipBit(at, bit) => bytes[at.index(length)] ^= 1 << bit,
            Self::Cut(at) => bytes.truncate(at.index(length)),
            Self::Remove(at, count) => {
                let at = at.index(length);
                bytes.drain(at..(at + count).min(length));
            }
            Self::Repeat(at, count, times) => {
                let at = at.index(length);
                let part = bytes[at..(at + count).min(length)].repeat(*times);
                bytes.splice(at..at, part);
            }
            Self::Insert(at, token) => {
                let at = at.index(length);
                bytes.splice(at..at, token.bytes());
            }
            // A number takes the place of the next one.
            Self::Number(at, number) => {
                let from = at.index(length);
                let Some(start) = bytes[from..].iter().position(u8::is_ascii_digit).map(|found| from + found)
                else {
                    return;
                };
                let rest = bytes[start..].iter().position(|byte| !(byte.is_ascii_digit() || *byte == b'.'));
                let end = rest.map_or(length, |found| start + found);
                bytes.splice(start..end, number.bytes());
            }
            Self::SwapLines(one, other) => {
                let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
                let (one, other) = (one.index(lines.len()), other.index(lines.len()));
                lines.swap(one, other);
                *bytes = lines.concat();
            }
        }
    }
}

/// Gives `target` one of the `seeds` with changes, again and again, until the time is over.
fn fuzz(name: &str, seeds: &[Vec<u8>], target: impl Fn(usize, Vec<u8>)) {
    let seconds =
        std::env::var("ZONESIM_FUZZ_SECONDS").map_or(1.0, |text| text.parse().expect("a number of seconds"));
    #[allow(clippy::disallowed_methods, reason = "fuzzing takes as long as it is given")]
    let begun = Instant::now();
    let config = Config { cases: 20, failure_persistence: None, ..Config::default() };
    let runner = |batch: u64| {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&hash_bytes(batch, name.as_bytes()).to_le_bytes());
        TestRunner::new_with_rng(config.clone(), TestRng::from_seed(RngAlgorithm::ChaCha, &key))
    };
    let inputs = (any::<Index>(), prop::collection::vec(change(), 1..6));
    let count = std::cell::Cell::new(0_u64);
    for batch in 0.. {
        if batch > 0 && begun.elapsed() >= Duration::from_secs_f64(seconds) {
            break;
        }
        let ran = runner(batch).run(&inputs, |(seed, changes)| {
            let seed = seed.index(seeds.len());
            let mut bytes = seeds[seed].clone();
            changes.iter().for_each(|change| change.apply(&mut bytes));
            count.set(count.get() + 1);
            let shown = String::from_utf8_lossy(&bytes).into_owned();
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| target(seed, bytes)));
            caught.map_err(|_| TestCaseError::fail(format!("it panics on seed {seed}:\n{shown}")))
        });
        ran.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    // Not through the test harness, which would keep it to itself.
    let _ = writeln!(
        std::io::stderr(),
        "fuzz {name}: {} inputs in {:.0} s",
        count.get(),
        begun.elapsed().as_secs_f64()
    );
}

/// The shipped experiment files that are short.
fn experiments() -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = ["experiments", "tests/cases"]
        .into_iter()
        .flat_map(|folder| fs::read_dir(root.join(folder)).unwrap());
    let mut paths: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    paths.into_iter().map(|path| fs::read(path).unwrap()).filter(|text| text.len() < 6000).collect()
}

fn parse(bytes: &[u8]) -> Option<Experiment> {
    let source = Source { name: "fuzz.toml".to_owned(), text: String::from_utf8_lossy(bytes).into_owned() };
    match Experiment::parse(source, &Overrides::default()) {
        Ok(experiment) => Some(experiment),
        Err(error) => {
            let text = error.render(false);
            assert!(text.contains("error:") && text.contains("help"), "{text}");
            assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text:?}");
            None
        }
    }
}

#[test]
fn experiment_files() {
    fuzz("experiment", &experiments(), |_, bytes| drop(parse(&bytes)));
}

/// A small world, so that what it is changed to can be run.
const SMALL: &str = r#"
name = "fuzz"
[simulation]
replications = 2
warmup = "1s"
duration = "3s"
sample_interval = "1s"
initial_health = "stationary"
[region]
name = "r"
zones = ["a", "b"]
[[backend_service.backends]]
group = "ig"
zone = "a"
size = 2
[server]
workers = 3
failures = { time_to_failure = { exponential = { mean = "2s" } }, time_to_repair = { constant = "1s" } }
[[clients]]
name = "web"
kind = "vm"
zone = "a"
addresses = 3
arrivals = { poisson = { rate = 5.0 } }
connection = { requests = { geometric = { mean = 2.0 } }, think_time = { exponential = { mean = "200ms" } } }
request_timeout = "2s"
syn_retransmission = "linux"
retries = 1
[health_check]
check_interval = "2s"
timeout = "2s"
probe_retransmission = true
[[faults]]
target = { zone = "a" }
random = { time_between = { exponential = { mean = "9s" } }, duration = { constant = "500ms" }, at_least_one = true }
[[faults]]
at = "2s"
duration = "1s"
target = { zone = "a", fraction = 0.5 }
kind = "silent"
[[arms]]
name = "one"
[[arms]]
name = "two"
set = { "server.workers" = 2 }
sweep = { "backend_service.backends.ig.size" = [1, 2] }
[[thresholds]]
metric = "failure_ratio"
max = 0.5
"#;

#[test]
fn what_a_dry_run_accepts_a_run_finishes() {
    let out = tempfile::tempdir().unwrap();
    fuzz("dry run", &[SMALL.as_bytes().to_vec()], |_, bytes| {
        let Some(experiment) = parse(&bytes) else { return };
        // Only as much as is soon over.
        let connections = |cell| job::cost::expected_connections(&experiment.scenario(cell));
        let all: Option<f64> = experiment.cells().iter().map(connections).sum();
        let is_small = |cell| {
            let scenario = experiment.scenario(cell);
            scenario.timing.window_end().as_secs_f64() < 60.0 && scenario.backends.len() < 100
        };
        let runs = experiment.cells().len() as u64 * u64::from(experiment.replications());
        if runs > 20 || all.is_none_or(|all| all > 2000.0) || !experiment.cells().iter().all(is_small) {
            return;
        }
        let folder = Folder { threads: 1, ..Folder::new(out.path().join("out")) };
        match job::run(&experiment, &folder, &mut ()) {
            Ok(JobEnd::Complete(_)) => {}
            // Pilots may find no warm-up.
            Err(JobError::Warmup(_)) => {}
            other => panic!("{other:?}"),
        }
        let read = if is_unfinished(&folder.path) { Ok(()) } else { Results::read(&folder.path).map(drop) };
        fs::remove_dir_all(&folder.path).unwrap();
        read.unwrap_or_else(|error| panic!("what was written can't be read: {error}"));
    });
}

/// Stops after so many runs.
struct Stops(usize);

impl Watcher for Stops {
    fn finished(&mut self, _: job::runner::RunId, _: &job::JobProgress<'_>) {
        self.0 -= 1;
    }
    fn wants_to_stop(&self) -> bool {
        self.0 == 0
    }
}

#[test]
fn journals() {
    let out = tempfile::tempdir().unwrap();
    let experiment = parse(SMALL.as_bytes()).unwrap();
    let folder = |name: &str| Folder { threads: 1, resume: true, ..Folder::new(out.path().join(name)) };
    job::run(&experiment, &folder("whole"), &mut ()).unwrap();
    let runs = |name: &str| fs::read(out.path().join(name).join("runs.csv")).unwrap();
    let whole = runs("whole");
    job::run(&experiment, &folder("halved"), &mut Stops(4)).unwrap();
    let journal = fs::read(out.path().join("halved").join(JOURNAL).join(JOURNAL_FILE)).unwrap();
    let header = journal.split(|byte| *byte == b'\n').next().unwrap()[17..].to_vec();
    let resume = |bytes: &[u8]| {
        let folder = folder("resumed");
        fs::create_dir_all(folder.path.join(JOURNAL)).unwrap();
        fs::write(folder.path.join(JOURNAL).join(JOURNAL_FILE), bytes).unwrap();
        let ended = job::run(&experiment, &folder, &mut ());
        let found = match ended {
            Ok(_) => Some(runs("resumed")),
            Err(JobError::OtherJob(_)) => None,
            Err(error) => panic!("{error}"),
        };
        fs::remove_dir_all(&folder.path).unwrap();
        found
    };
    fuzz("journal", std::slice::from_ref(&journal), |_, bytes| {
        assert!(resume(&bytes).is_none_or(|found| found == whole), "silently different");
    });
    // Behind right checksums.
    let json: Vec<u8> =
        journal.split_inclusive(|byte| *byte == b'\n').flat_map(|line| line[17..].to_vec()).collect();
    fuzz("journal with right checksums", &[json], |_, bytes| {
        // Who forges a checksum may count beyond what can be added up; no run does.
        let is_huge = |digits: &[u8]| digits.len() > 16 && digits.iter().all(u8::is_ascii_digit);
        if bytes.split(|byte| !byte.is_ascii_digit()).any(is_huge) {
            return;
        }
        let sum = |line: &[u8]| {
            let key = if line == header { 0 } else { hash_bytes(1, &header) };
            [format!("{:016x} ", hash_bytes(key, line)).as_bytes(), line, b"\n"].concat()
        };
        drop(resume(&bytes.split(|byte| *byte == b'\n').flat_map(sum).collect::<Vec<u8>>()));
    });
}

#[test]
fn results_files() {
    let folder = SampleFolder::no_axis().write();
    let names = [
        "runs.csv",
        "summary.csv",
        "traffic.csv",
        "latency.csv",
        "backends.csv",
        "decisions.csv",
        "timeline.csv",
        "manifest.json",
        "resolved.json",
        "experiment.toml",
    ];
    let seeds = names.map(|name| fs::read(folder.path().join(name)).unwrap());
    fuzz("results", &seeds, |seed, bytes| {
        let path = folder.path().join(names[seed]);
        fs::write(&path, bytes).unwrap();
        if let Ok(results) = Results::read(folder.path()) {
            drop((charts::figures(&results), judged(&results)));
        }
        drop((Observed::read(folder.path()), Manifest::read(folder.path())));
        fs::write(&path, &seeds[seed]).unwrap();
    });
}

#[test]
fn data_files() {
    let folder = tempfile::tempdir().unwrap();
    let text = SMALL
        .replace("arrivals = { poisson = { rate = 5.0 } }", "arrivals = { trace = { file = \"trace.csv\" } }")
        .replace("workers = 3\n", "workers = 3\nservice_time = { empirical = { file = \"times.txt\" } }\n");
    let trace =
        "t_s,client_id,request_bytes,response_bytes,duration_s\n0.5,a,10,20,\n2,b,10,,1.5\n3.9,a,10,20,2\n";
    let times = "# seconds\n0.01,50\n0.02,90\n0.1,100\n";
    let names = ["trace.csv", "times.txt", "small.toml"];
    let seeds = [trace, times, &text].map(|seed| seed.as_bytes().to_vec());
    for (name, seed) in names.iter().zip(&seeds) {
        fs::write(folder.path().join(name), seed).unwrap();
    }
    let read = || Experiment::read(&folder.path().join("small.toml"), &Overrides::default());
    assert!(read().is_ok(), "{}", read().unwrap_err().render(false));
    fuzz("trace and empirical", &seeds[..2], |seed, bytes| {
        fs::write(folder.path().join(names[seed]), bytes).unwrap();
        if let Err(error) = read() {
            assert!(error.render(false).contains(names[seed]), "{}", error.render(false));
        }
        fs::write(folder.path().join(names[seed]), &seeds[seed]).unwrap();
    });
}

#[test]
fn command_lines() {
    let lines = [
        "run my.toml --out results/x --jobs 2 --seed 7 --replications 3 --set server.workers=8 --dry-run",
        "run --shard 2/4 --resume --no-charts --format both --quiet",
        "run my.toml --search clients.web.arrivals.poisson.rate=100..4000 --resolution 50 --subject-to failure_ratio<=0.1%",
        "explain my.toml --down ig-a-1..4,ig-b --client web-a --arm spill --format json",
        "expect my.toml --format json",
        "compare results/x --baseline spill,spillover_ratio=0.5 --metric failure_ratio --format csv",
        "recommend results/x --objective cross_zone_usd_per_month --subject-to failure_ratio<=0.5%",
        "merge a b --out c",
        "validate --soak 10 --first 3 --jobs 2",
        "report results/x --out page.html --color never",
    ];
    let seeds = lines.map(|line| line.replace(' ', "\n").into_bytes());
    fuzz("command line", &seeds, |_, bytes| {
        let arguments = String::from_utf8_lossy(&bytes).into_owned();
        crate::cli::parses(std::iter::once("zonesim").chain(arguments.split('\n')));
    });
}
