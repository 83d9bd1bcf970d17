//! The findings as a Markdown table.

use super::Finding;
use crate::metrics::unit::significant;

const HEAD: &str = "\
# Theory against simulation

`zonesim validate` made this file. Each row is a small world of which theory gives the exact answer. Simulated values are
ratios of sums over 20 or more replications at fixed seeds, with intervals of Student's t. An interval of 99 % misses the
exact value once in a hundred rows by chance; the tests hold every row to its interval of 99.9 %, and that to a width that
could fail.

| quantity | theory | simulated | 99 % interval | inside? | source |
|---|---|---|---|---|---|
";

/// The whole file: an introduction, and a row for each finding.
pub fn render(findings: &[Finding]) -> String {
    let inside = findings.iter().filter(|finding| finding.is_inside()).count();
    let rows: String = findings.iter().map(row).collect();
    format!("{HEAD}{rows}\n{inside} of {} inside.\n", findings.len())
}

pub(super) fn row(finding: &Finding) -> String {
    let Finding { name, source, theory, simulated, .. } = finding;
    let ends = match simulated.ends {
        Some((low, high)) => format!("{} to {}", number(low), number(high)),
        None => "–".to_owned(),
    };
    let inside = if finding.is_inside() { "yes" } else { "no" };
    let (theory, mean) = (number(*theory), number(simulated.mean));
    format!("| {name} | {theory} | {mean} | {ends} | {inside} | {source} |\n")
}

pub(super) fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    significant(value, 5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Interval;

    #[test]
    fn rows_show_five_digits_and_whether_theory_is_inside() {
        let interval = |half| Interval {
            n: 20,
            hit: 20,
            mean: 23.4,
            std_dev: Some(1.0),
            ends: Some((23.4 - half, 23.4 + half)),
        };
        let mut finding = Finding {
            name: "M/M/1: mean wait, ms".to_owned(),
            source: "a book",
            theory: 70.0 / 3.0,
            simulated: interval(0.1),
            wide: interval(0.15),
            bound: 0.01,
        };
        let text = row(&finding);
        assert_eq!(text, "| M/M/1: mean wait, ms | 23.333 | 23.400 | 23.300 to 23.500 | yes | a book |\n");
        assert!(finding.agrees());
        finding.bound = 0.001;
        assert!(!finding.agrees(), "too wide");
        finding.theory = 23.0;
        assert!(row(&finding).contains("| no |"));
        assert_eq!([number(0.0), number(0.012_345_678), number(-98_765.4)], ["0", "0.012346", "-98765"]);
    }
}
