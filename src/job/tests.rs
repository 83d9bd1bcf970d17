//! Jobs as who embeds them meets them: no terminal, a folder, and someone who watches.

mod damage;

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;

use super::runner::RunId;
use super::search::{Search, SearchRequest};
use super::shard::Shard;
use super::*;
use crate::answers::search::{Goal, LineOutcome};
use crate::experiment::{Experiment, Overrides, Source};
use crate::results::is_unfinished;

fn experiment() -> Experiment {
    let text = r#"
        name = "embedded"
        simulation = { replications = 3, warmup = "0s", duration = "5s" }
        region = { name = "r", zones = ["a"] }
        backend_service.backends = [{ group = "ig", zone = "a", size = 1 }]
        clients = [{ name = "web", kind = "vm", zone = "a", arrivals = { poisson = { rate = 5.0 } } }]
        [[arms]]
        name = "one"
        [[arms]]
        name = "two"
        set = { "server.workers" = 2 }
    "#;
    let source = Source { name: "test.toml".to_owned(), text: text.to_owned() };
    Experiment::parse(source, &Overrides::default()).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

/// Counts finished runs, and stops after so many.
struct Stops {
    finished: usize,
    after: usize,
}

impl Watcher for Stops {
    fn finished(&mut self, _: RunId, _: &JobProgress<'_>) {
        self.finished += 1;
    }
    fn wants_to_stop(&self) -> bool {
        self.finished >= self.after
    }
}

/// Runs the experiment into `folder` until so many runs are finished; gives how it ended, and how many were.
fn run_until(folder: &Folder, after: usize) -> (JobEnd, usize) {
    let mut watcher = Stops { finished: 0, after };
    let ended = run(&experiment(), folder, &mut watcher).unwrap();
    (ended, watcher.finished)
}

fn tables(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let tables = entries.filter(|path| path.extension().is_some_and(|extension| extension == "csv"));
    tables.map(|path| (path.display().to_string(), path)).map(read_under(folder)).collect()
}

fn read_under(folder: &Path) -> impl Fn((String, std::path::PathBuf)) -> (String, String) {
    let prefix = folder.display().to_string();
    move |(name, path)| (name.replace(&prefix, ""), fs::read_to_string(path).unwrap())
}

#[test]
fn a_job_that_is_stopped_is_resumed_to_the_same_bytes() {
    let out = tempfile::tempdir().unwrap();
    let [whole, halved] =
        ["whole", "halved"].map(|name| Folder { threads: 1, ..Folder::new(out.path().join(name)) });
    let (ended, finished) = run_until(&whole, usize::MAX);
    let JobEnd::Complete(job) = ended else { panic!("{ended:?}") };
    assert_eq!((finished, job.manifest.finished_runs, job.summaries.len()), (6, 6, 2));
    assert!(!is_unfinished(&whole.path));

    let (ended, finished) = run_until(&halved, 2);
    assert!(matches!(ended, JobEnd::Stopped) && finished == 2 && is_unfinished(&halved.path));
    let resumed = Folder { resume: true, threads: 2, ..halved };
    let (ended, finished) = run_until(&resumed, usize::MAX);
    assert!(matches!(ended, JobEnd::Complete(_)) && finished == 4, "{finished} of 4 that were missing");
    assert_eq!(tables(&resumed.path), tables(&whole.path));
    assert!(matches!(run_until(&resumed, 1), (JobEnd::CompleteBefore, 0)));
}

#[test]
fn who_watches_may_stop_a_job_before_its_journal_goes() {
    struct Fails;
    impl Watcher for Fails {
        fn written(&mut self, folder: &Path) -> Result<(), Box<dyn Error + Send + Sync>> {
            assert!(folder.join("manifest.json").exists());
            Err("no paper".into())
        }
    }
    let out = tempfile::tempdir().unwrap();
    let folder = Folder::new(out.path());
    let error = run(&experiment(), &folder, &mut Fails).unwrap_err();
    let JobError::Unfinished { source, .. } = &error else { panic!("{error}") };
    assert!(matches!(**source, JobError::Watcher(_)) && source.to_string() == "no paper", "{source}");
    let (ended, finished) = run_until(&Folder { resume: true, ..folder }, usize::MAX);
    assert!(matches!(ended, JobEnd::Complete(_)) && finished == 0, "every run was kept");
}

#[test]
fn shards_are_run_and_merged_without_a_command() {
    let out = tempfile::tempdir().unwrap();
    let shards = [1, 2].map(|number| {
        let shard = Some(Shard::new(number, 2).unwrap());
        let folder = Folder { shard, ..Folder::new(out.path().join(number.to_string())) };
        assert!(matches!(run_until(&folder, usize::MAX), (JobEnd::Complete(_), 3)));
        folder.path
    });
    let merged = out.path().join("merged");
    for too_few in [0, 1] {
        let missing = merge::merge(&shards[..too_few], &merged, &mut ()).unwrap_err();
        assert!(matches!(missing, JobError::Unfit(_)) && !merged.exists(), "{missing}");
    }
    assert_eq!(merge::merge(&shards, &merged, &mut ()).unwrap().manifest.finished_runs, 6);
    let whole = Folder::new(out.path().join("whole"));
    run_until(&whole, usize::MAX);
    assert_eq!(tables(&merged), tables(&whole.path));
    let taken = merge::merge(&shards, &merged, &mut ()).unwrap_err();
    assert!(matches!(taken, JobError::Taken(_)), "{taken}");
}

#[test]
fn a_search_is_run_without_a_command() {
    let request = |arms: &[&str]| SearchRequest {
        path: "clients.web.arrivals.poisson.rate".to_owned(),
        low: "1".to_owned(),
        high: "9".to_owned(),
        step: "4".to_owned(),
        arms: arms.iter().map(|arm| (*arm).to_owned()).collect(),
        goal: Goal::best("connections", Some(true)).unwrap(),
    };
    let search = Search::new(&experiment(), request(&["two"])).unwrap();
    let out = tempfile::tempdir().unwrap();
    let folder = Folder::new(out.path());
    let shard = Some(Shard::new(1, 2).unwrap());
    let refused = search.run(&Folder { shard, ..folder.clone() }, &mut ()).unwrap_err();
    assert!(matches!(refused, JobError::Question(_)), "{refused}");

    let mut early = Stops { finished: 0, after: 1 };
    assert!(search.run(&folder, &mut early).unwrap().is_none() && is_unfinished(&folder.path));
    let mut rest = Stops { finished: 0, after: usize::MAX };
    let resumed = Folder { resume: true, ..folder };
    let ended = search.run(&resumed, &mut rest).unwrap().expect("nobody stopped it");
    let [(name, answer)] = &ended.answers[..] else { panic!("{:?}", ended.answers) };
    assert!(name == "two" && matches!(answer.outcome, LineOutcome::Best { at: 2, .. }), "{answer:?}");
    // The other arm is run once, to compare.
    let runs = 3 * (1 + answer.tried);
    let finished = ended.job.as_ref().unwrap().manifest.finished_runs;
    assert_eq!((finished as usize, early.finished + rest.finished), (runs, runs));
    assert!(!is_unfinished(out.path()));

    // Finished, it answers from what is there, and writes nothing.
    let bytes = || fs::read(out.path().join("manifest.json")).unwrap();
    let (before, mut idle) = (bytes(), Stops { finished: 0, after: usize::MAX });
    let again = search.run(&resumed, &mut idle).unwrap().unwrap();
    assert_eq!(format!("{:?}", again.answers), format!("{:?}", ended.answers));
    assert!((idle.finished, again.job.is_none(), bytes() == before) == (0, true, true));

    let unknown = Search::new(&experiment(), request(&["tow"])).unwrap_err();
    assert!(unknown.to_string().contains("did you mean"), "{unknown}");
}
