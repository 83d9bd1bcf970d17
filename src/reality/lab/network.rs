//! The network of a laboratory: a namespace for each backend, each client group and the probers, all of them joined to the
//! load balancer's by a pair of virtual interfaces, and to nothing else.

use std::fs::{self, File};
use std::io::Write;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::LabError;

/// Every address of a laboratory lies in 198.18.0.0/15, which belongs to tests of networks alone (RFC 2544).
const LAB: (u32, u32) = (0xc612_0000, 0xfffe_0000);
/// The load balancer's end of every pair.
const GATEWAY: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
/// The hardware addresses of both ends of every pair. Each knows the other's from the beginning: what the kernel learns by
/// itself it keeps in one table for all namespaces of the machine, which is too small for many laboratories.
const GATEWAY_MAC: &str = "02:00:00:00:00:01";
const HOST_MAC: &str = "02:00:00:00:00:02";
/// The address of the forwarding rule.
pub(super) const VIP: Ipv4Addr = Ipv4Addr::new(198, 18, 255, 1);
/// The port that backends listen on.
pub(super) const PORT: u16 = 8080;

/// A place of the laboratory with a namespace of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Host {
    Backend(usize),
    Client(usize),
    Probers,
}

impl Host {
    /// The name of its namespace, and of the load balancer's interface to it.
    pub(super) fn name(self) -> String {
        match self {
            Self::Backend(number) => format!("b{number}"),
            Self::Client(number) => format!("c{number}"),
            Self::Probers => "probers".to_owned(),
        }
    }

    /// Its own address.
    pub(super) fn address(self) -> Ipv4Addr {
        let last = |number: usize| u8::try_from(number + 1).expect("a laboratory is small");
        match self {
            Self::Backend(number) => Ipv4Addr::new(198, 18, 1, last(number)),
            Self::Client(number) => Ipv4Addr::new(198, 18, 3, last(number)),
            Self::Probers => Ipv4Addr::new(198, 18, 2, 1),
        }
    }

    /// The addresses that it sends from, as nftables writes them.
    pub(super) fn sources(self) -> String {
        match self {
            Self::Client(_) => self.alias().expect("clients have addresses"),
            _ => self.address().to_string(),
        }
    }

    /// What it takes as its own beside its address.
    fn alias(self) -> Option<String> {
        match self {
            Self::Backend(_) => Some(format!("{VIP}/32")),
            Self::Client(number) => Some(format!("{}/20", client_address(number, 0))),
            Self::Probers => None,
        }
    }
}

/// The address number `address` of the client group number `client`.
pub(super) fn client_address(client: usize, address: u32) -> Ipv4Addr {
    let block = u32::try_from(client + 1).expect("a laboratory is small") << 12;
    Ipv4Addr::from(0xc613_0000 + block + address)
}

/// The number of the client group that `address` belongs to; nothing if it is nobody's.
pub(super) fn client_of(address: Ipv4Addr) -> Option<usize> {
    let beyond = u32::from(address).checked_sub(u32::from(client_address(0, 0)))?;
    usize::try_from(beyond >> 12).ok()
}

/// What marks packets that have to take the line to their backend first.
pub(super) const FAR_MARK: u32 = 0x100;

/// What hands such packets to the load balancer itself, as commands of `ip`. Those that it sends to the backends are marked
/// with these later; until then they need some route.
fn to_the_line() -> String {
    format!(
        "rule add fwmark {FAR_MARK:#x}/{FAR_MARK:#x} lookup 300\nroute add local {VIP} dev lo table 300\n\
         route add {VIP} dev lo\n"
    )
}

/// How often the kernel of a host sends a SYN again after 1 s before its wait doubles: `tcp_syn_linear_timeouts`. With 0 it
/// sends at 0, 1, 3, 7 s … (RFC 6298).
pub(super) type LinearTimeouts = u8;

