//! A client group: it opens connections when zonesim's own arrival process says so, by the TCP of the kernel.

use std::net::TcpStream;
use std::sync::mpsc::Sender;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;

use super::clock::Clock;
use super::dial::{dial, is_connected};
use super::message::{StreamState, read, request, sender, write};
use super::network::{Host, VIP, client_address, enter};
use super::{Event, LabError};
use crate::ids::{ClientId, Id};
use crate::random::{Purpose, RunSeed, Stream, below};
use crate::sim::outcome::FailureCause;
use crate::sim::scenario::{ClientGroup, Timing};
use crate::stats::Histogram;
use crate::time::{SimDuration, SimTime};

/// What became of a client group's connections.
#[derive(Debug, Default)]
pub(super) struct ClientRecord {
    /// By backend: those of the window that it completed.
    pub(super) completed: Vec<u64>,
    /// Those of the window that failed, by cause.
    pub(super) failed: [u64; FailureCause::ALL.len()],
    /// How long its clients did not know that.
    pub(super) failed_after: Histogram,
    pub(super) connect: Histogram,
    /// By backend: handshakes whose connections got a response.
    pub(super) connect_to: Vec<Histogram>,
    pub(super) request: Histogram,
}

/// The clients of one group.
pub(super) struct ClientHost<'a> {
    number: ClientId,
    group: &'a ClientGroup,
    timing: Timing,
    clock: Clock,
    draws: Stream,
    connections: Vec<Connection>,
    record: ClientRecord,
}

struct Connection {
    stream: TcpStream,
    started: SimTime,
    is_measured: bool,
    /// Requests that it has yet to make, the one under way included.
    requests: u32,
    state: State,
    /// When it gives up, or makes its next request.
    due: SimTime,
    /// When its request was sent; before, its SYN.
    sent: SimTime,
    unsent: Vec<u8>,
    received: Vec<u8>,
    wanted: usize,
    backend: u16,
    /// How long its handshake took, if that ended in the window and no response has said yet whose it was.
    connected_after: Option<SimDuration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Connecting,
    Requesting,
    Thinking,
}

/// How a connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    GoesOn,
    Completed,
    Failed(FailureCause),
}

impl<'a> ClientHost<'a> {
    pub(super) fn new(
        (number, group): (ClientId, &'a ClientGroup),
        timing: Timing,
        backends: usize,
        seed: RunSeed,
        clock: Clock,
    ) -> Self {
        Self {
            number,
            group,
            timing,
            clock,
            draws: seed.stream(Purpose::Connections, &group.name).generator(),
            connections: Vec::new(),
            record: ClientRecord {
                completed: vec![0; backends],
                connect_to: vec![Histogram::default(); backends],
                ..ClientRecord::default()
            },
        }
    }

    /// Opens connections until the window ends, and follows them to their ends.
    pub(super) fn run(mut self, seed: RunSeed, events: &Sender<Event>) -> Result<(), LabError> {
        enter(Host::Client(self.number.index()))?;
        let arrivals = seed.stream(Purpose::Arrivals, &self.group.name).generator();
        let end = self.timing.window_end();
        let mut arrivals =
            self.group.arrivals.start(arrivals).map_while(Result::ok).map(|arrival| arrival.at);
        let mut next = arrivals.next().filter(|at| *at < end);
        while next.is_some() || !self.connections.is_empty() {
            let now = self.clock.now();
            while let Some(at) = next.filter(|at| *at <= now) {
                self.open(at)?;
                next = arrivals.next().filter(|at| *at < end);
            }
            self.keep_time(now);
            let due = self.connections.iter().map(|it| it.due).chain(next);
            let Some(first) = due.min() else { continue };
            self.wait(first)?;
        }
        // Who does not listen any more has an error of its own to tell.
        let _ = events.send(Event::Ended { client: self.number, record: Box::new(self.record) });
        Ok(())
    }

    fn open(&mut self, at: SimTime) -> Result<(), LabError> {
        let address = below(rand::Rng::next_u64(&mut self.draws), self.group.addresses.get().into());
        let address =
            client_address(self.number.index(), u32::try_from(address).expect("a laboratory is small"));
        let started = self.clock.now();
        let is_measured = self.timing.is_measured(at);
        let Some(stream) = dial(address, VIP)? else {
            self.record.end(is_measured, (0, SimDuration::ZERO), Course::Failed(FailureCause::Refused));
            return Ok(());
        };
        self.connections.push(Connection {
            stream,
            started,
            is_measured,
            requests: self.group.connection.requests.sample(&mut self.draws).0,
            state: State::Connecting,
            due: started + self.group.connect_timeout,
            sent: started,
            unsent: Vec::new(),
            received: Vec::new(),
            wanted: 0,
            backend: 0,
            connected_after: None,
        });
        Ok(())
    }

    /// Does what is due at `now`.
    fn keep_time(&mut self, now: SimTime) {
        self.each(|connection, clients| {
            if connection.due > now {
                return Course::GoesOn;
            }
            match connection.state {
                State::Connecting => Course::Failed(FailureCause::ConnectTimeout),
                State::Requesting => Course::Failed(FailureCause::RequestTimeout),
                State::Thinking => connection.ask(clients),
            }
        });
    }

    /// Waits until `time`, or until something has come, and takes that.
    fn wait(&mut self, time: SimTime) -> Result<(), LabError> {
        let watched = self.connections.iter().map(|it| {
            let wanted = match it.state {
                State::Connecting => PollFlags::OUT,
                _ if it.unsent.is_empty() => PollFlags::IN,
                _ => PollFlags::IN | PollFlags::OUT,
            };
            PollFd::new(&it.stream, wanted)
        });
        let mut descriptors: Vec<PollFd<'_>> = watched.collect();
        self.clock.wait(time, &mut descriptors)?;
        let ready: Vec<bool> = descriptors.iter().map(|it| !it.revents().is_empty()).collect();
        let mut ready = ready.into_iter();
        self.each(|connection, clients| match ready.next() {
            Some(true) => connection.take(clients),
            _ => Course::GoesOn,
        });
        Ok(())
    }

    /// Has each connection go on as `step` says, and notes those that end.
    fn each(&mut self, mut step: impl FnMut(&mut Connection, &mut Self) -> Course) {
        let mut connections = std::mem::take(&mut self.connections);
        connections.retain_mut(|connection| {
            let course = step(connection, self);
            if course != Course::GoesOn {
                let waited = self.clock.now().since(connection.sent);
                self.record.end(connection.is_measured, (connection.backend, waited), course);
            }
            course == Course::GoesOn
        });
        self.connections = connections;
    }

    fn is_measuring(&self, now: SimTime) -> bool {
        self.timing.is_measured(now)
    }
}

impl Connection {
    /// Sends a request.
    fn ask(&mut self, clients: &mut ClientHost<'_>) -> Course {
        let profile = &clients.group.connection;
        let length = profile.request_bytes.sample(&mut clients.draws).0;
        let wanted = profile.response_bytes.sample(&mut clients.draws).0;
        self.unsent = request(length, wanted);
        self.wanted = super::message::lengths(&self.unsent).map_or(0, |(_, wanted)| wanted);
        self.received.clear();
        self.state = State::Requesting;
        self.sent = clients.clock.now();
        self.due = self.sent + clients.group.request_timeout;
        match write(&mut self.stream, &mut self.unsent) {
            StreamState::Open => Course::GoesOn,
            StreamState::Over => Course::Failed(FailureCause::Reset),
        }
    }

