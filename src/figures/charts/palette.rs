//! Which arm and which zone looks how. An arm looks the same in every chart.

use crate::figures::style::{Color, Dash, Marker, Style};
use crate::figures::{Key, KeySample};
use crate::results::Results;

/// Colours for zones, those first that arms seldom have.
const ZONES: [Color; 8] = [
    Color::GREEN,
    Color::PURPLE,
    Color::SKY,
    Color::VERMILLION,
    Color::BLACK,
    Color::BLUE,
    Color::ORANGE,
    Color::YELLOW,
];

/// The styles of the arms, in file order. No two share both colour and marker, as long as there are enough.
pub(super) fn arms(names: &[String]) -> Vec<Style> {
    let named: Vec<Option<Color>> = names.iter().map(|name| named(name)).collect();
    let free: Vec<Color> =
        Color::PALETTE.into_iter().filter(|color| !named.contains(&Some(*color))).collect();
    let mut unnamed = 0;
    let mut styles: Vec<Style> = Vec::new();
    for (position, named) in named.into_iter().enumerate() {
        let color = named.unwrap_or_else(|| {
            unnamed += 1;
            free[(unnamed - 1) % free.len()]
        });
        let taken =
            |marker: Marker| styles.iter().any(|style| (style.color, style.marker) == (color, Some(marker)));
        let turn = |step: usize| Marker::SERIES[(position + step) % Marker::SERIES.len()];
        let marker = (0..Marker::SERIES.len()).map(turn).find(|marker| !taken(*marker));
        styles.push(Style {
            color,
            marker: marker.or(Some(turn(0))),
            dash: Dash::ALL[position % Dash::ALL.len()],
            width: 3.2,
        });
    }
    styles
}

/// The arms as a legend shows them.
pub(super) fn legend(results: &Results, sample: fn(Style) -> KeySample) -> Vec<Key> {
    let key = |(name, style): (&String, Style)| Key { name: name.clone(), sample: sample(style) };
    results.arms.iter().zip(arms(&results.arms)).map(key).collect()
}

fn named(name: &str) -> Option<Color> {
    [("disabled", Color::GREY), ("stay", Color::BLUE), ("spill", Color::ORANGE)]
        .into_iter()
        .find_map(|(word, color)| name.to_lowercase().contains(word).then_some(color))
}

pub(super) fn zone(position: usize) -> Style {
    Style {
        color: ZONES[position % ZONES.len()],
        marker: None,
        dash: Dash::ALL[position % Dash::ALL.len()],
        width: 2.8,
    }
}

/// The style for cell `at` of the `count` cells of one arm that are shown: the later, the stronger.
pub(super) fn tinted(style: Style, at: usize, count: usize) -> Style {
    let white = if count > 1 { 0.6 * (1.0 - at as f64 / (count - 1) as f64) } else { 0.0 };
    Style { color: style.color.mixed(Color::WHITE, white), ..style }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn styles(names: &[&str]) -> Vec<Style> {
        arms(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn known_arms_have_their_colours() {
        let colors: Vec<_> =
            styles(&["disabled", "other", "stay", "spill"]).iter().map(|style| style.color).collect();
        assert_eq!(colors, [Color::GREY, Color::GREEN, Color::BLUE, Color::ORANGE]);
        assert_eq!(styles(&["base"])[0].color, Color::BLUE);
    }

    #[test]
    fn no_two_arms_look_the_same() {
        let names: Vec<String> = (0..40).map(|at| format!("arm-{at}")).chain(["spill-3".into()]).collect();
        let names: Vec<&str> = ["spill-1", "spill-2"].into_iter().chain(names.iter().map(|n| &**n)).collect();
        let mut looks: Vec<_> = styles(&names).iter().map(|style| (style.color, style.marker)).collect();
        looks.sort();
        looks.dedup();
        assert_eq!(looks.len(), names.len());
    }
}
