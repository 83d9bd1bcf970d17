//! `warmup = "auto"`: where it may stand.

use super::{SMALL, changed, parse, refusal};
use crate::experiment::Overrides;
use crate::time::{SimDuration, SimTime};

fn auto() -> String {
    changed("warmup = \"1m\"", "warmup = \"auto\"")
}

#[test]
fn an_automatic_warm_up_counts_as_none_until_it_is_found() {
    let experiment = parse(&auto()).unwrap();
    assert!(experiment.finds_warmup() && !parse(SMALL).unwrap().finds_warmup());
    let timing = experiment.scenario(&experiment.cells()[0]).timing;
    assert_eq!(timing.window_start(), SimTime::ZERO);
    let settled = experiment.with_warmup(SimDuration::from_secs(90));
    assert_eq!(settled.scenario(&settled.cells()[0]).timing.warmup, SimDuration::from_secs(90));
    // A fault with a rhythm begins before the shortest window ends, or it is an error now.
    let late =
        auto().replace("at = \"5m\"", "at = \"10m\"\nflapping = { period = \"1m\", active = \"20s\" }");
    assert!(refusal(&late, &Overrides::default()).contains("the measured window ends at 10m"));
}

#[test]
fn it_holds_for_all_cells_and_needs_samples() {
    let axis =
        |value: &str| format!("\"simulation.warmup\" = [{value}]\n\"clients.web-a.addresses\" = [100, 200]");
    let with_axis =
        |text: &str, value| text.replace("\"clients.web-a.addresses\" = [100, 200]", &axis(value));
    let one = refusal(&with_axis(SMALL, "\"auto\", \"2m\""), &Overrides::default());
    assert!(one.contains("can't be \"auto\" for some cells") && one.contains("[simulation]"), "{one}");
    let other = refusal(&with_axis(&auto(), "\"1m\", \"2m\""), &Overrides::default());
    assert!(other.contains("finds one for all cells") && other.contains("keep one of the two"), "{other}");
    parse(&with_axis(SMALL, "\"1m\", \"2m\"")).unwrap();
    let coarse = auto().replace("seed = 7", "seed = 7\nsample_interval = \"15s\"");
    let error = refusal(&coarse, &Overrides::default());
    assert!(error.contains("`simulation.sample_interval`") && error.contains("at most \"12s\""), "{error}");
    parse(&coarse.replace("15s", "12s")).unwrap();
    let wrong = auto().replace("auto", "automatic");
    assert!(refusal(&wrong, &Overrides::default()).contains("simulation.warmup"));
}