/// Sets up the network between `hosts` and the load balancer, whose namespace is the caller's; with a way to the line if it
/// `has_distances`.
pub(super) fn build(hosts: &[(Host, LinearTimeouts)], has_distances: bool) -> Result<(), LabError> {
    run("mount", &["-t", "tmpfs", "tmpfs", "/run"], "")?;
    use_no_ipv6()?;
    let line = if has_distances { to_the_line() } else { String::new() };
    let links: String = hosts.iter().map(|(host, _)| link(*host)).collect();
    run("ip", &["-batch", "-"], &format!("link set lo up\n{links}{line}"))?;
    for name in ["net.ipv4.ip_forward=1", "net.ipv4.conf.all.rp_filter=0"] {
        set(name)?;
    }
    for (host, linear_timeouts) in hosts.iter().copied() {
        // Settings are those of whoever writes them.
        std::thread::spawn(move || enter(host).and_then(|()| configure(linear_timeouts)))
            .join()
            .expect("it does not panic")?;
        run("ip", &["-n", &host.name(), "-batch", "-"], &inside(host))?;
    }
    check(&|name| name == "lo" || hosts.iter().any(|(host, _)| host.name() == name))
}

/// What joins `host` to the load balancer, as commands of `ip`.
fn link(host: Host) -> String {
    let (name, address) = (host.name(), host.address());
    let routed = match host {
        Host::Backend(number) => {
            let table = number + 100;
            let mark = number + 1;
            format!(
                "route add {VIP} via {address} dev {name} table {table}\n\
                 rule add fwmark {mark} lookup {table}\n"
            )
        }
        Host::Client(_) => {
            format!("route add {} via {address} dev {name}\n", host.alias().expect("clients have addresses"))
        }
        Host::Probers => String::new(),
    };
    format!(
        "netns add {name}\n\
         link add {name} address {GATEWAY_MAC} type veth peer name eth0 address {HOST_MAC} netns {name}\n\
         addr add {GATEWAY}/32 peer {address}/32 dev {name}\nlink set {name} up\n\
         neigh add {address} lladdr {HOST_MAC} dev {name} nud permanent\n{routed}"
    )
}

/// What `host` is told of the network, as commands of `ip` in its namespace.
fn inside(host: Host) -> String {
    let alias = host.alias().map_or_else(String::new, |alias| match host {
        Host::Client(_) => format!("route add local {alias} dev lo\n"),
        _ => format!("addr add {alias} dev lo\n"),
    });
    format!(
        "link set lo up\naddr add {}/32 peer {GATEWAY}/32 dev eth0\n\
         link set eth0 gso_max_segs 1\nlink set eth0 up\n\
         neigh add {GATEWAY} lladdr {GATEWAY_MAC} dev eth0 nud permanent\n\
         route add 198.18.0.0/15 via {GATEWAY} dev eth0\n{alias}",
        host.address()
    )
}

fn configure(linear_timeouts: LinearTimeouts) -> Result<(), LabError> {
    let is_there = fs::metadata("/proc/sys/net/ipv4/tcp_syn_linear_timeouts").is_ok();
    // Kernels before 6.5 have no such thing, and always double.
    if is_there || linear_timeouts > 0 {
        set(&format!("net.ipv4.tcp_syn_linear_timeouts={linear_timeouts}"))?;
    }
    use_no_ipv6()?;
    set("net.ipv4.conf.all.rp_filter=0")
}

/// A laboratory speaks IPv4 alone: IPv6 would look for neighbours by itself.
fn use_no_ipv6() -> Result<(), LabError> {
    if fs::metadata("/proc/sys/net/ipv6").is_err() {
        return Ok(());
    }
    set("net.ipv6.conf.all.disable_ipv6=1").and_then(|()| set("net.ipv6.conf.default.disable_ipv6=1"))
}

/// Sets what `setting` says in the namespace of this thread: `name=value`.
pub(super) fn set(setting: &str) -> Result<(), LabError> {
    let (name, value) = setting.split_once('=').expect("a name and a value");
    let file = format!("/proc/sys/{}", name.replace('.', "/"));
    fs::write(&file, value).map_err(|error| LabError(format!("can't set {setting}: {error}")))
}

/// Moves this thread into the namespace of `host`, once nothing leads out of it.
pub(super) fn enter(host: Host) -> Result<(), LabError> {
    let path = format!("/run/netns/{}", host.name());
    let file = File::open(&path).map_err(|error| LabError(format!("can't open {path}: {error}")))?;
    let moved = move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network));
    moved.map_err(|error| LabError(format!("can't enter {path}: {error}")))?;
    check(&|name| name == "lo" || name == "eth0")
}

