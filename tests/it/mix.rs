//! `mix` and `mix_to_end` give items of several streams in proportion to weights.

use gristmill::{Dataset, Length, Position, Stream};
use proptest::prelude::*;

use crate::common::*;

fn known(n: u64) -> Stream<u64> {
    Dataset::range(n).unwrap().rows().map(|row| row.value("0").unwrap())
}

/// Streams of these lengths with these weights; item `i` of stream `s` is 100s + i.
fn parts(make: fn(u64) -> Stream<u64>, parts: &[(u64, u64)]) -> Vec<(Stream<u64>, u64)> {
    let named =
        |(s, (items, weight)): (usize, &(u64, u64))| (make(*items).map(move |i| 100 * s as u64 + i), *weight);
    parts.iter().enumerate().map(named).collect()
}

/// Whose turn it is, place by place, for ever.
fn turns(weights: Vec<u64>) -> Stream<u64> {
    let part = |(s, weight): (usize, u64)| (numbers(1).map(move |_| s as u64).repeat_forever(), weight);
    Stream::mix(weights.into_iter().enumerate().map(part))
}

fn first(stream: &Stream<u64>, n: u64) -> Vec<u64> {
    values(&stream.clone().take(n))
}

#[test]
fn items_come_in_proportion_to_the_weights() {
    assert_eq!(first(&turns(vec![3, 1]), 8), [0, 0, 0, 1, 0, 0, 0, 1]);
    assert_eq!(first(&turns(vec![1, 1, 1]), 6), [0, 1, 2, 0, 1, 2]);
    assert_eq!(values(&Stream::mix(parts(numbers, &[(9, 2), (2, 1)]))), [0, 1, 100, 2, 3, 101, 4, 5]);
}

#[test]
fn of_nothing_comes_nothing() {
    for make in [numbers, known] {
        assert_eq!(everywhere(&Stream::mix(parts(make, &[(0, 1), (5, 1)]))), []);
        assert_eq!(everywhere(&Stream::mix_to_end(parts(make, &[(0, 1), (0, 3)]))), []);
    }
}

#[test]
fn one_stream_and_weights_of_zero() {
    for n in [1, 2, 256, 257] {
        for stream in
            [Stream::mix(parts(known, &[(n, 7)])), Stream::mix_to_end(parts(numbers, &[(n, 7), (3, 0)]))]
        {
            assert_eq!(values(&stream), (0..n).collect::<Vec<_>>());
        }
    }
    let vast = u64::MAX / 2;
    assert_eq!(first(&turns(vec![vast, vast]), 4), [0, 1, 0, 1]);
    assert_eq!(first(&turns(vec![1, u64::MAX - 1]), 3), [1, 1, 1]);
    for weights in [vec![], vec![0, 0], vec![u64::MAX, 1]] {
        let refused = turns(weights).plan().unwrap_err().to_string();
        assert!(refused.starts_with("mix: expected weights"), "{refused}");
    }
}

#[test]
fn one_stops_where_a_stream_is_missed_and_the_other_goes_on() {
    let parts = |make| parts(make, &[(1, 1), (4, 1), (2, 2)]);
    for make in [numbers, known] {
        assert_eq!(values(&Stream::mix(parts(make))), [200, 0, 100, 201]);
        assert_eq!(values(&Stream::mix_to_end(parts(make))), [200, 0, 100, 201, 101, 102, 103]);
    }
    let length = |stream: Stream<u64>| stream.length().unwrap();
    assert_eq!(length(Stream::mix(parts(known))), Length::Exact(4));
    assert_eq!(length(Stream::mix_to_end(parts(known))), Length::Exact(7));
    assert_eq!(length(Stream::mix(parts(numbers))), Length::Unknown);
    assert_eq!(length(Stream::mix_to_end(parts(numbers))), Length::Unknown);
    let endless = || known(5).repeat_forever();
    assert_eq!(length(Stream::mix([(endless(), 1), (endless(), 2)])), Length::Infinite);
    assert_eq!(length(Stream::mix([(endless(), 1), (known(1), 2)])), Length::Exact(2));
    assert_eq!(length(Stream::mix_to_end([(endless(), 1), (known(1), 2)])), Length::Infinite);
    assert_eq!(length(Stream::mix_to_end([(endless(), 0), (known(1), 2)])), Length::Exact(1));
}

#[test]
fn an_upstream_error_keeps_its_place_and_has_its_turn() {
    let mixed = Stream::mix([(with_error(3, 1), 1), (numbers(9), 2)]);
    let expected = [Ok(0), Ok(0), Ok(1), Ok(2), Err(bad(1)), Ok(3), Ok(4), Ok(2), Ok(5), Ok(6)];
    let seen = everywhere(&mixed);
    assert_eq!(seen.iter().filter(|item| item.is_err()).count(), 1);
    assert_eq!(seen.len(), expected.len());
    let mixed = Stream::mix_to_end([(with_error(2, 0), 1), (numbers(2), 1)]);
    assert_eq!(everywhere(&mixed), [Err(bad(0)), Ok(0), Ok(1), Ok(1)]);
    let mixed = Stream::mix_to_end([(with_panic(1), 1), (numbers(9), 1)]);
    assert_eq!(everywhere(&mixed), [Ok(0), Ok(0), Err(panicked(1))]);
}

