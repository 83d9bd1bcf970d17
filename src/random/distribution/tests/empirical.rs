//! Distributions that are given by points.

use super::*;
use crate::random::Bytes;
use crate::random::distribution::law::OtherLaw;

fn bytes(text: &str) -> Result<Distribution<Bytes>, String> {
    read(&format!("{{ empirical = {{ points = {text} }} }}"))
}

/// The error of `rows` as the text of the file `sizes.csv`.
fn file_error<Q: Quantity + std::fmt::Debug>(rows: &str) -> String {
    let text = toml_edit::Value::from(rows).to_string();
    read::<Q>(&format!("{{ empirical = {{ file = \"sizes.csv\", points = {text} }} }}")).unwrap_err()
}

/// The value below which the share `unit` of draws lies.
fn quantile<Q: Quantity>(law: &Distribution<Q>, unit: f64) -> f64 {
    match &law.law {
        Law::Other(OtherLaw::Empirical(curve)) => curve.value(unit),
        other => panic!("{other:?} has no points"),
    }
}

#[test]
fn points_follow_their_theory() {
    // A mass of 0.3 at 1 ms, a jump to 0.5 at 2 ms, a gap from 4 to 10 ms, and the rest up to 20 ms.
    let text = r#"{ empirical = { points = [["1ms", 0.3], ["2ms", 0.4], ["2ms", 0.5], ["4ms", 0.9], ["10ms", 0.9], ["20ms", 1]] } }"#;
    let law: Distribution<SimDuration> = read(text).unwrap();
    let pieces = [(0.3, 1.0, 1.0), (0.1, 1.0, 2.0), (0.1, 2.0, 2.0), (0.4, 2.0, 4.0), (0.1, 10.0, 20.0)];
    let mean: f64 = pieces.iter().map(|(share, low, high)| share * (low + high) / 2.0).sum();
    // E2 of a uniform piece is (low² + low high + high²) / 3.
    let second = pieces.iter().map(|(share, low, high)| share * (low * low + low * high + high * high) / 3.0);
    let variance = second.sum::<f64>() - mean * mean;
    assert!((law.mean() / 1e6 - mean).abs() < 1e-9);
    let draws = draws(text, &law, millis);
    check_moments(text, &draws, mean, Some(variance));
    let up_to = |x: f64| match x {
        x if x < 1.0 => 0.0,
        x if x < 2.0 => 0.3 + 0.1 * (x - 1.0),
        x if x < 4.0 => 0.5 + 0.2 * (x - 2.0),
        x if x < 10.0 => 0.9,
        x => 0.9 + 0.01 * (x - 10.0),
    };
    let before = |x: f64| match x {
        1.0 => 0.0,
        2.0 => 0.4,
        x => up_to(x),
    };
    let distance = ks_distance_with_atoms(draws, up_to, before);
    assert!(distance < KS_CRITICAL, "{distance}");
}

#[test]
fn values_between_points_are_interpolated() {
    let law = bytes("[[100, 0.2], [200, 0.6], [1000, 1.0]]").unwrap();
    for (unit, value) in
        [(1e-9, 100.0), (0.2, 100.0), (0.3, 125.0), (0.6, 200.0), (0.8, 600.0), (0.999_999_999, 1000.0)]
    {
        assert!((quantile(&law, unit) - value).abs() < 1e-5, "{unit}: {}", quantile(&law, unit));
    }
    assert_eq!(law.mean(), 0.2 * 100.0 + 0.4 * 150.0 + 0.4 * 600.0);
}

