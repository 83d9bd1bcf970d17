//! A backend: it takes each request as long as its service time says, with as many at once as come.

use std::io::Read;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::net::sockopt::set_socket_linger;

use super::LabError;
use super::clock::Clock;
use super::message::{StreamState, lengths, read, response, write};
use super::network::{Host, PORT, enter};
use crate::random::{Distribution, Stream};
use crate::time::{SimDuration, SimTime};

/// What a backend is told, as one byte each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Be killed: all connections are reset, and nobody listens.
    Die = b'd' as isize,
    /// Start again, without any connection.
    Start = b's' as isize,
}

/// How a backend serves.
pub(super) struct Backend {
    pub(super) number: usize,
    pub(super) service_time: Distribution<SimDuration>,
    pub(super) draws: Stream,
    pub(super) clock: Clock,
}

struct Served {
    stream: TcpStream,
    received: Vec<u8>,
    unsent: Vec<u8>,
    /// Responses that are being made: when each is done, and how long it is.
    due: Vec<(SimTime, usize)>,
}

impl Backend {
    /// Serves until `orders` ends.
    pub(super) fn serve(mut self, orders: &mut UnixStream) -> Result<(), LabError> {
        enter(Host::Backend(self.number))?;
        let mut listener = Some(listen()?);
        let mut served: Vec<Served> = Vec::new();
        loop {
            let now = self.clock.now();
            for it in &mut served {
                it.respond(now, self.number);
            }
            let next = served.iter().flat_map(|it| &it.due).map(|(done, _)| *done).min();
            let ready = wait(self.clock, next, orders, listener.as_ref(), &served)?;
            if ready[0] {
                match order(orders) {
                    Some(Order::Start) if listener.is_none() => listener = Some(listen()?),
                    Some(Order::Start) => {}
                    Some(Order::Die) => {
                        listener = None;
                        served.drain(..).for_each(|it| reset(&it.stream));
                        continue;
                    }
                    None => return Ok(()),
                }
            }
            let mut kept = ready[2..].iter();
            let now = self.clock.now();
            served.retain_mut(|it| !kept.next().is_some_and(|ready| *ready) || it.take(now, &mut self));
            if let (true, Some(listener)) = (ready[1], &listener) {
                accept(listener, &mut served)?;
            }
        }
    }
}

/// Waits for what comes first: an order, a connection, a request, or the end of a response's service. Tells which of them
/// are there, in this order.
fn wait(
    clock: Clock,
    next: Option<SimTime>,
    orders: &UnixStream,
    listener: Option<&TcpListener>,
    served: &[Served],
) -> Result<Vec<bool>, LabError> {
    let mut descriptors = vec![PollFd::new(orders, PollFlags::IN)];
    match listener {
        Some(listener) => descriptors.push(PollFd::new(listener, PollFlags::IN)),
        // Not to shift the rest; nothing is asked of it.
        None => descriptors.push(PollFd::new(orders, PollFlags::empty())),
    }
    descriptors.extend(served.iter().map(|it| {
        let writes = if it.unsent.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
        PollFd::new(&it.stream, PollFlags::IN | writes)
    }));
    clock.wait(next.unwrap_or(SimTime::NEVER), &mut descriptors)?;
    Ok(descriptors.iter().map(|it| !it.revents().is_empty()).collect())
}

impl Served {
    /// Sends the responses that are done.
    fn respond(&mut self, now: SimTime, backend: usize) {
        let number = u16::try_from(backend).expect("a laboratory is small");
        for (_, length) in self.due.extract_if(.., |(done, _)| *done <= now) {
            self.unsent.extend(response(length, number));
        }
        write(&mut self.stream, &mut self.unsent);
    }

    /// Takes what has come; tells whether the connection goes on.
    fn take(&mut self, now: SimTime, backend: &mut Backend) -> bool {
        let standing = read(&mut self.stream, &mut self.received);
        while let Some((length, wanted)) = lengths(&self.received).filter(|it| it.0 <= self.received.len()) {
            self.received.drain(..length);
            self.due.push((now + backend.service_time.sample(&mut backend.draws), wanted));
        }
        standing == StreamState::Open && write(&mut self.stream, &mut self.unsent) == StreamState::Open
    }
}

fn listen() -> Result<TcpListener, LabError> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT));
    let listener = listener.map_err(|error| LabError(format!("a backend can't listen: {error}")))?;
    listener.set_nonblocking(true).map_err(|error| LabError(format!("a backend can't listen: {error}")))?;
    Ok(listener)
}

fn accept(listener: &TcpListener, served: &mut Vec<Served>) -> Result<(), LabError> {
    while let Ok((stream, _)) = listener.accept() {
        let prepared = stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true));
        prepared.map_err(|error| LabError(format!("a backend can't take a connection: {error}")))?;
        served.push(Served { stream, received: Vec::new(), unsent: Vec::new(), due: Vec::new() });
    }
    Ok(())
}

/// Has the connection be reset when it is dropped, as when its process is killed in the middle of its work.
pub(super) fn reset(stream: &TcpStream) {
    // One that is over already needs none.
    let _ = set_socket_linger(stream, Some(Duration::ZERO));
}

fn order(orders: &mut UnixStream) -> Option<Order> {
    let mut byte = [0];
    orders.read_exact(&mut byte).ok()?;
    [Order::Die, Order::Start].into_iter().find(|order| *order as u8 == byte[0])
}
