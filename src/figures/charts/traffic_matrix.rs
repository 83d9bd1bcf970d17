//! Where the connections of each zone's clients go: a table per cell.

use std::collections::BTreeMap;

use super::{caption, cells, zones};
use crate::figures::mark::{HeatCell, PanelMark};
use crate::figures::{Figure, Panel, PanelAxis};
use crate::metrics::unit::Unit;
use crate::results::{ResultCell, Results};
use zones::Zones;

/// The least width and height of a table's cell in pixels.
const SMALLEST: (u32, u32) = (72, 44);

pub(super) fn figure(results: &Results) -> Option<Figure> {
    let from = zones::of(results, results.traffic.iter().map(|row| row.client_zone.as_str()));
    let to = zones::of(results, results.traffic.iter().map(|row| row.backend_zone.as_str()));
    if from.names.is_empty() {
        return None;
    }
    let selection = cells::representatives(results, cells::MOST_PANELS);
    let panels = selection.cells.iter().map(|cell| panel(results, cell, &from, &to)).collect::<Vec<_>>();
    let columns = cells::columns(panels.len());
    let rows = panels.len().div_ceil(columns) as u32;
    let mut figure = Figure::new("Where the connections of each zone’s clients go", panels, columns);
    figure.share_axes(true, true);
    figure.width = figure.width.max(columns as u32 * (to.names.len() as u32 * SMALLEST.0 + 60) + 280);
    figure.height = figure.height.max(rows * (from.names.len() as u32 * SMALLEST.1 + 60) + 340);
    figure.subtitle = caption::other(results, "share of a client zone’s connections by backend zone, sum of");
    figure.notes = selection.notes;
    figure.notes.extend(from.note);
    Some(figure)
}

fn panel(results: &Results, cell: &ResultCell, from: &Zones, to: &Zones) -> Panel {
    let mut sums: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    for row in results.traffic.iter().filter(|row| row.cell == cell.number) {
        *sums.entry((&row.client_zone, &row.backend_zone)).or_default() += row.connections.unwrap_or(0.0);
    }
    let mut heat = Vec::new();
    for (row, client_zone) in from.names.iter().enumerate() {
        let sum = |zone: &String| sums.get(&(client_zone.as_str(), zone.as_str())).copied().unwrap_or(0.0);
        let total: f64 = to.names.iter().map(sum).sum();
        for (column, backend_zone) in to.names.iter().enumerate() {
            let share = (total > 0.0).then(|| sum(backend_zone) / total);
            let text = share.map_or_else(|| "–".to_owned(), percent);
            heat.push(HeatCell { column: column as f64, row: row as f64, shade: share, text });
        }
    }
    let x = PanelAxis::categories("Zone of the backends", to.labels.clone());
    let y = PanelAxis::categories("Zone of the clients", from.labels.clone()).reversed();
    cells::panel(results, cell, x, y, vec![PanelMark::Heat(heat)])
}

/// A share with one decimal; what would round to nothing is not called nothing.
fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.0005 { "<0.1 %".to_owned() } else { Unit::Percent.tick(share, 0.01) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample::SampleFolder;

    #[test]
    fn the_shares_of_a_client_zone_add_up_to_one() {
        let figure = figure(&SampleFolder::default().results()).unwrap();
        let titles: Vec<_> = figure.panels.iter().map(|panel| panel.title.as_str()).collect();
        assert_eq!(titles, ["disabled", "stay", "spill 0.0", "spill 0.5", "spill 1.0"]);
        for panel in &figure.panels {
            let PanelMark::Heat(cells) = &panel.marks[0] else { panic!("a heat map") };
            assert_eq!(cells.len(), 9);
            for row in cells.chunks(3) {
                let sum: f64 = row.iter().filter_map(|cell| cell.shade).sum();
                assert!((sum - 1.0).abs() < 1e-9, "{sum}");
            }
        }
        let PanelMark::Heat(stay) = &figure.panels[1].marks[0] else { panic!("a heat map") };
        assert_eq!(stay[0].text, "100 %");
        assert_eq!(stay[1].text, "0 %");
    }

    #[test]
    fn what_never_reached_a_backend_and_who_sent_nothing_are_told_apart() {
        let mut results = SampleFolder::no_axis().results();
        results.traffic[0].backend_zone.clear();
        for row in results.traffic.iter_mut().filter(|row| row.client_zone.ends_with('b')) {
            row.connections = Some(0.0);
        }
        let figure = figure(&results).unwrap();
        let PanelMark::Heat(cells) = &figure.panels[0].marks[0] else { panic!("a heat map") };
        let crate::figures::Scale::Category(names) = &figure.panels[0].x.scale else { panic!("names") };
        assert_eq!(names, &["a", "b", "c", "no backend"]);
        assert_eq!((cells[4].shade, cells[4].text.as_str()), (None, "–"));
        assert_eq!(percent(0.0002), "<0.1 %");
    }
}
