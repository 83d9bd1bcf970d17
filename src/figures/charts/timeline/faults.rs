//! Warm-up and faults as shaded spans: each kind of fault has its shade, and each fault its ends and its name or number.

use super::Clock;
use crate::figures::mark::{PanelMark, ShadedSpan};
use crate::figures::style::Color;
use crate::metrics::unit::Unit;
use crate::results::Results;
use crate::results::setup::Fault;
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
/// The most faults in the remarks.
const MOST_REMARKS: usize = 8;

/// From when to when something is on.
type Window = (SimDuration, Option<SimDuration>);

/// The warm-up and the faults as shaded spans, as far as they are in view.
pub(super) fn spans(results: &Results, clock: &Clock, named: bool) -> Vec<PanelMark> {
    let (start, end) = clock.range;
    let at = |time: SimDuration| clock.at(time.as_secs_f64());
    let warmup = results.setup.simulation.warmup.map_or(0.0, at);
    let warmup = ShadedSpan { from: 0.0, to: warmup, label: String::new(), color: WARMUP, has_ends: false };
    let faults = &results.setup.faults;
    let name = |number: usize, fault: &Fault| match faults.len() > MOST_NAMED {
        true => (number + 1).to_string(),
        false => fault.kind.clone(),
    };
    let fault = faults.iter().enumerate().flat_map(|(number, fault)| {
        let seen = windows(results, clock, fault)
            .into_iter()
            .filter(move |(from, to)| at(*from) < end && to.is_none_or(|to| at(to) > start));
        let label = if named { name(number, fault) } else { String::new() };
        let color = color(results, &fault.kind);
        seen.enumerate().map(move |(window, (from, to))| ShadedSpan {
            from: at(from),
            to: to.map_or(end, at),
            label: if window == 0 { label.clone() } else { String::new() },
            color,
            has_ends: true,
        })
    });
    let seen = std::iter::once(warmup).chain(fault).filter(|span| span.from < end && span.to > start);
    let clipped = seen.map(|span| ShadedSpan { from: span.from.max(start), to: span.to.min(end), ..span });
    clipped.map(PanelMark::Span).collect()
}

/// The shades that are seen, with what they mean.
pub(super) fn legend(results: &Results, clock: &Clock) -> Vec<(String, Color)> {
    let spans = spans(results, clock, false);
    let is_seen = |color: Color| spans.iter().filter_map(PanelMark::as_span).any(|span| span.color == color);
    let kinds = kinds(results);
    let mut shades: Vec<(String, Color)> = Vec::new();
    for color in FAULTS.into_iter().filter(|color| is_seen(*color)) {
        let own: Vec<&str> =
            kinds.iter().copied().filter(|kind| self::color(results, kind) == color).collect();
        shades.push((format!("fault: {}", own.join(", ")), color));
    }
    if is_seen(WARMUP) {
        shades.push(("warm-up".to_owned(), WARMUP));
    }
    shades
}

/// What the faults are, and when.
pub(super) fn note(results: &Results, clock: &Clock) -> Option<String> {
    let faults = &results.setup.faults;
    let numbered = faults.len() > MOST_NAMED;
    let most = if numbered { MOST_REMARKS } else { MOST_NAMED };
    let texts: Vec<String> = faults.iter().take(most).map(|fault| words(results, clock, fault)).collect();
    let texts: Vec<String> = match numbered {
        true => texts.iter().enumerate().map(|(at, text)| format!("{} {text}", at + 1)).collect(),
        false => texts,
    };
    let more = faults.len().saturating_sub(most);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let changed = if results.setup.changes_faults() {
        " Arms or axes change them; shown are those of the file."
    } else {
        ""
    };
    (!texts.is_empty()).then(|| format!("Faults: {}{more}.{changed}", texts.join("; ")))
}

/// The kinds of faults, each once, as they first come.
fn kinds(results: &Results) -> Vec<&str> {
    let mut kinds: Vec<&str> = Vec::new();
    for fault in &results.setup.faults {
        if !kinds.contains(&fault.kind.as_str()) {
            kinds.push(&fault.kind);
        }
    }
    kinds
}

fn color(results: &Results, kind: &str) -> Color {
    let position = kinds(results).iter().position(|known| *known == kind).unwrap_or(0);
    FAULTS[position % FAULTS.len()]
}

fn windows(results: &Results, clock: &Clock, fault: &Fault) -> Vec<Window> {
    let last = SimDuration::from_nanos_f64(clock.range.1 * clock.seconds * 1e9);
    fault.windows(last, &results.setup.backend_service)
}

fn words(results: &Results, clock: &Clock, fault: &Fault) -> String {
    let name = format!("{} {}", fault.kind, fault.target.words());
    let time = |time: SimDuration| Unit::Number.text(clock.at(time.as_secs_f64()));
    let end = |to: Option<SimDuration>| to.map_or("end".to_owned(), time);
    match windows(results, clock, fault).as_slice() {
        [] => format!("{name} at random times, not shaded"),
        [(from, to)] => format!("{name} {}–{} {}", time(*from), end(*to), clock.unit),
        [(from, _), .., (_, to)] => format!("{name} flapping {}–{} {}", time(*from), end(*to), clock.unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::charts::timeline::figure;
    use crate::results::sample::SampleFolder;

    fn with_faults(text: &str) -> Results {
        let mut results = SampleFolder::one_cell().results();
        results.setup.faults = toml_edit::de::from_str::<crate::results::setup::Setup>(text).unwrap().faults;
        results
    }

    #[test]
    fn kinds_have_shades_of_their_own_and_more_than_three_faults_have_numbers() {
        let fault = |at: u32, kind: &str| {
            format!(
                "[[faults]]\nat = \"{at}m\"\nduration = \"2m\"\nkind = \"{kind}\"\ntarget = {{ zone = \"a\" }}\n"
            )
        };
        let text = [fault(5, "silent"), fault(7, "silent"), fault(8, "slow"), fault(5, "refuse")].concat();
        let figure = figure(&with_faults(&text)).unwrap();
        let spans: Vec<&ShadedSpan> = figure.panels[0].marks.iter().filter_map(PanelMark::as_span).collect();
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
        let faults = kinds.map(|kind| format!("[[faults]]\nat = \"9m\"\nkind = \"{kind}\"\n"));
        let figure = figure(&with_faults(&faults.concat())).unwrap();
        let keys: Vec<&str> = figure.legend.iter().map(|key| key.name.as_str()).collect();
        assert!(keys.contains(&"fault: silent, link_loss"), "{keys:?}");
    }

    #[test]
    fn a_flapping_fault_is_named_where_it_is_first_seen() {
        let text = "[[faults]]\nat = \"0s\"\nkind = \"slow\"\ntarget = { zone = \"a\" }\n\
                    flapping = { period = \"1m\", active = \"20s\" }\n";
        let figure = figure(&with_faults(text)).unwrap();
        let labels =
            figure.panels[0].marks.iter().filter_map(PanelMark::as_span).map(|span| span.label.as_str());
        assert_eq!(labels.filter(|label| !label.is_empty()).collect::<Vec<_>>(), ["slow"]);
    }

    #[test]
    fn faults_that_are_not_those_of_every_cell_are_said_to_be() {
        let mut results = SampleFolder::default().results();
        let said = |results: &Results| figure(results).unwrap().notes.join(" ").contains("change them");
        assert!(!said(&results));
        results.setup.sweep.insert("faults.0.target.fraction".to_owned(), serde::de::IgnoredAny);
        assert!(said(&results));
    }
}
