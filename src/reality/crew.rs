//! Laboratories side by side: each is this program once more, in namespaces of its own.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use super::lab::{LabError, LabOrder};
use super::observation::RunObservation;

/// The namespaces of a laboratory: of users, so that it needs no rights; of processes, whose end with their first one
/// ends the rest; of mounts and networks.
const NAMESPACES: &[&str] =
    &["--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
/// Where commands are that belong to root.
const ROOTS_PATH: &str = "/usr/sbin:/sbin";
/// How often it is asked whether to go on.
const POLL: Duration = Duration::from_millis(100);
const NO_PANIC: &str = "nothing panics while it holds this";

/// Why there can be no laboratory here; nothing if there can.
pub fn obstacle() -> Option<String> {
    for program in ["unshare", "ip", "nft"] {
        if !is_there(program) {
            return Some(format!("there is no `{program}`; install {}", package(program)));
        }
    }
    let probe = "mount -t tmpfs tmpfs /run && ip netns add probe && ip link add p type veth peer name q netns probe \
                 && nft 'add table ip lab; add chain ip lab c { type filter hook prerouting priority mangle; }; \
                 add rule ip lab c meta mark set jhash ip saddr . tcp sport mod 7; \
                 add rule ip lab c ip dscp set 1; add chain ip lab o { type route hook output priority mangle; }; \
                 add rule ip lab c numgen random mod 10 < 1 drop; add rule ip lab c ct mark set meta mark; \
                 add chain ip lab n { type nat hook prerouting priority dstnat; }; \
                 add rule ip lab n tcp dport 1 dnat to 198.18.0.1; add table netdev lab; \
                 add chain netdev lab e { type filter hook egress devices = { p } priority 0; }; \
                 add chain netdev lab i { type filter hook ingress devices = { p } priority 0; }'";
    let tried = command(OsStr::new("sh")).args(["-c", probe]).stdin(Stdio::null()).output();
    match tried {
        Err(error) => Some(format!("can't run `unshare`: {error}")),
        Ok(output) if !output.status.success() => {
            let why = String::from_utf8_lossy(&output.stderr);
            let last = why.trim().lines().last().unwrap_or("no message").to_owned();
            Some(format!("this kernel gives no namespaces with nftables in them: {last}"))
        }
        Ok(_) => None,
    }
}

fn package(program: &str) -> &'static str {
    match program {
        "nft" => "nftables",
        "ip" => "iproute2",
        _ => "util-linux",
    }
}

fn path() -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{path}:{ROOTS_PATH}")
}

fn is_there(program: &str) -> bool {
    path().split(':').any(|folder| Path::new(folder).join(program).is_file())
}

/// `program` in new namespaces.
fn command(program: &OsStr) -> Command {
    let mut command = Command::new("unshare");
    command.args(NAMESPACES).arg(program).env("PATH", path());
    command
}

/// A laboratory that has ended: the number of its order, and what it showed.
pub type LabResult = (usize, Result<RunObservation, LabError>);

/// Laboratories that are being run.
pub struct Crew {
    /// This program, and the arguments that make a laboratory of it.
    program: (PathBuf, &'static str),
    waiting: Mutex<VecDeque<(usize, LabOrder)>>,
    /// Their standard inputs: a laboratory lives as long as its own is open.
    lifelines: Mutex<Vec<Option<ChildStdin>>>,
    ends: AtomicBool,
}

impl Crew {
    /// Runs `orders`, `side_by_side` at a time; `program` with its argument is a laboratory.
    pub fn new(program: (PathBuf, &'static str), orders: Vec<LabOrder>, side_by_side: usize) -> Self {
        let lifelines = std::iter::repeat_with(|| None).take(side_by_side.max(1)).collect();
        Self {
            program,
            waiting: Mutex::new(orders.into_iter().enumerate().collect()),
            lifelines: Mutex::new(lifelines),
            ends: AtomicBool::new(false),
        }
    }

    /// Runs them all, and hands each to `take` as it ends; `goes_on` is asked several times a second. However this ends, no
    /// laboratory is left.
    ///
    /// # Errors
    /// The first error of a laboratory.
    pub fn run(
        &self,
        goes_on: impl Fn() -> bool,
        mut take: impl FnMut(usize, RunObservation),
    ) -> Result<(), LabError> {
        let (sender, receiver) = mpsc::channel::<LabResult>();
        let slots = self.lifelines.lock().expect(NO_PANIC).len();
        let mut failed = None;
        std::thread::scope(|scope| {
            for slot in 0..slots {
                let sender = sender.clone();
                scope.spawn(move || self.work(slot, &sender));
            }
            drop(sender);
            loop {
                match receiver.recv_timeout(POLL) {
                    Ok((order, Ok(found))) => take(order, found),
                    Ok((_, Err(error))) => {
                        // Those that are ended because of it have errors, too.
                        failed = failed.take().or(Some(error));
                        self.end();
                    }
                    Err(mpsc::RecvTimeoutError::Timeout) if !goes_on() => self.end(),
                    Err(mpsc::RecvTimeoutError::Timeout) => {}
                    Err(mpsc::RecvTimeoutError::Disconnected) => break,
                }
            }
        });
        if !goes_on() {
            return Ok(());
        }
        failed.map_or(Ok(()), Err)
    }

    /// Ends every laboratory, and begins no other.
    fn end(&self) {
        self.ends.store(true, Ordering::Relaxed);
        self.waiting.lock().expect(NO_PANIC).clear();
        self.lifelines.lock().expect(NO_PANIC).iter_mut().for_each(|lifeline| drop(lifeline.take()));
    }

    fn work(&self, slot: usize, results: &mpsc::Sender<LabResult>) {
        loop {
            let Some((number, order)) = self.waiting.lock().expect(NO_PANIC).pop_front() else { return };
            // Who does not listen has ended.
            let _ = results.send((number, self.lab(slot, &order)));
        }
    }

    fn lab(&self, slot: usize, order: &LabOrder) -> Result<RunObservation, LabError> {
        let failed = |error: std::io::Error| LabError(format!("can't run a laboratory: {error}"));
        let mut child = self.start().map_err(failed)?;
        let mut lifeline = child.stdin.take().expect("it is piped");
        let line = serde_json::to_string(order).expect("it has a JSON form") + "\n";
        let told = lifeline.write_all(line.as_bytes());
        self.lifelines.lock().expect(NO_PANIC)[slot] = Some(lifeline);
        if self.ends.load(Ordering::Relaxed) {
            self.end();
        }
        let mut stderr = child.stderr.take().expect("it is piped");
        // What it says is short, and fits into a pipe.
        let mut answer = String::new();
        let read = child.stdout.take().expect("it is piped").read_to_string(&mut answer);
        let mut words = String::new();
        let heard = stderr.read_to_string(&mut words);
        let ended = child.wait();
        self.lifelines.lock().expect(NO_PANIC)[slot] = None;
        told.and(read).and(heard).and(ended).map_err(failed)?;
        serde_json::from_str(&answer).map_err(|_| {
            let words = words.trim();
            LabError(if words.is_empty() {
                "a laboratory was ended from outside".to_owned()
            } else {
                words.to_owned()
            })
        })
    }

    fn start(&self) -> std::io::Result<Child> {
        let (program, argument) = &self.program;
        let mut command = command(program.as_os_str());
        command.arg(argument).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    }
}
