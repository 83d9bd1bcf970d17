//! What the Compute API refuses, in the words of the file: fields are keys there.

use super::path::{KeyPath, Step};
use super::problem::{Problem, choice};
use crate::compute::{ApiError, Reason, Remedy};
use crate::time::SimDuration;

/// Tables of the file that are resources of the API, or calls of it.
const RESOURCES: [&str; 5] =
    ["backend_service", "target_pools", "forwarding_rule", "health_check", "operations"];
/// Their keys that are fields of the API. Other keys are zonesim's own.
const FIELDS: [&str; 17] = [
    "balancing_mode",
    "capacity_scaler",
    "connection_persistence_on_unhealthy_backends",
    "failover_ratio",
    "group",
    "ip_protocol",
    "load_balancing_scheme",
    "locality_lb_policy",
    "name",
    "network_security_integration",
    "policy",
    "protocol",
    "session_affinity",
    "spillover",
    "spillover_ratio",
    "tracking_mode",
    "type",
];

impl Problem {
    pub(super) fn of_resource(error: ApiError, path: &KeyPath) -> Self {
        let field = error.fields.first().copied().unwrap_or_default();
        let field = field.strip_prefix("networkPassThroughLbTrafficPolicy.").unwrap_or(field);
        let mut path = path.clone();
        let keys = field.split('.').filter(|field| !field.is_empty()).map(in_file);
        for (depth, key) in keys.enumerate() {
            path = path.key(&key);
            // Of a list it is about one member.
            if let Some(member) = error.member.filter(|_| depth == 0) {
                path = path.member(member as usize);
            }
        }
        Self::saying(error, path, "")
    }

    /// The API refuses the operation at `path`, which happens at time `at` and has the keys that `has` tells.
    pub(super) fn of_operation(
        error: ApiError,
        path: &KeyPath,
        at: SimDuration,
        has: impl Fn(&str) -> bool,
    ) -> Self {
        let key = |field: &&str| field.rsplit('.').next().map(in_file).filter(|key| has(key));
        let mut path = error.fields.iter().find_map(key).map_or(path.clone(), |key| path.key(&key));
        if let Some(member) = error.member {
            path = path.member(member as usize);
        }
        Self::saying(error, path, &format!(" at {at}"))
    }

    fn saying(error: ApiError, path: KeyPath, when: &str) -> Self {
        let note = error.reason.map(|reason| format!("the Compute API refuses this{when}: {reason}"));
        let separator = if error.is_of_field { "" } else { ":" };
        let help = match error.help {
            Remedy::Words(words) => in_file(&words),
            Remedy::Choose { found, what, known } => {
                choice(&found, what, &known.iter().map(String::as_str).collect::<Vec<_>>())
            }
        };
        Self { note, ..Self::new(path, format!("{separator} {}", error.what), Some(help)) }
    }

    pub(super) fn refused(self, reason: Reason) -> Self {
        Self { note: Some(format!("the Compute API refuses this: {reason}")), ..self }
    }

    /// A wrong value of a field of the API is `invalid` there too.
    pub(super) fn with_reason(self) -> Self {
        let key = |step: Option<&Step>, known: &[&str]| matches!(step, Some(Step::Key(key)) if known.contains(&key.as_str()));
        let steps = self.path.steps();
        if self.note.is_none() && !self.at_key && key(steps.first(), &RESOURCES) && key(steps.last(), &FIELDS)
        {
            return self.refused(Reason::Invalid);
        }
        self
    }
}

/// `text` with keys for the fields that it names: `idle_timeout` for `idleTimeoutSec`.
fn in_file(text: &str) -> String {
    let key = |part: &str| {
        let word = part.trim_end_matches(|c: char| !c.is_alphanumeric());
        // The API's fields that begin with capital letters.
        let capital = [("IPProtocol", "ip_protocol"), ("IPAddress", "ip_address")];
        if let Some((_, key)) = capital.into_iter().find(|(field, _)| *field == word) {
            return part.replace(word, key);
        }
        if !word.starts_with(char::is_lowercase) || !word.contains(char::is_uppercase) {
            return part.to_owned();
        }
        let letters = word.chars();
        let snake = letters.flat_map(|c| c.is_uppercase().then_some('_').into_iter().chain(c.to_lowercase()));
        format!("{}{}", snake.collect::<String>().trim_end_matches("_sec"), &part[word.len()..])
    };
    text.split_inclusive(|c: char| !c.is_alphanumeric()).map(key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_keys_in_a_file() {
        for (text, expected) in [
            ("idleTimeoutSec", "idle_timeout"),
            ("localityLbPolicy", "locality_lb_policy"),
            ("spillover", "spillover"),
            ("IPProtocol", "ip_protocol"),
            ("IPAddress", "ip_address"),
            (
                "write PER_SESSION, or isMirroringCollector = false",
                "write PER_SESSION, or is_mirroring_collector = false",
            ),
            (
                "make it at most 5s, the checkIntervalSec: \"é…\"",
                "make it at most 5s, the check_interval: \"é…\"",
            ),
        ] {
            assert_eq!(in_file(text), expected);
        }
    }
}
