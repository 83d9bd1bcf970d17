//! What a results folder shows: figures as plain data, the charts that are drawn from them, and the page.

pub mod charts;
pub mod draw;
pub mod figure;
pub mod markup;
pub mod page;
pub mod wording;
