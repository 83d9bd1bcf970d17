//! Paper of shapes: an SVG file whose text stays text.

use std::cell::RefCell;

use super::canvas::{Align, Canvas, Rect, Spot, pattern};
use super::lettering::Lettering;
use crate::figures::markup::escaped;
use crate::figures::style::{Color, Style};

/// The chart font, then one that is as wide, then those that are narrower, so that nothing runs out of its place.
const FONTS: &str = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif";

/// Shapes as SVG elements, in drawing order.
#[derive(Debug, Default)]
pub(super) struct Drawing {
    /// A canvas is shared by all that draw on it.
    elements: RefCell<String>,
}

impl Canvas for Drawing {
    fn polygon(&self, corners: &[Spot], color: Color, opacity: f64) {
        let corners: Vec<Tenths> = corners.iter().copied().map(tenths).collect();
        self.add(&format!("<polygon points=\"{}\"{}/>", points(&corners), fill(color, opacity)));
    }

    fn rect(&self, rect: Rect, color: Color, opacity: f64) {
        let (left, top) = (rect.left.min(rect.right), rect.top.min(rect.bottom));
        let [x, y, width, height] = [left, top, rect.width().abs(), rect.height().abs()].map(number);
        let fill = fill(color, opacity);
        self.add(&format!("<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"{fill}/>"));
    }

    fn disc(&self, (x, y): Spot, radius: f64, color: Color) {
        let [x, y, radius] = [x, y, radius].map(number);
        self.add(&format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"{}/>", fill(color, 1.0)));
    }

    fn line(&self, spots: &[Spot], style: Style) {
        let spots = straightened(spots);
        if spots.len() < 2 {
            return;
        }
        let dashes: Vec<String> =
            pattern(style.dash).iter().map(|length| number(length * style.width)).collect();
        let dashes = match dashes[..] {
            [] => String::new(),
            _ => format!(" stroke-dasharray=\"{}\"", dashes.join(" ")),
        };
        let (points, color, width) = (points(&spots), hex(style.color), number(style.width));
        self.add(&format!(
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{width}\"{dashes}/>"
        ));
    }

    fn write(&self, text: &str, (x, y): Spot, lettering: Lettering, align: Align) {
        if text.is_empty() {
            return;
        }
        let (x, y) = (number(x), number(y));
        let place = match align {
            Align::Left => format!("x=\"{x}\" y=\"{y}\""),
            Align::Center => format!("x=\"{x}\" y=\"{y}\" text-anchor=\"middle\""),
            Align::Right => format!("x=\"{x}\" y=\"{y}\" text-anchor=\"end\""),
            Align::Upwards => format!("transform=\"translate({x} {y}) rotate(-90)\" text-anchor=\"middle\""),
        };
        let weight = if lettering.bold { " font-weight=\"bold\"" } else { "" };
        let (size, fill) = (number(lettering.size), fill(lettering.color, 1.0));
        self.add(&format!("<text {place} font-size=\"{size}\"{weight}{fill}>{}</text>", escaped(text)));
    }
}

impl Drawing {
    fn add(&self, element: &str) {
        let mut elements = self.elements.borrow_mut();
        elements.push_str(element);
        elements.push('\n');
    }

    /// The whole image, of which the part from `top` down to `height` is in view; `alt` says in words what it shows. A file
    /// names its language, an element of a page does not.
    pub(super) fn svg(self, width: u32, top: u32, height: u32, alt: &str) -> String {
        let (alt, shown) = (escaped(alt), height - top);
        let language = if top == 0 { " xmlns=\"http://www.w3.org/2000/svg\"" } else { "" };
        format!(
            "<svg{language} viewBox=\"0 {top} {width} {shown}\" width=\"{width}\" \
             height=\"{shown}\" role=\"img\" aria-label=\"{alt}\" font-family=\"{FONTS}\" \
             stroke-linejoin=\"round\">\n<rect y=\"{top}\" width=\"{width}\" height=\"{shown}\" fill=\"#ffffff\"/>\n\
             {}</svg>\n",
            self.elements.into_inner()
        )
    }
}

/// A spot in tenths of a pixel: nobody sees less.
type Tenths = (i64, i64);

fn tenths((x, y): Spot) -> Tenths {
    ((x * 10.0).round() as i64, (y * 10.0).round() as i64)
}

/// The spots without those that lie straight between their neighbours.
fn straightened(spots: &[Spot]) -> Vec<Tenths> {
    let mut kept: Vec<Tenths> = Vec::with_capacity(spots.len());
    for spot in spots.iter().copied().map(tenths) {
        if let [.., before, last] = kept[..] {
            let (ax, ay) = (last.0 - before.0, last.1 - before.1);
            let (bx, by) = (spot.0 - last.0, spot.1 - last.1);
            if ax * by == ay * bx && ax * bx + ay * by >= 0 {
                kept.pop();
            }
        }
        if kept.last() != Some(&spot) {
            kept.push(spot);
        }
    }
    kept
}

fn points(spots: &[Tenths]) -> String {
    let text = |(x, y): &Tenths| format!("{},{}", number(*x as f64 / 10.0), number(*y as f64 / 10.0));
    spots.iter().map(text).collect::<Vec<_>>().join(" ")
}

/// A length with at most one decimal.
fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

fn fill(color: Color, opacity: f64) -> String {
    let opacity = if opacity < 1.0 { format!(" fill-opacity=\"{opacity}\"") } else { String::new() };
    format!(" fill=\"{}\"{opacity}", hex(color))
}

fn hex(color: Color) -> String {
    format!("#{:02x}{:02x}{:02x}", color.0, color.1, color.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn straight_stretches_keep_their_ends_only() {
        let level = [(0.0, 1.0), (1.0, 1.0), (1.0, 1.0), (2.0, 1.0), (2.0, 3.0), (2.0, 2.0)];
        assert_eq!(straightened(&level), [(0, 10), (20, 10), (20, 30), (20, 20)]);
        assert_eq!(straightened(&[(5.0, 5.0), (5.0, 5.0)]), [(50, 50)]);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.04, -0.04, 12.0, 3.25, -1.5].map(number), ["0", "0", "12", "3.2", "-1.5"]);
    }
}
