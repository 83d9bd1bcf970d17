//! What the panels leave unsaid: whose the numbers are, and when which faults came.

use super::{Clock, MOST_NAMED_FAULTS};
use crate::report::figure::unit::Unit;
use crate::report::results::Results;
use crate::time::SimDuration;

/// `notes` after and before the remarks on `results`.
pub(super) fn notes(results: &Results, mut notes: Vec<String>, clock: &Clock) -> Vec<String> {
    notes.insert(
        0,
        "Failures are by zone of the clients, everything else by zone of the backends.".to_owned(),
    );
    if results.timeline.iter().any(|row| row.failover_switches > Some(0.0)) {
        notes.push("Failover switches are those in a sample, of the whole load balancer.".to_owned());
    }
    let faults: Vec<String> = results
        .setup
        .faults
        .iter()
        .take(MOST_NAMED_FAULTS)
        .map(|fault| {
            let name = format!("{} {}", fault.kind, fault.target.words());
            let time = |time: SimDuration| Unit::Number.text(clock.at(time.as_secs_f64()));
            let last = SimDuration::from_nanos_f64(clock.range.1 * clock.seconds * 1e9);
            let windows = fault.windows(last, &results.setup.backend_service);
            match windows.as_slice() {
                [] => format!("{name} at random times, not shaded"),
                [(from, to)] => {
                    format!("{name} {}–{} {}", time(*from), to.map_or("end".to_owned(), time), clock.unit)
                }
                [(from, _), .., (_, to)] => {
                    let end = to.map_or("end".to_owned(), time);
                    format!("{name} flapping {}–{end} {}", time(*from), clock.unit)
                }
            }
        })
        .collect();
    if clock.bin > 1 {
        notes.push(format!("Points are means of {} samples, except of levels in steps.", clock.bin));
    }
    let more = results.setup.faults.len().saturating_sub(MOST_NAMED_FAULTS);
    if !faults.is_empty() {
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        notes.push(format!("Faults: {}{more}.", faults.join("; ")));
        if results.setup.changes_faults() {
            notes.push("Arms or axes change them; shown are those of the file.".to_owned());
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use serde::de::IgnoredAny;

    use super::super::figure;
    use super::*;
    use crate::report::results::sample::Sample as Folder;

    #[test]
    fn faults_that_are_not_those_of_every_cell_are_said_to_be() {
        let mut results = Folder::default().results();
        let said = |results: &Results| figure(results).unwrap().notes.join(" ").contains("change them");
        assert!(!said(&results));
        results.setup.sweep.insert("faults.0.target.fraction".to_owned(), IgnoredAny);
        assert!(said(&results));
    }
}