#[test]
fn it_prints_itself_and_plans_its_parts() {
    let stream = Stream::mix([(numbers(3).prefetch(2), 3), (numbers(4), 1)]).take(5);
    assert_eq!(
        format!("{stream:?}"),
        "mix([(from_generator(u64).prefetch(2), 3), (from_generator(u64), 1)]).take(5)"
    );
    let plan = stream.plan().unwrap();
    assert_eq!(plan.steps.iter().map(|step| step.depth).collect::<Vec<_>>(), [1, 1, 1, 0, 0]);
    assert_eq!(plan.threads(), 2);
}

#[test]
fn columns_stay_known_where_they_are_the_same() {
    let x = |values: Vec<u8>| Dataset::from_slices(values).unwrap().batch(2);
    let same = Stream::mix([(x(vec![1, 2]), 1), (x(vec![3]), 1)]);
    assert_eq!(same.spec().unwrap().unwrap().to_string(), "(0: u8)");
    let other = Dataset::range(3).unwrap().batch(1);
    assert!(Stream::mix([(x(vec![1, 2]), 1), (other, 1)]).iter().is_err());
}

#[test]
fn dropped_midway_they_leave_no_thread() {
    alone(|| {
        drops(|s| Stream::mix([(s, 2), (endless(), 1)]));
        drops(|s| Stream::mix_to_end([(endless(), 1), (s.prefetch(2), 1)]));
    });
}

#[test]
fn reopened_they_give_the_same() {
    for make in [numbers, known] {
        reopens(&Stream::mix(parts(make, &[(4, 2), (9, 3), (9, 1)])));
        reopens(&Stream::mix_to_end(parts(make, &[(4, 2), (9, 3), (2, 1)])));
    }
    reopens(&Stream::mix_to_end([(with_error(5, 2), 1), (numbers(3), 2)]));
}

#[test]
fn a_seek_passes_whole_rounds_at_once() {
    let rows = || known(1 << 40);
    for mixed in [Stream::mix([(rows(), 3), (rows(), 1)]), Stream::mix_to_end([(rows(), 3), (rows(), 1)])] {
        let mut iter = mixed.seek(Position { epoch: 0, item: (1 << 40) + 2 }).unwrap();
        let next: Vec<u64> = iter.by_ref().take(2).map(|item| item.unwrap()).collect();
        assert_eq!(next, [(3 << 38) + 2, 1 << 38]);
    }
}

/// What the rule says, given whose turn it is.
fn model(parts: &[(u64, u64)], goes_on: bool) -> Vec<u64> {
    let mut left: Vec<(u64, u64, u64)> = parts
        .iter()
        .enumerate()
        .filter(|(_, part)| part.1 > 0)
        .map(|(s, part)| (100 * s as u64, 100 * s as u64 + part.0, part.1))
        .collect();
    let mut seen = Vec::new();
    'anew: while !left.is_empty() {
        let mut turns = turns(left.iter().map(|part| part.2).collect()).iter().unwrap();
        loop {
            let at = turns.next().unwrap().unwrap() as usize;
            if left[at].0 == left[at].1 {
                left.remove(at);
                match goes_on {
                    true => continue 'anew,
                    false => return seen,
                }
            }
            seen.push(left[at].0);
            left[at].0 += 1;
        }
    }
    seen
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_run_has_its_share(weights in proptest::collection::vec(0u64..9, 1..6)) {
        let sum: u64 = weights.iter().sum();
        prop_assume!(sum > 0);
        let turns = first(&turns(weights.clone()), 3 * sum);
        let count = |turns: &[u64], s: usize| turns.iter().filter(|turn| **turn == s as u64).count() as u64;
        for (s, weight) in weights.iter().enumerate() {
            for run in turns.windows(sum as usize) {
                prop_assert_eq!(count(run, s), *weight);
            }
            for n in 0..=turns.len() {
                let (exact, seen) = (n as f64 * *weight as f64 / sum as f64, count(&turns[..n], s) as f64);
                prop_assert!((exact - seen).abs() < 1.0, "{:?}: {} of {} are {}", weights, seen, n, s);
            }
        }
    }

    #[test]
    fn they_are_the_rule_on_lists(
        given in proptest::collection::vec((0u64..9, 0u64..4), 1..4),
        leave in 0usize..6,
        from in 0usize..20,
    ) {
        prop_assume!(given.iter().any(|part| part.1 > 0));
        for make in [numbers, known] {
            for (stream, goes_on) in [(Stream::mix(parts(make, &given)), false), (Stream::mix_to_end(parts(make, &given)), true)] {
                let model = model(&given, goes_on);
                prop_assert_eq!(&values(&stream), &model);
                if let Some(length) = stream.length().unwrap().exact() {
                    prop_assert_eq!(length, model.len() as u64);
                }
                let mut iter = stream.iter().unwrap();
                let mut seen: Vec<u64> = iter.by_ref().take(leave).map(|item| item.unwrap()).collect();
                let at = seen.len() + from;
                seen.extend(iter.skip(from).map(|item| item.unwrap()));
                let expected = [&model[..leave.min(model.len())], &model[at.min(model.len())..]].concat();
                prop_assert_eq!(seen, expected);
            }
        }
    }
}
