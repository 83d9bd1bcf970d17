//! Searches of made-up lines, of which the answer is known.

use super::*;

/// Eight replications of `value` with a little noise that every value shares.
fn point(value: f64) -> TriedValue {
    let noise = [0.01, -0.02, 0.015, 0.0, -0.01, 0.02, -0.015, 0.005];
    let near = |noise: f64| Some(Observation::Value(value * (1.0 + 0.1 * noise)));
    TriedValue { health_varies: true, strata: None, observations: vec![noise.map(near).to_vec()] }
}

/// Asks until there is an answer; every position that is asked for gets the value of `metric`.
fn search(question: &Question, metric: impl Fn(usize) -> f64) -> (LineAnswer, SearchedLine) {
    let mut line = SearchedLine { name: "x".to_owned(), ..SearchedLine::default() };
    loop {
        match question.ask(&line) {
            Sought::Found(answer) => return (answer, line),
            Sought::Missing(positions) => {
                assert!(!positions.is_empty());
                line.points.extend(positions.into_iter().map(|at| (at, point(metric(at)))));
                assert!(line.points.len() <= question.steps_max());
            }
        }
    }
}

fn boundary(constraint: &str) -> Question {
    Question::new(Goal::Boundary(vec![constraint.parse().unwrap()]), 101).unwrap()
}

fn best(metric: &str, maximize: Option<bool>) -> Question {
    Question::new(Goal::best(metric, maximize).unwrap(), 101).unwrap()
}

#[test]
fn a_boundary_is_found_with_confidence_from_either_side() {
    let (answer, _) = search(&boundary("request_p99_ms<=50"), |at| 10.0 + at as f64);
    let LineOutcome::Between { inside, beyond } = &answer.outcome else { panic!("{answer:?}") };
    // At 40 the estimate is the limit itself: half of its interval lies beyond.
    assert_eq!((inside.at, beyond.at), (39, 40));
    let standings = [standing(&inside.checks), standing(&beyond.checks)];
    assert_eq!(standings, [ConstraintStanding::Kept, ConstraintStanding::Undecided]);
    assert!(inside.checks[0].ends.unwrap().1 <= 50.0);
    assert!(answer.turns.is_empty() && answer.strays.is_empty());

    let (answer, _) = search(&boundary("request_p99_ms<=50"), |at| 110.0 - at as f64);
    let LineOutcome::Between { inside, beyond } = &answer.outcome else { panic!("{answer:?}") };
    assert_eq!((inside.at, beyond.at), (61, 60));
}

#[test]
fn ends_that_are_alike_are_said_to_be() {
    let (answer, line) = search(&boundary("request_p99_ms<=500"), |at| 10.0 + at as f64);
    assert!(matches!(answer.outcome, LineOutcome::Everywhere(_)) && line.points.len() == 2);
    let (answer, _) = search(&boundary("request_p99_ms<=5"), |at| 10.0 + at as f64);
    assert!(matches!(answer.outcome, LineOutcome::Nowhere(_)), "{answer:?}");
}

#[test]
fn a_metric_that_rises_and_falls_is_evidence_of_another_boundary() {
    // It falls from 45 at first, and rises to 80 from the middle on.
    let wave = |at: usize| if at <= 50 { 45.0 - 0.3 * at as f64 } else { at as f64 - 20.0 };
    let (answer, _) = search(&boundary("request_p99_ms<=50"), wave);
    assert!(answer.turns.iter().any(|(_, turn)| !turn.rises), "{answer:?}");
    assert!(answer.turns.iter().any(|(_, turn)| turn.rises));
    // What another line asked for is judged here too.
    let question = boundary("request_p99_ms<=50");
    let (_, mut line) = search(&question, |at| 10.0 + at as f64);
    line.points.insert(90, point(20.0));
    let Sought::Found(answer) = question.ask(&line) else { panic!("it was answered before") };
    assert_eq!(answer.strays, [90]);
}

#[test]
fn the_best_is_found_in_either_direction_with_its_bracket_and_rivals() {
    let valley = |at: usize| 20.0 + (at as f64 - 30.0).powi(2) / 10.0;
    let (answer, _) = search(&best("request_p99_ms", None), valley);
    let LineOutcome::Best { at, bracket, estimate, .. } = &answer.outcome else { panic!("{answer:?}") };
    assert_eq!((*at, *bracket), (30, (29, 31)));
    assert!((estimate.value - 20.0).abs() < 0.1);
    assert!(answer.turns.is_empty());
    let (answer, _) = search(&best("requests", Some(true)), |at| 1000.0 - valley(at));
    assert!(matches!(answer.outcome, LineOutcome::Best { at: 30, .. }), "{answer:?}");
    // A floor that is level: nothing there is told apart.
    let (answer, line) = search(&best("request_p99_ms", None), |at| at.abs_diff(50).max(10) as f64);
    let LineOutcome::Best { at, rivals, .. } = &answer.outcome else { panic!("{answer:?}") };
    assert!((40..=60).contains(at) && rivals.iter().all(|rival| (40..=60).contains(rival)));
    assert_eq!(rivals.len() + 1, line.points.keys().filter(|at| (40..=60).contains(*at)).count());
}

#[test]
fn a_second_valley_is_evidence_and_missing_values_are_worst() {
    // The floor is at 70; before the hill there is another at 20.
    let two = |at: usize| if at < 50 { 30.0 + at.abs_diff(20) as f64 } else { 10.0 + at.abs_diff(70) as f64 };
    let question = best("request_p99_ms", None);
    let (_, mut line) = search(&question, two);
    for at in [0, 20, 49, 50] {
        line.points.insert(at, point(two(at)));
    }
    let Sought::Found(answer) = question.ask(&line) else { panic!("it was answered before") };
    assert!(!answer.turns.is_empty(), "{answer:?}");

    let mut line = SearchedLine::default();
    while let Sought::Missing(positions) = question.ask(&line) {
        let nothing = || TriedValue { health_varies: true, strata: None, observations: vec![vec![None; 8]] };
        line.points.extend(positions.into_iter().map(|at| (at, nothing())));
    }
    let Sought::Found(answer) = question.ask(&line) else { panic!("it has ended") };
    assert!(matches!(answer.outcome, LineOutcome::Missing));
}

#[test]
fn metrics_have_their_own_direction_or_need_one() {
    assert_eq!(
        Goal::best("request_p99_ms", None).unwrap(),
        Goal::best("request_p99_ms", Some(false)).unwrap()
    );
    let error = Goal::best("requests", None).unwrap_err().to_string();
    assert!(error.contains("--minimize or --maximize"), "{error}");
    let error = Goal::best("request_p99", None).unwrap_err().to_string();
    assert!(error.contains("did you mean"), "{error}");
}

#[test]
fn values_of_strata_are_means_of_both_by_their_shares() {
    let found = [10.0, 0.0, 30.0, 0.0, 20.0, 0.0].map(|value| Some(Observation::Value(value)));
    let observations = vec![found.to_vec()];
    let stratified = TriedValue { health_varies: true, strata: Some(Strata::new(0.1)), observations };
    let estimate = stratified.sample(0).estimate().unwrap();
    assert!((estimate.value - 2.0).abs() < 1e-12 && estimate.n == 3, "{estimate:?}");
    assert_eq!(stratified.paired(&stratified, 0).len(), 3);
}
