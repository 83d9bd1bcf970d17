//! Sizes and weights of text, and how wide it gets.

use plotters::style::{FontDesc, FontFamily, FontStyle, register_font};

use super::encode::OVERSAMPLING;
use crate::figures::elide;
use crate::figures::style::Color;

const FAMILY: &str = "zonesim";
/// Plotters counts from the lowest to the highest letter; DejaVu's are this much more than its em.
const SIZE_PER_EM: f64 = 1.164;
/// The height of DejaVu's capital letters over its em.
const CAPITAL_PER_EM: f64 = 0.729;

/// How a text looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lettering {
    /// The em in finished pixels.
    pub(super) size: f64,
    pub(super) bold: bool,
    pub(super) color: Color,
}

pub(super) const TITLE: Lettering = Lettering { size: 36.0, bold: true, color: Color::INK };
pub(super) const SUBTITLE: Lettering = Lettering { size: 23.0, bold: false, color: Color::FAINT };
pub(super) const PANEL: Lettering = Lettering { size: 24.0, bold: true, color: Color::INK };
/// An axis' quantity and unit; legend entries.
pub(super) const LABEL: Lettering = Lettering { size: 24.0, bold: false, color: Color::INK };
pub(super) const TICK: Lettering = Lettering { size: 21.0, bold: false, color: Color::INK };
/// Words beside data.
pub(super) const ASIDE: Lettering = Lettering { size: 19.0, bold: false, color: Color::FAINT };
/// Remarks under the panels.
pub(super) const NOTE: Lettering = Lettering { size: 19.0, bold: false, color: Color::FAINT };

/// Makes the embedded font known to plotters; doing so again is harmless.
pub(super) fn register() {
    for (style, bytes) in
        [(FontStyle::Normal, dejavu::sans::regular()), (FontStyle::Bold, dejavu::sans::bold())]
    {
        assert!(register_font(FAMILY, style, bytes).is_ok(), "the embedded font is a font");
    }
}

impl Lettering {
    pub(super) fn font(self) -> FontDesc<'static> {
        let style = if self.bold { FontStyle::Bold } else { FontStyle::Normal };
        FontDesc::new(FontFamily::Name(FAMILY), self.device_size(), style)
    }

    pub(super) fn device_size(self) -> f64 {
        self.size * SIZE_PER_EM * f64::from(OVERSAMPLING)
    }

    /// The height of a capital letter in finished pixels.
    pub(super) fn capital(self) -> f64 {
        self.size * CAPITAL_PER_EM
    }

    /// The width of `text` in finished pixels.
    pub(super) fn width(self, text: &str) -> f64 {
        let ((left, _), (right, _)) = self.font().layout_box(text).expect("the font is registered");
        f64::from(right - left) / f64::from(OVERSAMPLING)
    }

    /// `text` with so much cut from its middle that it fits into `width`; nothing if no letter would be left.
    pub(super) fn fitted(self, text: &str, width: f64) -> String {
        let mut chars = text.chars().count();
        let mut fitted = text.to_owned();
        while chars > 1 && self.width(&fitted) > width {
            // Long texts are far off: go there in one step, then letter by letter.
            let estimate = (chars as f64 * width / self.width(&fitted)).floor() as usize + 1;
            chars = estimate.min(chars - 1);
            fitted = elide(text, chars);
        }
        if self.width(&fitted) > width || fitted == "…" { String::new() } else { fitted }
    }

    /// `text` in lines of at most `width`, broken between words.
    pub(super) fn wrapped(self, text: &str, width: f64) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for word in text.split_whitespace() {
            match lines.last_mut() {
                Some(line) if self.width(&format!("{line} {word}")) <= width => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => lines.push(self.fitted(word, width)),
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_to_fit_and_no_more() {
        register();
        let name = "a-name-that-nobody-should-ever-choose";
        assert_eq!(LABEL.fitted(name, 1000.0), name);
        let fitted = LABEL.fitted(name, 200.0);
        assert!(fitted.contains('…') && LABEL.width(&fitted) <= 200.0, "{fitted}");
        assert!(LABEL.width(&fitted) > 150.0, "{fitted} is cut too short");
        assert_eq!(LABEL.fitted(name, 3.0), "");
        assert_eq!(LABEL.fitted("1", 20.0), "1");
    }

    #[test]
    fn lines_are_broken_between_words() {
        register();
        let lines = NOTE.wrapped("one two three four five six seven eight nine ten", 200.0);
        assert!(lines.len() > 1 && lines.iter().all(|line| NOTE.width(line) <= 200.0), "{lines:?}");
        assert_eq!(lines.join(" "), "one two three four five six seven eight nine ten");
    }
}
