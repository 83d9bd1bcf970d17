//! Experiments with data files: what they become, and what is said about wrong files.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{changed, refusal};
use crate::experiment::{Experiment, ExperimentError, Overrides};
use crate::job::runner::{RunId, run_every, run_one};
use crate::sim::outcome::Outcome;
use crate::sim::scenario::ClientGroup;

const SIZES: &str = "bytes,cdf\n0,0\n1000,50\n3000,100\n";
const TRACE: &str = "t_s,client_id,request_bytes\n1,a,10\n70,b,10\n70,a,10\n100.5,c,10\n";

/// [`super::SMALL`] with both kinds of files; it runs for eleven minutes.
fn text() -> String {
    let web = "arrivals = { trace = { file = \"data/trace.csv\" } }\n\
               connection.response_bytes = { empirical = { file = \"data/sizes.csv\" } }";
    changed("arrivals = { poisson = { rate = 20.0 } }", web)
}

/// A folder with an experiment and its data.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new(experiment: &str) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.write("small.toml", experiment);
        folder.write("data/sizes.csv", SIZES);
        folder.write("data/trace.csv", TRACE);
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read_with(&self, overrides: &Overrides) -> Result<Experiment, ExperimentError> {
        Experiment::read(&self.path("small.toml"), overrides)
    }

    fn read(&self) -> Experiment {
        self.read_with(&Overrides::default()).unwrap()
    }

    /// The error that `overrides` lead to, with slashes as the experiment file writes them.
    fn error(&self, overrides: &Overrides) -> String {
        let error = self.read_with(overrides).unwrap_err().render(false);
        error.replace(&self.0.path().display().to_string(), "").replace('\\', "/")
    }
}

fn web(experiment: &Experiment, cell: usize) -> ClientGroup {
    experiment.scenario(&experiment.cells()[cell]).clients.iter().next().unwrap().clone()
}

fn run(experiment: &Experiment, cell: usize) -> Outcome {
    run_one(experiment, RunId { cell, replication: 0 }).unwrap()
}

#[test]
fn data_files_are_found_beside_the_experiment() {
    let folder = Folder::new(&text());
    let experiment = folder.read();
    let web = web(&experiment, 0);
    assert_eq!(web.connection.response_bytes.mean(), 1250.0);
    assert_eq!(web.arrivals.mean_rate(), Some(4.0 / 100.5));
    // The other group opens two connections a second, for eleven minutes.
    assert_eq!(run(&experiment, 0).opened, 4 + 2 * 660 - 1);
}

#[test]
fn connections_of_a_trace_carry_what_was_recorded() {
    let text = text().replace(
        "arrivals = { deterministic = { rate = 2 } }",
        "arrivals = { deterministic = { rate = 1e-9 } }",
    );
    let folder = Folder::new(&text);
    let run_of = |rows: &str| {
        folder.write(
            "data/trace.csv",
            &format!("t_s,client_id,request_bytes,response_bytes,duration_s\n{rows}"),
        );
        run(&folder.read(), 0)
    };
    // The first minute is not measured.
    let outcome = run_of("1,a,7,7,1\n70,a,10,100,\n80,b,20,200,\n90,a,30,300,0\n");
    let totals = outcome.total();
    assert_eq!((outcome.opened, totals.connections, totals.requests), (4, 3, 3));
    assert_eq!((totals.request_bytes, totals.response_bytes), (60, 600));
    let peak = |outcome: &Outcome| outcome.backends.iter().map(|backend| backend.peak_active).sum::<u64>();
    assert!(peak(&outcome) <= 2, "one after the other, on one of two backends each");
    // Each is open until the last one begins, and the second is not measured twice.
    let rows = (0..50).map(|n| format!("{},h{n},10,100,{}\n", 100 + n, 100 - n));
    let outcome = run_of(&rows.collect::<String>());
    assert_eq!((outcome.completed, peak(&outcome)), (50, 50));
    // What was not recorded is drawn.
    let outcome = run_of("70,a,10,,\n");
    assert!(outcome.total().response_bytes <= 3000 && outcome.total().requests == 1);
}

