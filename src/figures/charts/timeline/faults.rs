//! Warm-up and faults as shaded spans: each kind of fault has its shade, and each fault its ends and its name or number.

use super::Clock;
use crate::answers::gather::distinct;
use crate::figures::mark::ShadedSpan;
use crate::figures::style::Color;
use crate::figures::{Key, KeySample};
use crate::metrics::unit::Unit;
use crate::results::description::FaultEntry;
use crate::results::{ResultCell, Results};
use crate::time::SimDuration;

/// The shades of kinds of faults, in the order in which they come.
const FAULTS: [Color; 5] = [
    Color(252, 231, 214),
    Color(222, 234, 250),
    Color(222, 242, 226),
    Color(240, 224, 244),
    Color(246, 240, 200),
];
pub(super) const WARMUP: Color = Color(240, 240, 240);
/// Up to so many faults stand under their names; more have numbers.
const MOST_NAMED: usize = 3;
const MOST_REMARKS: usize = 8;

/// From when to when something is on.
type Window = (SimDuration, Option<SimDuration>);

/// The warm-up and the faults of cell number `cell` as shaded spans, as far as they are in view.
pub(super) fn spans(results: &Results, cell: usize, clock: &Clock, named: bool) -> Vec<ShadedSpan> {
    let (start, end) = clock.range;
    let at = |time: SimDuration| clock.at(time.as_secs_f64());
    let timing = results.description.timing.get(cell);
    let warmup = timing.and_then(|timing| timing.warmup).map_or(0.0, at);
    let warmup = ShadedSpan { from: 0.0, to: warmup, label: String::new(), color: WARMUP, has_ends: false };
    let faults = results.description.faults_of(cell);
    let name = |number: usize, fault: &FaultEntry| match faults.len() > MOST_NAMED {
        true => (number + 1).to_string(),
        false => fault.words.kind.clone(),
    };
    let fault = faults.iter().enumerate().flat_map(|(number, fault)| {
        let seen = windows(clock, fault)
            .into_iter()
            .filter(move |(from, to)| at(*from) < end && to.is_none_or(|to| at(to) > start));
        let label = if named { name(number, fault) } else { String::new() };
        let color = color(results, &fault.words.kind);
        seen.enumerate().map(move |(window, (from, to))| ShadedSpan {
            from: at(from),
            to: to.map_or(end, at),
            label: if window == 0 { label.clone() } else { String::new() },
            color,
            has_ends: true,
        })
    });
    let seen = std::iter::once(warmup).chain(fault).filter(|span| span.from < end && span.to > start);
    seen.map(|span| ShadedSpan { from: span.from.max(start), to: span.to.min(end), ..span }).collect()
}

/// The shades that are seen, with what they mean.
pub(super) fn legend(results: &Results, cells: &[&ResultCell], clock: &Clock) -> Vec<Key> {
    let spans: Vec<ShadedSpan> =
        cells.iter().flat_map(|cell| spans(results, cell.number, clock, false)).collect();
    let is_seen = |color: Color| spans.iter().any(|span| span.color == color);
    let name = |shade: Color| match shade {
        WARMUP => "warm-up".to_owned(),
        shade => {
            let own = kinds(results).into_iter().filter(|kind| color(results, kind) == shade);
            format!("fault: {}", own.collect::<Vec<_>>().join(", "))
        }
    };
    let seen = FAULTS.into_iter().chain([WARMUP]).filter(|shade| is_seen(*shade));
    seen.map(|shade| Key { name: name(shade), sample: KeySample::Swatch(shade) }).collect()
}

/// What the faults of cell number `cell` are, and when.
pub(super) fn note(results: &Results, cell: usize, clock: &Clock) -> Option<String> {
    let faults = results.description.faults_of(cell);
    let numbered = faults.len() > MOST_NAMED;
    let most = if numbered { MOST_REMARKS } else { MOST_NAMED };
    let text = |(at, fault): (usize, &FaultEntry)| match numbered {
        true => format!("{} {}", at + 1, words(clock, fault)),
        false => words(clock, fault),
    };
    let texts: Vec<String> = faults.iter().take(most).enumerate().map(text).collect();
    let more = faults.len().saturating_sub(most);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let changed = match results.description.faults.values().len() {
        0 | 1 => "",
        _ => " Arms or axes change them; these are those of the first cell.",
    };
    (!texts.is_empty()).then(|| format!("Faults: {}{more}.{changed}", texts.join("; ")))
}

/// The kinds of faults of all cells, each once, as they first come.
fn kinds(results: &Results) -> Vec<&str> {
    distinct(results.description.faults.values().iter().flatten().map(|fault| fault.words.kind.as_str()))
}