    /// Takes what has come.
    fn take(&mut self, clients: &mut ClientHost<'_>) -> Course {
        let now = clients.clock.now();
        if self.state == State::Connecting {
            return match is_connected(&self.stream) {
                Ok(()) => {
                    if clients.is_measuring(now) {
                        let took = now.since(self.started);
                        clients.record.connect.record(took.as_nanos());
                        self.connected_after = Some(took);
                    }
                    self.ask(clients)
                }
                Err(Errno::TIMEDOUT) => Course::Failed(FailureCause::ConnectTimeout),
                Err(_) => Course::Failed(FailureCause::Refused),
            };
        }
        let standing = read(&mut self.stream, &mut self.received);
        let is_answered = self.state == State::Requesting && self.received.len() >= self.wanted;
        if is_answered {
            return self.answered(now, clients);
        }
        if standing == StreamState::Over || write(&mut self.stream, &mut self.unsent) == StreamState::Over {
            return Course::Failed(FailureCause::Reset);
        }
        Course::GoesOn
    }

    fn answered(&mut self, now: SimTime, clients: &mut ClientHost<'_>) -> Course {
        if clients.is_measuring(now) {
            clients.record.request.record(now.since(self.sent).as_nanos());
        }
        self.backend = sender(&self.received).unwrap_or(self.backend);
        if let Some(took) = self.connected_after.take() {
            clients.record.connect_to[usize::from(self.backend)].record(took.as_nanos());
        }
        self.requests -= 1;
        if self.requests == 0 {
            return Course::Completed;
        }
        let think: SimDuration = clients.group.connection.think_time.sample(&mut clients.draws);
        if think.is_zero() {
            return self.ask(clients);
        }
        self.state = State::Thinking;
        self.due = now + think;
        Course::GoesOn
    }
}

impl ClientRecord {
    /// A connection is over, so long after the client asked last for something.
    fn end(&mut self, is_measured: bool, (backend, waited): (u16, SimDuration), course: Course) {
        match course {
            Course::Completed if is_measured => self.completed[usize::from(backend)] += 1,
            Course::Failed(cause) if is_measured => {
                self.failed[cause as usize] += 1;
                self.failed_after.record(waited.as_nanos());
            }
            _ => {}
        }
    }
}