/// Checks that the namespace of this thread has no interfaces but those that `is_ours` knows, and no way to an address
/// that is not the laboratory's: nothing may leave the machine.
fn check(is_ours: &dyn Fn(&str) -> bool) -> Result<(), LabError> {
    let read = |file: &str| {
        let path = format!("/proc/thread-self/net/{file}");
        fs::read_to_string(&path).map_err(|error| LabError(format!("can't read {path}: {error}")))
    };
    let interfaces = read("dev")?;
    let mut names = interfaces.lines().skip(2).filter_map(|line| line.split_once(':'));
    if let Some((name, _)) = names.find(|(name, _)| !is_ours(name.trim())) {
        return Err(LabError(format!("the interface {} does not belong to the laboratory", name.trim())));
    }
    let routes = read("route")?;
    match routes.lines().skip(1).find(|line| leads_out(line)) {
        Some(line) => Err(LabError(format!("a route leads out of the laboratory: {line}"))),
        None => Ok(()),
    }
}

/// Whether `line` of `/proc/net/route` leads to an address that is not the laboratory's.
fn leads_out(line: &str) -> bool {
    let mut columns = line.split_whitespace();
    let mut number = |skipped| columns.nth(skipped).and_then(|text| u32::from_str_radix(text, 16).ok());
    let (Some(to), Some(mask)) = (number(1).map(u32::from_be), number(5).map(u32::from_be)) else {
        return true;
    };
    to & LAB.1 != LAB.0 || mask & LAB.1 != LAB.1
}

/// Runs a command with `input`; gives what it wrote.
pub(super) fn run(program: &str, arguments: &[&str], input: &str) -> Result<String, LabError> {
    let failed = |why: String| LabError(format!("`{program} {}` failed: {why}", arguments.join(" ")));
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let mut stdin = child.stdin.take().expect("it is piped");
    // Who ends early says why on standard error.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reality::limits::{ADDRESSES_MAX, BACKENDS_MAX, CLIENTS_MAX};

    #[test]
    fn routes_out_of_the_laboratory_are_seen() {
        let route = |to: [u8; 4], mask: [u8; 4]| {
            let [to, mask] = [to, mask].map(|it| format!("{:08X}", u32::from_be_bytes(it).to_be()));
            format!("eth0\t{to}\t0100A8C0\t0003\t0\t0\t0\t{mask}\t0\t0\t0")
        };
        for (to, mask, out) in [
            ([198, 18, 0, 0], [255, 254, 0, 0], false),
            ([198, 19, 16, 0], [255, 255, 240, 0], false),
            ([198, 18, 1, 1], [255, 255, 255, 255], false),
            ([0, 0, 0, 0], [0, 0, 0, 0], true),
            ([198, 0, 0, 0], [255, 0, 0, 0], true),
            ([10, 0, 0, 0], [255, 0, 0, 0], true),
            ([198, 20, 0, 0], [255, 255, 0, 0], true),
        ] {
            assert_eq!(leads_out(&route(to, mask)), out, "{to:?}");
        }
        assert!(leads_out("unknown"));
    }

    #[test]
    fn addresses_are_the_laboratorys_and_differ() {
        let hosts = (0..BACKENDS_MAX).map(Host::Backend).chain((0..CLIENTS_MAX).map(Host::Client));
        let own = hosts.chain([Host::Probers]).map(Host::address).chain([VIP, GATEWAY]);
        let ends =
            (0..CLIENTS_MAX).flat_map(|it| [0, ADDRESSES_MAX - 1].map(|last| client_address(it, last)));
        let mut all: Vec<Ipv4Addr> = own.chain(ends).collect();
        assert!(all.iter().all(|address| u32::from(*address) & LAB.1 == LAB.0), "{all:?}");
        for client in 0..CLIENTS_MAX {
            for last in [0, ADDRESSES_MAX - 1] {
                assert_eq!(client_of(client_address(client, last)), Some(client));
            }
        }
        assert_eq!([VIP, GATEWAY, Host::Probers.address()].map(client_of), [None; 3]);
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