fn color(results: &Results, kind: &str) -> Color {
    let position = kinds(results).iter().position(|known| *known == kind).unwrap_or(0);
    FAULTS[position % FAULTS.len()]
}

fn windows(clock: &Clock, fault: &FaultEntry) -> Vec<Window> {
    fault.windows(SimDuration::from_nanos_f64(clock.range.1 * clock.seconds * 1e9))
}

fn words(clock: &Clock, fault: &FaultEntry) -> String {
    let name = format!("{} {}", fault.words.kind, fault.words.target);
    let time = |time: SimDuration| Unit::Number.text(clock.at(time.as_secs_f64()));
    let end = |to: Option<SimDuration>| to.map_or("end".to_owned(), time);
    match windows(clock, fault).as_slice() {
        [] => format!("{name} at random times, not shaded"),
        [(from, to)] => format!("{name} {}–{} {}", time(*from), end(*to), clock.unit),
        [(from, _), .., (_, to)] => format!("{name} flapping {}–{} {}", time(*from), end(*to), clock.unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::PerCell;
    use crate::figures::charts::timeline::figure;
    use crate::results::description::FlappingEntry;
    use crate::results::sample::{SampleFolder, fault};

    fn with_faults(faults: Vec<FaultEntry>) -> Results {
        let mut results = SampleFolder::one_cell().results();
        results.description.faults = PerCell::uniform(faults);
        results
    }

    #[test]
    fn kinds_have_shades_of_their_own_and_more_than_three_faults_have_numbers() {
        let fault = |at, kind| fault(kind, "a", (at, Some(at + 120)));
        let faults =
            vec![fault(300, "silent"), fault(420, "silent"), fault(480, "slow"), fault(300, "refuse")];
        let figure = figure(&with_faults(faults)).unwrap();
        let spans: Vec<&ShadedSpan> = figure.panels[0].spans.iter().collect();
        let labels: Vec<&str> = spans.iter().map(|span| span.label.as_str()).collect();
        assert_eq!(labels, ["1", "2", "3", "4"]);
        assert!(spans.iter().all(|span| span.has_ends), "touching faults are told apart");
        assert_eq!(spans[0].color, spans[1].color);
        assert!(spans[0].color != spans[2].color && spans[2].color != spans[3].color);
        let keys: Vec<&str> = figure.legend.iter().map(|key| key.name.as_str()).collect();
        assert!(keys.ends_with(&["fault: silent", "fault: slow", "fault: refuse"]), "{keys:?}");
        let notes = figure.notes.join(" ");
        assert!(
            notes.contains("1 silent a 5–7 min; 2 silent a 7–9 min; 3 slow a 8–10 min; 4 refuse a 5–7"),
            "{notes}"
        );
    }

    #[test]
    fn more_kinds_than_shades_share_them_and_the_legend_says_which() {
        let kinds = ["silent", "refuse", "slow", "probe_block", "link_delay", "link_loss"];
        let figure = figure(&with_faults(kinds.map(|kind| fault(kind, "", (540, None))).to_vec())).unwrap();
        let keys: Vec<&str> = figure.legend.iter().map(|key| key.name.as_str()).collect();
        assert!(keys.contains(&"fault: silent, link_loss"), "{keys:?}");
    }

    #[test]
    fn a_flapping_fault_is_named_where_it_is_first_seen() {
        let [period, active] = [60, 20].map(SimDuration::from_secs);
        let flapping = Some(FlappingEntry { period, active });
        let slow = FaultEntry { flapping, ..fault("slow", "a", (0, None)) };
        let figure = figure(&with_faults(vec![slow])).unwrap();
        let labels = figure.panels[0].spans.iter().map(|span| span.label.as_str());
        assert_eq!(labels.filter(|label| !label.is_empty()).collect::<Vec<_>>(), ["slow"]);
    }

    #[test]
    fn faults_that_are_not_those_of_every_cell_are_shaded_where_they_are_and_said_to_differ() {
        let mut results = SampleFolder::default().results();
        let said = |results: &Results| figure(results).unwrap().notes.join(" ").contains("change them");
        assert!(!said(&results));
        let mut faults = PerCell::default();
        let kind = |cell: &ResultCell| if cell.number == 0 { "refuse" } else { "slow" };
        results
            .cells
            .iter()
            .for_each(|cell| faults.put(cell.number, vec![fault(kind(cell), "a", (600, Some(900)))]));
        results.description.faults = faults;
        assert!(said(&results));
        let figure = figure(&results).unwrap();
        let label = |panel: usize| figure.panels[panel].spans[0].label.clone();
        assert_eq!([label(0), label(1)], ["refuse", "slow"]);
        let keys = figure.legend.iter().filter(|key| key.name.starts_with("fault"));
        assert_eq!(keys.count(), 2, "both are in the legend");
    }
}
