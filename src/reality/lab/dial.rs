//! Opening a connection without waiting for it.

use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};

use rustix::io::Errno;
use rustix::net::sockopt::{set_tcp_nodelay, socket_error};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};

use super::LabError;
use super::network::PORT;

/// Sends a SYN from `source` to `target`; gives the stream, or nothing if it was refused at once.
pub(super) fn dial(source: Ipv4Addr, target: Ipv4Addr) -> Result<Option<TcpStream>, LabError> {
    let failed = |error: Errno| LabError(format!("can't connect from {source} to {target}: {error}"));
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).map_err(failed)?;
    set_tcp_nodelay(&socket, true).map_err(failed)?;
    bind(&socket, &SocketAddrV4::new(source, 0)).map_err(failed)?;
    match connect(&socket, &SocketAddrV4::new(target, PORT)) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(Some(socket.into())),
        Err(Errno::CONNREFUSED) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// Whether the stream that poll says is ready got its handshake.
pub(super) fn is_connected(stream: &TcpStream) -> Result<(), Errno> {
    socket_error(stream).unwrap_or_else(Err)
}
