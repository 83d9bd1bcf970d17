//! What a series looks like: colour, marker and line style, each of which tells it apart alone.
//!
//! Colours are those of Okabe and Ito, "Color Universal Design" (2008), which the colour-blind can tell apart too.

/// A colour: red, green, blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Color(pub u8, pub u8, pub u8);

impl Color {
    pub const WHITE: Self = Self(255, 255, 255);
    pub const INK: Self = Self(34, 34, 34);
    /// Lesser text and annotations.
    pub const FAINT: Self = Self(96, 96, 96);
    /// Not of the palette: what is switched off.
    pub const GREY: Self = Self(128, 128, 128);
    pub const BLUE: Self = Self(0, 114, 178);
    pub const ORANGE: Self = Self(230, 159, 0);
    pub const GREEN: Self = Self(0, 158, 115);
    pub const VERMILLION: Self = Self(213, 94, 0);
    pub const PURPLE: Self = Self(204, 121, 167);
    pub const SKY: Self = Self(86, 180, 233);
    pub const BLACK: Self = Self(0, 0, 0);
    // The hardest to see on white.
    pub const YELLOW: Self = Self(240, 228, 66);

    /// The palette in the order in which it is given out.
    pub const PALETTE: [Self; 8] = [
        Self::BLUE,
        Self::ORANGE,
        Self::GREEN,
        Self::VERMILLION,
        Self::PURPLE,
        Self::SKY,
        Self::BLACK,
        Self::YELLOW,
    ];

    /// This colour with `share` of it replaced by `other`.
    pub fn mixed(self, other: Self, share: f64) -> Self {
        let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * share).round() as u8;
        Self(mix(self.0, other.0), mix(self.1, other.1), mix(self.2, other.2))
    }
}

/// The shape at a data point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Marker {
    Circle,
    Square,
    Triangle,
    /// A square on its corner.
    Diamond,
    /// A triangle that points down.
    Wedge,
    Pentagon,
    Plus,
    /// An open circle around other marks.
    Ring,
}

impl Marker {
    /// The markers that series are told apart by, in the order in which they are given out.
    pub const SERIES: [Self; 7] =
        [Self::Circle, Self::Square, Self::Triangle, Self::Diamond, Self::Wedge, Self::Pentagon, Self::Plus];
}

/// The pattern of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dash {
    Solid,
    Dashed,
    Dotted,
    /// Dashes and dots in turn.
    Alternating,
    Long,
}

impl Dash {
    /// Every pattern, in the order in which they are given out.
    pub const ALL: [Self; 5] = [Self::Solid, Self::Dashed, Self::Alternating, Self::Dotted, Self::Long];
}

/// What a series looks like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Style {
    pub color: Color,
    pub marker: Option<Marker>,
    pub dash: Dash,
    /// The width of the line in pixels; markers grow with it.
    pub width: f64,
}

impl Style {
    /// A line without markers.
    pub fn line(color: Color, width: f64) -> Self {
        Self { color, marker: None, dash: Dash::Solid, width }
    }
}
