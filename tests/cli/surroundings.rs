//! Where a job runs: on a disk that can't be written to, by a clock that goes wrong.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

use crate::crash::{JOURNAL, wait_for_runs};
use crate::run::{folder_with, tables};
use crate::{SMALL, assert_status, command, stderr, stdout, zonesim};

/// Runs `zonesim` with `args` in `folder` in a mount namespace in which that can't be written to, as root can't be kept out
/// by modes; nothing where the system allows no such namespace.
fn read_only(folder: &Path, args: &[&str]) -> Option<Output> {
    const NO_NAMESPACE: i32 = 97;
    let script = format!(
        "mount --bind . . && mount -o remount,ro,bind . && cd \"$PWD\" || exit {NO_NAMESPACE}; exec \"$@\""
    );
    let zonesim = env!("CARGO_BIN_EXE_zonesim");
    let mut unshared = Command::new("unshare");
    unshared.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script, "sh", zonesim]).args(args);
    let output = unshared.current_dir(folder).output().ok()?;
    let is_refused = output.status.code() == Some(NO_NAMESPACE) || stderr(&output).contains("unshare");
    (!is_refused).then_some(output)
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_can_not_be_written_to_is_named_and_stays_as_it_is() {
    let folder = folder_with(SMALL);
    let args = |out| ["run", "small.toml", "--no-charts", "--out", out];
    assert_status(&zonesim(folder.path(), &args("out")), 0);
    let before = tables(&folder.path().join("out"));
    let files = || fs::read_dir(folder.path().join("out")).unwrap().count();
    let there = files();
    let Some(refused) = read_only(folder.path(), &args("new")) else {
        use std::io::Write as _;
        // Not through the test harness, which would keep it to itself.
        let _ = writeln!(std::io::stderr(), "not tested: this system allows no mount namespaces");
        return;
    };
    assert_status(&refused, 1);
    assert!(
        stderr(&refused).contains("new") && stderr(&refused).contains("Read-only"),
        "{}",
        stderr(&refused)
    );
    assert!(!folder.path().join("new").exists());
    for more in [&[][..], &["--force"], &["--seed", "7", "--force"]] {
        let refused = read_only(folder.path(), &[&args("out")[..], more].concat()).unwrap();
        assert_status(&refused, 1);
        assert!(stderr(&refused).contains("Read-only"), "{}", stderr(&refused));
    }
    // Nothing has to be written to be read, or to be judged again.
    for args in [&["compare", "out", "--baseline", "disabled"][..], &["recommend", "out"]] {
        let read = read_only(folder.path(), args).unwrap();
        assert_eq!(stdout(&read), stdout(&zonesim(folder.path(), args)), "{}", stderr(&read));
    }
    assert_status(&read_only(folder.path(), &[&args("out")[..], &["--resume"]].concat()).unwrap(), 0);
    let refused = read_only(folder.path(), &["plot", "out"]).unwrap();
    assert!(!refused.status.success() && stderr(&refused).contains("Read-only"), "{}", stderr(&refused));
    assert_eq!(tables(&folder.path().join("out")), before);
    assert_eq!(files(), there);
}

/// Gives every file in `folder` and below another time.
fn set_times(folder: &Path, time: SystemTime) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            set_times(&path, time);
        } else {
            File::options().append(true).open(&path).unwrap().set_modified(time).unwrap();
        }
    }
}

#[test]
fn files_of_any_time_are_resumed_and_read_as_they_are() {
    let long = SMALL.replacen("replications = 2", "replications = 10", 1).replacen("\"60s\"", "\"5m\"", 1);
    let folder = folder_with(&long);
    let args = |out| ["run", "small.toml", "--jobs", "1", "--no-charts", "--out", out];
    assert_status(&zonesim(folder.path(), &args("whole")), 0);
    let whole = tables(&folder.path().join("whole"));
    let day = Duration::from_secs(86_400);
    for (out, time) in [
        ("at-the-beginning-of-time", SystemTime::UNIX_EPOCH),
        // The clock was a hundred years fast when the job began, and was set back.
        ("in-the-future", SystemTime::UNIX_EPOCH + day * 365 * 150),
    ] {
        let mut child = command(folder.path(), &args(out)).stderr(Stdio::null()).spawn().unwrap();
        wait_for_runs(&mut child, &folder.path().join(out), 3);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(folder.path().join(out).join(JOURNAL).exists());
        set_times(folder.path(), time);
        assert_status(&zonesim(folder.path(), &[&args(out)[..], &["--resume"]].concat()), 0);
        assert_eq!(tables(&folder.path().join(out)), whole, "{out}");
        // Finished results are replaced by the same, and read, whenever they were made.
        set_times(folder.path(), time);
        assert_status(&zonesim(folder.path(), &args(out)), 0);
        assert_eq!(tables(&folder.path().join(out)), whole, "{out}");
        assert_status(&zonesim(folder.path(), &["compare", out, "--baseline", "disabled"]), 0);
    }
}
