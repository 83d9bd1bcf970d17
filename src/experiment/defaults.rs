//! Defaults that make load, where the file says nothing else.

use toml_edit::DocumentMut;

use super::Experiment;
use super::node::Node;
use crate::sim::scenario::{ClientGroup, Scenario, Server, Workers};
use crate::time::SimDuration;
use crate::workload::{ArrivalSpec, ConnectionProfile};

impl Experiment {
    /// A sentence for each default that decides how much work a connection is, and what serves it, in some cell.
    pub fn load_defaults(&self) -> Vec<String> {
        let Ok(document) = self.document().parse::<DocumentMut>() else { return Vec::new() };
        let root = Node::Table(document.as_table());
        let in_some_cell =
            |holds: &dyn Fn(&Scenario) -> bool| self.cells().iter().any(|cell| holds(&self.scenario(cell)));
        let mut lines = Vec::new();
        let profile = ConnectionProfile::default();
        let clients = root.get("clients").and_then(Node::members).unwrap_or_default();
        let silent = clients
            .into_iter()
            .filter(|client| client.get("connection").and_then(|profile| profile.get("requests")).is_none());
        // An arm may say it instead.
        let has_default = |client: &ClientGroup| {
            client.connection.requests == profile.requests
                && !matches!(client.arrivals, ArrivalSpec::Trace(_))
        };
        let names: Vec<&str> = silent
            .filter_map(|client| client.name_in("clients"))
            .filter(|name| {
                in_some_cell(&|it| {
                    it.clients.iter().any(|client| client.name == *name && has_default(client))
                })
            })
            .collect();
        if !names.is_empty() {
            let (names, mean) = (names.join(", "), profile.requests.mean());
            lines.push(format!(
                "a connection of {names} makes {mean} requests by default: set connection.requests to say how many"
            ));
        }
        lines.extend(server_defaults(root, &in_some_cell));
        lines
    }
}

fn server_defaults(root: Node<'_>, in_some_cell: &dyn Fn(&dyn Fn(&Scenario) -> bool) -> bool) -> Vec<String> {
    let default = Server::default();
    let has = |holds: &dyn Fn(&Server) -> bool| {
        in_some_cell(&|it| it.groups.iter().any(|group| holds(&group.server)))
    };
    let mut lines = Vec::new();
    if let Workers::Limited(workers) = default.workers
        && !is_written(root, "workers")
        && has(&|server| server.workers == default.workers)
    {
        lines.push(format!("backends have {workers} workers by default: set server.workers"));
    }
    if !is_written(root, "service_time") && has(&|server| server.service_time == default.service_time) {
        let mean = SimDuration::from_nanos_f64(default.service_time.mean());
        lines.push(format!(
            "backends serve a request in {mean} on average by default: set server.service_time"
        ));
    }
    lines
}

/// Whether some table of the tree has the key, or a path ends with it.
fn is_written(node: Node<'_>, key: &str) -> bool {
    let here =
        node.entries().any(|(name, child)| name.rsplit('.').next() == Some(key) || is_written(child, key));
    here || node.members().unwrap_or_default().into_iter().any(|member| is_written(member, key))
}
