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
        self.request_default(root).into_iter().chain(self.server_defaults(root)).collect()
    }

    fn request_default(&self, root: Node<'_>) -> Option<String> {
        let requests = ConnectionProfile::default().requests;
        // An arm may say it instead.
        let has_default = |client: &ClientGroup| {
            client.connection.requests == requests && !matches!(client.arrivals, ArrivalSpec::Trace(_))
        };
        let is_silent =
            |client: &Node<'_>| client.get("connection").and_then(|it| it.get("requests")).is_none();
        let clients = root.get("clients").and_then(Node::members)?.into_iter().filter(is_silent);
        let names = clients.filter_map(|client| client.name_in("clients")).filter(|name| {
            self.has_cell(|it| it.clients.iter().any(|client| client.name == *name && has_default(client)))
        });
        let names: Vec<&str> = names.collect();
        (!names.is_empty()).then(|| {
            let (names, mean) = (names.join(", "), requests.mean());
            format!(
                "a connection of {names} makes {mean} requests by default: set connection.requests to say how many"
            )
        })
    }

    fn server_defaults(&self, root: Node<'_>) -> Vec<String> {
        let default = Server::default();
        let has = |key: &str, holds: &dyn Fn(&Server) -> bool| {
            !is_written(root, key) && self.has_cell(|it| it.groups.iter().any(|group| holds(&group.server)))
        };
        let mut lines = Vec::new();
        if let Workers::Limited(workers) = default.workers
            && has("workers", &|server| server.workers == default.workers)
        {
            lines.push(format!("backends have {workers} workers by default: set server.workers"));
        }
        if has("service_time", &|server| server.service_time == default.service_time) {
            let mean = SimDuration::from_nanos_f64(default.service_time.mean());
            lines.push(format!(
                "backends serve a request in {mean} on average by default: set server.service_time"
            ));
        }
        lines
    }

    fn has_cell(&self, holds: impl Fn(&Scenario) -> bool) -> bool {
        self.cells().iter().any(|cell| holds(&self.scenario(cell)))
    }
}

/// Whether some table of the tree has the key, or a path ends with it.
fn is_written(node: Node<'_>, key: &str) -> bool {
    let here =
        node.entries().any(|(name, child)| name.rsplit('.').next() == Some(key) || is_written(child, key));
    here || node.members().unwrap_or_default().into_iter().any(|member| is_written(member, key))
}