#[test]
fn shares_are_fractions_or_percentages() {
    let of = |text: &str| bytes(text).unwrap();
    let fractions = of("[[0, 0], [10, 0.25], [30, 1]]");
    for text in [
        "[[0, 0], [10, 25], [30, 100]]",
        "[[0, 0.0], [10, 0.25], [30, 1.0000000005]]",
        "[[0, 0.0], [10, 0.25], [30, 0.9999999995]]",
        "[[0, 0], [10, 25], [30, 99.99999995]]",
        "\"0 0\\n10 25\\n30 100\"",
    ] {
        for unit in [0.1, 0.25, 0.9] {
            let (found, expected) = (quantile(&of(text), unit), quantile(&fractions, unit));
            assert!((found - expected).abs() < 1e-7, "{text}, {unit}: {found}");
        }
    }
    // All draws are at most 1 % of the way: a lone share of 1 is a whole, not a percentage.
    assert_eq!(of("[[7, 1]]").mean(), 7.0);
    assert_eq!(of("[[7, 100]]").mean(), 7.0);
    assert_eq!(quantile(&of("[[7, 1]]"), 0.5), 7.0);
}

#[test]
fn rows_of_a_file_are_read() {
    let expected = bytes("[[0, 0], [1460, 0.5], [1e6, 1]]").unwrap();
    for rows in [
        "0,0\n1460,0.5\n1000000,1",
        "bytes,cdf\n0,0\n1460,0.5\n1000000,1\n",
        "# made up\n\n0\t0\n1460\t0.5\n1e6\t1\n",
        "flow size;share\n0;0\n1460;0.5\n1e6;1\n",
        "  0 0\n 1460   0.5   # a full packet\n1e6 1",
        "\u{feff}\"bytes\",\"cdf\"\r\n\"0\",\"0\"\r\n\"1460\",\"0.5\"\r\n1e6, 1\r\n",
    ] {
        let law = bytes(&toml_edit::Value::from(rows).to_string()).unwrap();
        assert_eq!(law.law, expected.law, "{rows}");
    }
}

#[test]
fn durations_without_a_unit_are_seconds() {
    let listed = r#"{ empirical = { points = [["0s", 0.0], ["70us", 0.5], ["2ms", 1.0]] } }"#;
    let listed: Distribution<SimDuration> = read(listed).unwrap();
    for rows in ["0 0\n0.00007 0.5\n0.002 1", "0s,0\n70us,0.5\n2 ms,1", "t,cdf\n0,0\n7e-05,0.5\n2ms,1"] {
        let text = toml_edit::Value::from(rows).to_string();
        let law: Distribution<SimDuration> =
            read(&format!("{{ empirical = {{ points = {text} }} }}")).unwrap();
        assert_eq!(law.law, listed.law, "{rows}");
    }
    // In a list, as everywhere else, a duration has a unit.
    let error = read::<SimDuration>("{ empirical = { points = [[0.1, 0.5], [0.2, 1.0]] } }").unwrap_err();
    assert!(error.contains("duration with a unit"), "{error}");
}

#[test]
fn counts_have_points_too() {
    let law: Distribution<Count> =
        read("{ empirical = { points = [[1, 60], [1, 75], [8, 75], [8, 100]] } }").unwrap();
    let counts = draws("counts", &law, |count| f64::from(count.0));
    assert!(counts.iter().all(|count| *count == 1.0 || *count == 8.0));
    check_moments("counts", &counts, 2.75, Some(0.25 * 0.75 * 49.0));
}

#[test]
fn the_same_seed_gives_the_same_draws() {
    let law = bytes("[[100, 0.2], [200, 0.6], [1000, 1.0]]").unwrap();
    let draw = |name: &str| draws(name, &law, |bytes| bytes.0 as f64);
    assert_eq!(draw("a"), draw("a"));
    assert_ne!(draw("a"), draw("b"));
}