#[test]
fn durations_come_from_files_too() {
    let text = changed("{ exponential = { mean = \"5ms\" } }", "{ empirical = { file = \"times.txt\" } }");
    let folder = Folder::new(&text);
    folder.write("times.txt", "0.001 0.5\n0.003 1\n");
    let experiment = folder.read();
    let scenario = experiment.scenario(&experiment.cells()[0]);
    assert_eq!(scenario.groups.iter().next().unwrap().server.service_time.mean(), 1.5e6);
}

#[test]
fn arms_axes_and_flags_name_files() {
    let axis = "[sweep]\n\"clients.web-a.connection.response_bytes.empirical.file\" = [\"data/sizes.csv\", \"data/large.csv\"]";
    let text = text().replace("[sweep]\n\"clients.web-a.addresses\" = [100, 200]", axis).replace(
        "\"STAY_WITHIN_ZONE\" }",
        "\"STAY_WITHIN_ZONE\", \"clients.web-a.arrivals.trace.file\" = \"data/late.csv\" }",
    );
    let folder = Folder::new(&text);
    folder.write("data/large.csv", "1e6 1");
    folder.write("data/late.csv", "t_s,client_id,request_bytes\n400,a,10\n");
    let experiment = folder.read();
    assert_eq!(experiment.cells().len(), 6);
    let mean = |cell| web(&experiment, cell).connection.response_bytes.mean();
    assert_eq!([mean(0), mean(1), mean(4), mean(5)], [1250.0, 1e6, 1250.0, 1e6]);
    let opened = |cell| run(&experiment, cell).opened;
    assert_eq!([opened(0), opened(4)], [4 + 1319, 1 + 1319]);

    let flag = super::set(&[("clients.office.connection.response_bytes.empirical.file", "data/large.csv")]);
    let experiment = folder.read_with(&flag).unwrap();
    let scenario = experiment.scenario(&experiment.cells()[0]);
    assert_eq!(scenario.clients.iter().nth(1).unwrap().connection.response_bytes.mean(), 1e6);
}

#[test]
fn results_folders_find_the_data() {
    let folder = Folder::new(&text());
    let experiment = folder.read();
    assert_eq!(experiment.document(), text());
    let results = folder.path("results/small");
    fs::create_dir_all(&results).unwrap();
    let written = experiment.document_in(&results);
    assert!(written.contains("data_folder = \"../..\"\n"), "{written}");
    fs::write(results.join("experiment.toml"), &written).unwrap();
    let again = Experiment::read(&results.join("experiment.toml"), &Overrides::default()).unwrap();
    assert_eq!(again.cells(), experiment.cells());
    assert!(run(&again, 0) == run(&experiment, 0));
    assert_eq!(again.document_in(&results), written);
    assert_eq!(again.fingerprint(), experiment.fingerprint(), "the same, wherever it stands");
    assert!(again.document_in(folder.0.path()).contains("data_folder = \".\"\n"));
    // Without data files nothing is added.
    let plain = Folder::new(super::SMALL).read();
    assert_eq!(plain.document_in(&results), super::SMALL);
}

#[test]
fn the_hash_of_an_experiment_covers_its_data() {
    let folder = Folder::new(&text());
    let hash = |folder: &Folder| folder.read().fingerprint();
    let first = hash(&folder);
    assert_eq!(first, hash(&Folder::new(&text())), "whatever the folder");
    folder.write("data/sizes.csv", &SIZES.replace("1000", "1001"));
    let second = hash(&folder);
    folder.write("data/trace.csv", &TRACE.replace("100.5", "100.6"));
    let third = hash(&folder);
    assert!(first != second && second != third && first != third);
}

