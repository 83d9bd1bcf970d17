//! Drawn pixels to finished pixels to a PNG file.

use png::{BitDepth, ColorType, Compression, Encoder, Filter};

/// How many drawn pixels make one finished pixel, each way.
pub(super) const OVERSAMPLING: u32 = 3;

/// The steps that the colours at edges are rounded to. Nobody sees it, and files get a third smaller.
const STEP: u32 = 17;

/// Averages each square of drawn pixels into one finished pixel: this is what makes edges smooth.
pub(super) fn averaged(drawn: &[u8], width: u32) -> Vec<u8> {
    let factor = OVERSAMPLING as usize;
    let line = width as usize * factor * 3;
    let mut finished = Vec::with_capacity(drawn.len() / (factor * factor));
    for lines in drawn.chunks_exact(line * factor) {
        for left in (0..line).step_by(factor * 3) {
            let rows = lines.chunks_exact(line).map(|row| &row[left..left + factor * 3]);
            let pixels = rows.flat_map(|row| row.chunks_exact(3));
            let first = &lines[left..left + 3];
            // Nearly all of a chart is paper.
            if pixels.clone().all(|pixel| pixel == first) {
                finished.extend_from_slice(first);
            } else {
                finished.extend((0..3).map(|channel| rounded(pixels.clone().map(|pixel| pixel[channel]))));
            }
        }
    }
    finished
}

/// The mean in steps; an even square keeps its exact colour, an edge needs none.
fn rounded(values: impl Iterator<Item = u8>) -> u8 {
    let mean = values.map(u32::from).sum::<u32>() / (OVERSAMPLING * OVERSAMPLING);
    ((mean + STEP / 2) / STEP * STEP) as u8
}

pub(super) fn png(pixels: &[u8], width: u32, height: u32) -> Vec<u8> {
    const MEMORY: &str = "writing to memory can't fail, and the pixels are as many as the header says";
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, width, height);
    encoder.set_color(ColorType::Rgb);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(Compression::High);
    encoder.set_filter(Filter::NoFilter);
    let mut writer = encoder.write_header().expect(MEMORY);
    writer.write_image_data(pixels).expect(MEMORY);
    writer.finish().expect(MEMORY);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finished_pixels_are_averages() {
        let side = OVERSAMPLING as usize;
        let mut drawn = vec![255; side * side * 3 * 2];
        for line in drawn.chunks_mut(side * 3 * 2) {
            line[..side * 3].fill(10);
        }
        assert_eq!(averaged(&drawn, 2), [10, 10, 10, 255, 255, 255], "even areas keep their colour");
        drawn[..3].copy_from_slice(&[255, 10, 10]);
        assert_eq!(averaged(&drawn, 2), [34, 17, 17, 255, 255, 255], "edges are rounded");
    }
}