#[test]
fn impossible_points_are_refused() {
    for (text, part) in [
        ("[]", "points: there are no points"),
        ("[[1, 0.5]]", "the shares end at 0.5"),
        ("[[1, 0.5], [2, 0.98]]", "the shares end at 0.98"),
        ("[[1, 0.5], [2, 98]]", "the shares end at 98"),
        ("[[1, 0.5], [2, 1.5]]", "the shares end at 1.5"),
        ("[[1, 0.5], [2, 101]]", "point 2: 101 is not a share"),
        ("[[1, -0.5], [2, 1]]", "point 1: -0.5 is not a share"),
        ("[[1, nan], [2, 1]]", "point 1: NaN is not a share"),
        ("[[5, 0.5], [2, 1]]", "point 2: the value 2 comes after 5"),
        ("[[1, 0.5], [2, 0.4], [3, 1]]", "point 2: the share 0.4 comes after 0.5"),
        ("[[-1, 0.5], [2, 1]]", "point 1: the value -1 is impossible"),
        ("[[inf, 1]]", "point 1: the value inf is impossible"),
        ("[1, 2]", "invalid type"),
        ("5", "a list of points"),
        ("\"\"", "points: there are no points"),
        ("\"1 0.5\\n2 x\"", "points, line 2: \"x\" is not a share"),
    ] {
        let error = bytes(text).unwrap_err();
        assert!(error.contains(part), "{text}: {error}");
    }
    for (text, part) in [
        ("{ empirical = {} }", "empirical has no points; write points"),
        ("{ empirical = { file = \"a.csv\" } }", "\"a.csv\" was not read"),
        ("{ empirical = { path = \"a.csv\" } }", "path"),
    ] {
        let error = read::<Bytes>(text).unwrap_err();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn wrong_rows_of_a_file_are_refused_by_their_line() {
    for (rows, part) in [
        ("", "sizes.csv: there are no points; write rows of a value and the share"),
        ("# nothing\n\nbytes,cdf\n", "sizes.csv: there are no points"),
        ("# made up\nbytes,cdf\n0,0\n10,0.5\n5,1\n", "sizes.csv:5: the value 5 comes after 10; sort"),
        ("0,0\n10,0.5\n15,0.25\n20,1", "sizes.csv:3: the share 0.25 comes after 0.5; write the share of all"),
        ("0,0\r\n10,0.5\r\n", "sizes.csv: the shares end at 0.5; let the last one be 1, or 100"),
        ("0\n10\n20", "sizes.csv:1: the row has 1 column(s); write two"),
        ("0,0\n10,0.5,7\n20,1", "sizes.csv:2: the row has 3 column(s)"),
        ("0,0\nten,0.5\n20,1", "sizes.csv:2: \"ten\" is not a number; write a number of bytes"),
        ("0,0\n10,half\n20,1", "sizes.csv:2: \"half\" is not a share"),
        ("0,0\nbytes,cdf\n20,1", "sizes.csv:2: \"bytes\" is not a number"),
        ("5x,0.y\n20,1", "sizes.csv:1: \"5x\" is not a number"),
        ("0,0\n-3,0.5\n20,1", "sizes.csv:2: the value -3 is impossible"),
        ("0,0\n5ms,0.5\n7ms,1", "sizes.csv:2: \"5ms\" is a duration, and a number of bytes is needed"),
        ("0,0\n1 460,0.5\n2000,1", "sizes.csv:2: \"1 460\" is not a number"),
    ] {
        let error = file_error::<Bytes>(rows);
        assert!(error.contains(part), "{rows}: {error}");
    }
    for (rows, part) in [
        ("0,0\n-3,0.5\n20,1", "sizes.csv:2: \"-3\" is negative"),
        ("0,0\n5 parsecs,0.5\n20,1", "sizes.csv:2: \"parsecs\" in \"5 parsecs\" is not a unit of time"),
        ("0,0\n5ms,0.5\n2ms,1", "sizes.csv:3: the value 2ms comes after 5ms"),
        ("0,0\n1e12,1", "sizes.csv:2: \"1e12\" is longer than a simulation can be"),
    ] {
        let error = file_error::<SimDuration>(rows);
        assert!(error.contains(part), "{rows}: {error}");
    }
}

#[test]
fn a_million_points_are_enough() {
    let rows = |count: usize| {
        (1..=count).map(|row| format!("{row} {}\n", row as f64 / count as f64)).collect::<String>()
    };
    let law = bytes(&toml_edit::Value::from(rows(1_000_000)).to_string()).unwrap();
    assert!((law.mean() - 500_000.0).abs() < 1e-3, "{}", law.mean());
    let error = file_error::<Bytes>(&rows(1_000_001));
    assert!(error.contains("sizes.csv:1000001: there are more than 1000000 points"), "{error}");
}
