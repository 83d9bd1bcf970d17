//! Disks that fail and journals that are damaged: results are the same bytes in the end, or it is said why there are none.

use super::*;
use crate::random::RunSeed;
use crate::results::disk::failing;
use crate::results::{JOURNAL, JOURNAL_FILE};

/// What a run into `folder` ends with on a disk that fails after so many steps; and how many it took.
fn run_failing(folder: &Folder, steps: u64) -> (Result<JobEnd, JobError>, u64) {
    failing::after(steps, || run(&experiment(), folder, &mut ()))
}

#[test]
fn a_disk_that_fails_at_any_step_costs_no_results_and_no_finished_run() {
    let out = tempfile::tempdir().unwrap();
    let whole = Folder { threads: 1, ..Folder::new(out.path().join("whole")) };
    let (_, steps) = run_failing(&whole, u64::MAX);
    let expected = tables(&whole.path);
    assert!(steps > 50, "{steps}");
    // Into a new folder, and into one with finished results of the same experiment.
    for is_new in [true, false] {
        for failing in 0..steps {
            let folder = Folder { path: out.path().join("failing"), ..whole.clone() };
            if !is_new {
                run_failing(&folder, u64::MAX).0.unwrap();
            }
            let ended = run_failing(&folder, failing).0;
            if ended.is_ok() {
                // The last steps of a job that replaces results are fewer.
                assert!(failing + 5 > steps, "step {failing} of {steps} failed, and nobody said so");
            }
            if !is_new {
                assert_eq!(tables(&folder.path), expected, "step {failing}");
            }
            let resumed = run(&experiment(), &Folder { resume: true, ..folder.clone() }, &mut ());
            assert!(resumed.is_ok(), "step {failing}: {resumed:?}");
            assert_eq!(tables(&folder.path), expected, "step {failing}");
            assert!(!is_unfinished(&folder.path));
            fs::remove_dir_all(&folder.path).unwrap();
        }
    }
}

/// Remembers which lines were said to be damaged.
#[derive(Default)]
struct Listener(Vec<u64>);

impl Watcher for Listener {
    fn note(&mut self, note: JobNote) {
        if let JobNote::Damaged(lines) = note {
            self.0.extend(lines);
        }
    }
}

/// Counts what became of jobs that were resumed from damaged journals.
#[derive(Debug, Default, PartialEq)]
struct Tally {
    damaged: usize,
    equal: usize,
    refused: usize,
}

#[test]
fn a_journal_knows_every_flipped_bit() {
    const FLIPS: usize = 500;
    let out = tempfile::tempdir().unwrap();
    let [whole, halved] =
        ["whole", "halved"].map(|name| Folder { threads: 1, ..Folder::new(out.path().join(name)) });
    run_until(&whole, usize::MAX);
    let expected = tables(&whole.path);
    run_until(&halved, 4);
    let journal = fs::read(halved.path.join(JOURNAL).join(JOURNAL_FILE)).unwrap();
    let resumed = Folder { path: out.path().join("resumed"), resume: true, ..whole };
    let mut numbers = RunSeed::new(16, 0).stream(crate::random::Purpose::Arrivals, "flips").generator();
    let mut tally = Tally { damaged: FLIPS, ..Tally::default() };
    for _ in 0..FLIPS {
        let mut flipped = journal.clone();
        let bit = crate::random::below(rand::Rng::next_u64(&mut numbers), journal.len() as u64 * 8);
        flipped[(bit / 8) as usize] ^= 1 << (bit % 8);
        fs::create_dir_all(resumed.path.join(JOURNAL)).unwrap();
        fs::write(resumed.path.join(JOURNAL).join(JOURNAL_FILE), flipped).unwrap();
        let mut listener = Listener::default();
        match run(&experiment(), &resumed, &mut listener) {
            Ok(JobEnd::Complete(_)) => {
                assert!(!listener.0.is_empty(), "bit {bit} is damaged, and nobody said so");
                assert_eq!(tables(&resumed.path), expected, "bit {bit}");
                tally.equal += 1;
            }
            Err(JobError::OtherJob(_)) => tally.refused += 1,
            other => panic!("bit {bit}: {other:?}"),
        }
        fs::remove_dir_all(&resumed.path).unwrap();
    }
    assert_eq!(tally, Tally { damaged: FLIPS, equal: FLIPS, refused: 0 });
}

#[test]
fn lines_of_another_job_and_of_no_run_are_damage() {
    let out = tempfile::tempdir().unwrap();
    let whole = Folder { threads: 1, ..Folder::new(out.path().join("whole")) };
    run_until(&whole, usize::MAX);
    let expected = tables(&whole.path);
    let folder = Folder { path: out.path().join("halved"), resume: true, ..whole };
    run_until(&folder, 3);
    let path = folder.path.join(JOURNAL).join(JOURNAL_FILE);
    let text = fs::read_to_string(&path).unwrap();
    let key = text.lines().next().unwrap().as_bytes()[17..].to_vec();
    // Right checksums: of a cell that there is not, and of an outcome of another shape.
    let line = &text.lines().nth(1).unwrap()[17..];
    let forged = [
        line.replacen("{\"cell\":0", "{\"cell\":7", 1),
        line.replacen("\"decisions\":[[", "\"decisions\":[[0],[", 1),
    ];
    assert!(forged.iter().all(|forged| forged != line));
    let sum = |json: &str| crate::random::hash_bytes(crate::random::hash_bytes(1, &key), json.as_bytes());
    assert!(text.contains(&format!("{:016x} {line}", sum(line))));
    let forged = forged.map(|json| format!("{:016x} {json}\n", sum(&json)));
    fs::write(&path, text.lines().next().unwrap().to_owned() + "\n" + &forged.concat()).unwrap();
    let mut listener = Listener::default();
    assert!(matches!(run(&experiment(), &folder, &mut listener), Ok(JobEnd::Complete(_))));
    assert_eq!(listener.0, [2, 3]);
    assert_eq!(tables(&folder.path), expected);
    // A journal of noise is no journal.
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "one\ntwo\n").unwrap();
    assert!(matches!(run(&experiment(), &folder, &mut ()), Err(JobError::OtherJob(_))));
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
}
