//! Target 1 alone: the light workload at three sizes. `cargo bench --bench light` prints connections a second as items a
//! second; `--bench peers` times it beside a bare loop.

mod common;

use common::{Light, simulate};
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};

use zonesim::cli::pages::use_large;

fn main() {
    use_large();
    divan::main();
}

#[divan::bench(args = [1_000, 100_000, 1_000_000], sample_count = 3, sample_size = 1)]
fn light(bencher: Bencher<'_, '_>, active: u32) {
    let experiment = Light::new(active).experiment();
    // Every run opens the same connections.
    bencher.counter(ItemsCount::new(simulate(&experiment).opened)).bench(|| black_box(simulate(&experiment)));
}