#[test]
fn the_hash_of_an_experiment_is_of_what_it_says_and_not_of_how() {
    let hash = |text: &str| Folder::new(text).read().fingerprint();
    let own = hash(super::SMALL);
    let laid_out = format!("# A comment.\n\n{}", super::SMALL.replace(" = ", "   =  "));
    assert_ne!(laid_out, super::SMALL);
    assert_eq!(hash(&laid_out), own);
    let inline = super::SMALL.replacen("[region]\n", "", 1);
    assert!(inline != super::SMALL && hash(&super::SMALL.replace("seed", "\"seed\"")) == own);
    assert_ne!(hash(&super::SMALL.replacen("name = \"", "name = \"x", 1)), own);
}

#[test]
fn runs_with_data_are_the_same_on_any_number_of_threads() {
    let text = text().replace(
        "arrivals = { deterministic = { rate = 2 } }",
        "arrivals = { mmpp = { rates = [0, 2], mean_dwell = \"10s\" } }\n\
         [[clients]]\nname = \"day\"\nkind = \"vpn\"\n\
         arrivals = { diurnal = { mean_rate = 1, peak_to_mean = 2, period = \"5m\" } }\n\
         [[clients]]\nname = \"pool\"\nkind = \"vm\"\nzone = \"us-central1-b\"\nretries = 2\nmax_age = \"1s\"\n\
         retry_backoff = { base = \"10ms\", jitter = 1.0 }\nrequest_timeout = \"6ms\"\n\
         arrivals = { closed = { population = 5, think_time = { exponential = { mean = \"1s\" } } } }",
    );
    let folder = Folder::new(&text);
    let (one, again) = (Arc::new(folder.read()), Arc::new(folder.read()));
    assert!(run_every(&one, 1).unwrap() == run_every(&again, 2).unwrap());
}

#[test]
fn a_trace_that_changes_ends_the_run() {
    let folder = Folder::new(&text());
    let experiment = Arc::new(folder.read());
    folder.write("data/trace.csv", &format!("{TRACE}200,a,10\n"));
    let error = run_every(&experiment, 1).unwrap_err().to_string();
    assert!(
        error.contains("data/trace.csv") && error.contains("is not the file that was checked"),
        "{error}"
    );
    fs::remove_file(folder.path("data/trace.csv")).unwrap();
    let error = run_every(&experiment, 1).unwrap_err().to_string();
    assert!(error.contains("can't be read") && error.contains("run it again"), "{error}");
}

