//! The probers: each opens a TCP connection to its backend at fixed intervals, and waits for the handshake, or for a reply.

use std::net::TcpStream;
use std::sync::mpsc::Sender;

use rustix::event::{PollFd, PollFlags};

use super::clock::Clock;
use super::dial::{dial, is_connected};
use super::message::{self, StreamState, request, sender};
use super::network::{Host, enter};
use super::{Event, LabError};
use crate::ids::BackendId;
use crate::lb::health::{HealthChecking, Phase};
use crate::random::{Purpose, RunSeed, below};
use crate::time::{SimDuration, SimTime};

/// One prober of one backend.
struct Prober {
    backend: BackendId,
    number: u8,
    target: std::net::Ipv4Addr,
    /// When its next probe is due.
    next: SimTime,
    probe: Option<Probe>,
}

/// A probe that is under way.
struct Probe {
    stream: TcpStream,
    deadline: SimTime,
    is_connected: bool,
    received: Vec<u8>,
}

/// Probes `backends` until nobody listens to `events`.
pub(super) fn probe(
    check: HealthChecking,
    backends: &[(BackendId, String)],
    seed: RunSeed,
    clock: Clock,
    events: &Sender<Event>,
) -> Result<(), LabError> {
    enter(Host::Probers)?;
    let mut probers: Vec<Prober> = Vec::new();
    for (backend, name) in backends {
        let phases = seed.stream(Purpose::ProbePhase, name);
        for number in 0..check.probers.count.get() {
            probers.push(Prober::new(&check, (*backend, number), phases.child(number.into()).word()));
        }
    }
    loop {
        let now = clock.now();
        for prober in &mut probers {
            // What comes after the deadline is too late, even if it is there when one looks.
            let is_late = prober.probe.as_ref().is_some_and(|probe| probe.deadline <= now);
            if is_late && !prober.end(now, false, events) {
                return Ok(());
            }
        }
        for prober in &mut probers {
            if prober.next <= now && !prober.start(&check, now, events)? {
                return Ok(());
            }
        }
        let times =
            probers.iter().map(|it| it.probe.as_ref().map_or(it.next, |probe| probe.deadline.min(it.next)));
        let first = times.min().unwrap_or(SimTime::NEVER);
        for position in wait(clock, first, &probers)? {
            let now = clock.now();
            let prober = &mut probers[position];
            if let Some(success) = prober.look(now, check.wants_reply)
                && !prober.end(now, success, events)
            {
                return Ok(());
            }
        }
    }
}

/// Waits until `time`, or until something becomes of a probe; gives the probers of those.
fn wait(clock: Clock, time: SimTime, probers: &[Prober]) -> Result<Vec<usize>, LabError> {
    let under_way = probers.iter().enumerate().filter_map(|(at, it)| Some((at, it.probe.as_ref()?)));
    let (positions, mut descriptors): (Vec<usize>, Vec<PollFd<'_>>) = under_way
        .map(|(at, probe)| {
            let wanted = if probe.is_connected { PollFlags::IN } else { PollFlags::OUT };
            (at, PollFd::new(&probe.stream, wanted))
        })
        .unzip();
    clock.wait(time, &mut descriptors)?;
    let ready = positions.into_iter().zip(&descriptors).filter(|(_, it)| !it.revents().is_empty());
    Ok(ready.map(|(position, _)| position).collect())
}

impl Prober {
    fn new(check: &HealthChecking, (backend, number): (BackendId, u8), random: u64) -> Self {
        use crate::ids::Id;
        let interval = check.check_interval.as_nanos();
        let offset = match check.probers.phase {
            Phase::At(offset) => {
                let shift = interval * u64::from(number) / u64::from(check.probers.count.get());
                offset + SimDuration::from_nanos(shift)
            }
            Phase::Random => SimDuration::from_nanos(below(random, interval)),
        };
        let target = Host::Backend(backend.index()).address();
        Self { backend, number, target, next: SimTime::ZERO + offset, probe: None }
    }

    /// Sends the next probe; tells whether somebody listens.
    fn start(
        &mut self,
        check: &HealthChecking,
        now: SimTime,
        events: &Sender<Event>,
    ) -> Result<bool, LabError> {
        let deadline = self.next + check.timeout;
        self.next += check.check_interval;
        let Some(stream) = dial(Host::Probers.address(), self.target)? else {
            return Ok(self.end(now, false, events));
        };
        self.probe = Some(Probe { stream, deadline, is_connected: false, received: Vec::new() });
        Ok(true)
    }

    /// What has become of the probe, if that is certain.
    fn look(&mut self, now: SimTime, wants_reply: bool) -> Option<bool> {
        let probe = self.probe.as_mut().filter(|probe| now < probe.deadline)?;
        if !probe.is_connected {
            if is_connected(&probe.stream).is_err() {
                return Some(false);
            }
            if !wants_reply {
                return Some(true);
            }
            probe.is_connected = true;
            let sent = message::write(&mut probe.stream, &mut request(0, 0));
            return (sent == StreamState::Over).then_some(false);
        }
        match message::read(&mut probe.stream, &mut probe.received) {
            _ if sender(&probe.received).is_some() => Some(true),
            StreamState::Over => Some(false),
            StreamState::Open => None,
        }
    }

    /// Ends the probe under way; tells whether somebody listens.
    fn end(&mut self, at: SimTime, success: bool, events: &Sender<Event>) -> bool {
        self.probe = None;
        events.send(Event::Probed { backend: self.backend, prober: self.number, at, success }).is_ok()
    }
}
