//! Defaults that make load, where the file says nothing else.

use toml_edit::DocumentMut;

use super::Experiment;
use super::node::Node;

impl Experiment {
    /// A sentence for each default that decides how much work a connection is, and what serves it.
    pub fn load_defaults(&self) -> Vec<String> {
        let Ok(document) = self.document().parse::<DocumentMut>() else { return Vec::new() };
        let root = Node::Table(document.as_table());
        let mut lines = Vec::new();
        let clients = child(root, "clients").and_then(Node::members).unwrap_or_default();
        let silent = clients.into_iter().filter(|client| {
            child(*client, "connection").and_then(|profile| child(profile, "requests")).is_none()
        });
        let names: Vec<String> = silent.filter_map(|client| text(child(client, "name")?)).collect();
        if !names.is_empty() {
            lines.push(format!(
                "a connection of {} makes 3 requests by default: set connection.requests to say how many",
                names.join(", ")
            ));
        }
        for (key, what) in [("workers", "16 workers"), ("service_time", "a mean service time of 5 ms")] {
            if !is_written(root, key) {
                lines.push(format!("backends have {what} by default: set server.{key}"));
            }
        }
        lines
    }
}

fn child<'a>(node: Node<'a>, key: &str) -> Option<Node<'a>> {
    node.entries().find(|(name, _)| *name == key).map(|(_, child)| child)
}

fn text(node: Node<'_>) -> Option<String> {
    match node {
        Node::Scalar(value) => value.as_str().map(str::to_owned),
        _ => None,
    }
}

/// Whether some table of the tree has the key, or a path ends with it.
fn is_written(node: Node<'_>, key: &str) -> bool {
    let here = node
        .entries()
        .any(|(name, child)| name == key || name.rsplit('.').next() == Some(key) || is_written(child, key));
    here || node.members().unwrap_or_default().into_iter().any(|member| is_written(member, key))
}