#[test]
fn wrong_files_are_told_with_both_places() {
    let folder = Folder::new(&text());
    folder.write("data/sizes.csv", "0,0\n10,0.5\n5,1\n");
    insta::assert_snapshot!(folder.error(&Overrides::default()), @r#"
    error: `clients.web-a.connection.response_bytes`: /data/sizes.csv:3: the value 5 comes after 10
      --> /small.toml:43:29
       |
    43 | connection.response_bytes = { empirical = { file = "data/sizes.csv" } }
       |                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = help: sort the points by their values
    "#);
    folder.write("data/sizes.csv", SIZES);
    folder.write("data/trace.csv", &TRACE.replace("100.5", "99,c,10\n98.5"));
    insta::assert_snapshot!(folder.error(&Overrides::default()), @r#"
    error: `clients.web-a.arrivals.trace.file`: /data/trace.csv:6: the time 98.5 comes after 99
      --> /small.toml:42:31
       |
    42 | arrivals = { trace = { file = "data/trace.csv" } }
       |                               ^^^^^^^^^^^^^^^^
       |
       = help: sort the rows by t_s
    "#);
    folder.write("data/trace.csv", TRACE);
    folder.write("data/sizes.csv", "1ms,0.5\n2ms,1\n");
    insta::assert_snapshot!(folder.error(&Overrides::default()), @r#"
    error: `clients.web-a.connection.response_bytes`: /data/sizes.csv:1: "1ms" is a duration, and a number of bytes is needed
      --> /small.toml:43:29
       |
    43 | connection.response_bytes = { empirical = { file = "data/sizes.csv" } }
       |                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = help: write a number without a unit
    "#);
    folder.write("data/sizes.csv", "");
    let error = folder.error(&Overrides::default());
    assert!(error.contains("/data/sizes.csv: there are no points"), "{error}");
    folder.write("data/sizes.csv", SIZES);
    folder.write("data/trace.csv", "t_s,client_id,request_bytes\n");
    let error = folder.error(&Overrides::default());
    assert!(error.contains("/data/trace.csv holds no connection"), "{error}");
}

#[test]
fn files_that_can_not_be_read_are_told() {
    let folder = Folder::new(&text());
    let sizes = "clients.web-a.connection.response_bytes.empirical";
    insta::assert_snapshot!(folder.error(&super::set(&[(&format!("{sizes}.file"), "data")])), @"
    error: `clients.web-a.connection.response_bytes.empirical.file`: /data is no file
    --> /small.toml, overridden by --set clients.web-a.connection.response_bytes.empirical.file=data
     = help: name one that can be read again and again
    ");
    for (path, value, part) in [
        ("clients.web-a.arrivals.trace.file", "none.csv", "none.csv can't be read: "),
        ("clients.web-a.arrivals.trace.file", "data", "data is no file"),
        (
            "clients.web-a.arrivals.trace",
            "{ path = \"a\" }",
            "`clients.web-a.arrivals.trace.path` is not a known key",
        ),
        ("clients.web-a.arrivals.trace.file", "5", "`clients.web-a.arrivals.trace.file` can't be 5"),
        (
            "clients.web-a.connection.response_bytes",
            "{ empirical = { file = 5 } }",
            "empirical.file` can't be 5",
        ),
        ("clients.web-a.connection.response_bytes", "{ empirical = {} }", "empirical has no points"),
        (
            "clients.web-a.connection.response_bytes",
            "{ empirical = { points = [[1, 0.5, 2]] } }",
            "points.0` has 3 members",
        ),
        (
            "clients.web-a.connection.response_bytes",
            "{ empirical = { points = 5 } }",
            "empirical.points` can't be 5",
        ),
        (
            "clients.web-a.connection.response_bytes.empirical.points",
            "[[1, 1]]",
            "empirical.points` stands beside `file`",
        ),
        ("data_folder", "elsewhere", "can't be read"),
        ("data_folder", "5", "`data_folder` can't be 5"),
    ] {
        let error = folder.error(&super::set(&[(path, value)]));
        assert!(error.contains(part) && error.contains("help: "), "{path} = {value}: {error}");
    }
    let no_folder = refusal(&text(), &Overrides::default());
    assert!(no_folder.contains("the experiment stands in no folder"), "{no_folder}");
    let arm = text().replace("\"STAY_WITHIN_ZONE\" }", "\"STAY_WITHIN_ZONE\", \"data_folder\" = \"x\" }");
    let error = Folder::new(&arm).error(&Overrides::default());
    assert!(error.contains("holds for the whole experiment"), "{error}");
}

#[test]
fn closed_loops_need_ports() {
    let closed = "arrivals = { closed = { population = 1000000, think_time = { constant = \"1s\" } } }";
    let text = changed("arrivals = { poisson = { rate = 20.0 } }", closed);
    let error = refusal(&text, &Overrides::default());
    let part = "`clients.web-a.arrivals.closed.population` is 1000000, too many for 100 addresses";
    assert!(error.contains(part) && error.contains("write addresses = 245 or more"), "{error}");
}

#[test]
fn the_example_replays_its_trace() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments/trace-replay.toml");
    let experiment = Experiment::read(&path, &Overrides::default()).unwrap();
    let arms: Vec<&str> = experiment.cells().iter().map(|cell| cell.arm.as_str()).collect();
    assert_eq!(arms, ["recorded", "modulated", "poisson"]);
    let outcomes: Vec<Outcome> = (0..3).map(|cell| run(&experiment, cell)).collect();
    assert_eq!(outcomes[0].opened, 500);
    assert!(outcomes[2].opened.abs_diff(500) < 100, "{}", outcomes[2].opened);
}
