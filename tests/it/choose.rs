//! `choose` and `choose_to_end` give items of several streams, picked by their numbers.

use gristmill::{Dataset, Length, Stream};
use proptest::prelude::*;

use crate::common::*;

/// Streams of these lengths; item `i` of stream `s` is 100s + i.
fn streams(lengths: &[u64]) -> Vec<Stream<u64>> {
    lengths.iter().enumerate().map(|(s, items)| numbers(*items).map(move |i| 100 * s as u64 + i)).collect()
}

fn by_stream(choices: Vec<usize>) -> Stream<usize> {
    Dataset::from_generator(move |_| choices.clone())
}

/// Both forms, each by a list and by a stream.
fn four(lengths: &[u64], choices: &[usize]) -> [Stream<u64>; 4] {
    [
        Stream::choose(streams(lengths), choices.to_vec()),
        Stream::choose(streams(lengths), by_stream(choices.to_vec())),
        Stream::choose_to_end(streams(lengths), choices.to_vec()),
        Stream::choose_to_end(streams(lengths), by_stream(choices.to_vec())),
    ]
}

#[test]
fn each_choice_gives_the_next_item_of_its_stream() {
    for stream in four(&[3, 3, 3], &[2, 0, 0, 1, 2]) {
        assert_eq!(everywhere(&stream), [200, 0, 1, 100, 201].map(Ok));
    }
    assert_eq!(values(&Stream::choose(streams(&[1, 1]), [1, 0])), [100, 0]);
}

#[test]
fn of_nothing_comes_nothing() {
    for stream in four(&[3, 3], &[]).into_iter().chain(four(&[0, 0], &[0, 1])).chain(four(&[], &[])) {
        assert_eq!(everywhere(&stream), []);
    }
}

#[test]
fn one_stops_where_a_stream_is_missed_and_the_other_goes_on() {
    let [list, stream, list_to_end, stream_to_end] = four(&[1, 3], &[0, 1, 0, 1, 0, 1, 1, 1]);
    for ended in [list, stream] {
        assert_eq!(values(&ended), [0, 100]);
    }
    for ended in [list_to_end, stream_to_end] {
        assert_eq!(values(&ended), [0, 100, 101, 102]);
    }
    // When all have ended, no more choices are asked for.
    let turns = Dataset::from_generator(|_| (0usize..).map(|i| i % 2));
    assert_eq!(values(&Stream::choose_to_end(streams(&[1, 2]), turns)), [0, 100, 101]);
}

#[test]
fn the_number_of_no_stream_is_refused() {
    let refused = Stream::choose(streams(&[1, 1]), [0, 2]).plan().unwrap_err().to_string();
    assert_eq!(refused, "choose: expected the number of one of 2 streams, counted from 0, found 2");
    let text = "choose, item 1: expected the number of one of 2 streams, counted from 0, found 2";
    let seen = everywhere(&Stream::choose(streams(&[1, 1]), by_stream(vec![0, 2, 1])));
    assert_eq!(seen, [Ok(0), Err(text.into()), Ok(100)]);
}

#[test]
fn the_length_is_that_of_the_choices_if_the_streams_have_no_end() {
    let endless = || Dataset::range(3).unwrap().rows().map(|_| 0).repeat_forever();
    let both = || [endless(), endless()];
    assert_eq!(Stream::choose(both(), [0, 1, 1]).length().unwrap(), Length::Exact(3));
    assert_eq!(Stream::choose(both(), by_stream(vec![0])).length().unwrap(), Length::Unknown);
    assert_eq!(Stream::choose(streams(&[3, 3]), [0, 1, 1]).length().unwrap(), Length::Unknown);
    assert_eq!(Stream::choose(streams(&[3, 3]), []).length().unwrap(), Length::Exact(0));
}

#[test]
fn an_upstream_error_keeps_its_place_on_either_side() {
    let parts = || [with_error(3, 1), numbers(9)];
    let expected = [Ok(0), Ok(0), Err(bad(1)), Ok(1), Ok(2)];
    for stream in [Stream::choose(parts(), [0, 1, 0, 1, 0]), Stream::choose_to_end(parts(), [0, 1, 0, 1, 0])]
    {
        assert_eq!(everywhere(&stream), expected);
    }
    let choices = |numbers: Stream<u64>| numbers.map(|n| n as usize % 2);
    let seen = everywhere(&Stream::choose(streams(&[3, 3]), choices(with_error(4, 1))));
    assert_eq!(seen, [Ok(0), Err(bad(1)), Ok(1), Ok(100)]);
    let seen = everywhere(&Stream::choose(streams(&[3, 3]), choices(with_panic(2))));
    assert_eq!(seen, [Ok(0), Ok(100), Err(panicked(2))]);
    let seen = everywhere(&Stream::choose([with_panic(1), numbers(3)], [1, 0, 0, 1]));
    assert_eq!(seen, [Ok(0), Ok(0), Err(panicked(1))]);
}

#[test]
fn it_prints_itself_and_plans_its_parts() {
    let turns = by_stream(vec![0, 1]);
    assert_eq!(
        format!("{:?}", Stream::choose(streams(&[3]), turns.clone())),
        "choose([from_generator(u64).map(..)], from_generator(usize))"
    );
    assert_eq!(
        format!("{:?}", Stream::choose_to_end([numbers(3)], [0, 0])),
        "choose_to_end([from_generator(u64)], [0, 0])"
    );
    let plan = Stream::choose([numbers(2), numbers(2)], turns).plan().unwrap();
    assert_eq!((plan.threads(), plan.steps.len()), (3, 4));
}

#[test]
fn dropped_midway_they_leave_no_thread() {
    alone(|| {
        let choices = |s: Stream<u64>| s.map(|n| n as usize % 2);
        drops(move |s| Stream::choose([endless(), endless()], choices(s)));
        drops(move |s| Stream::choose_to_end([s, endless()], choices(endless())));
    });
}

#[test]
fn reopened_they_give_the_same() {
    for stream in four(&[3, 5, 2], &[0, 1, 2, 2, 2, 1, 0, 1]) {
        reopens(&stream);
    }
    reopens(&Stream::choose_to_end([with_error(4, 2), numbers(3)], by_stream(vec![0, 0, 7, 0, 1, 0])));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn they_are_the_rule_on_lists(
        lengths in proptest::collection::vec(0u64..5, 1..4),
        picks in proptest::collection::vec(0usize..100, 0..20),
        from in 0usize..20,
    ) {
        let choices: Vec<usize> = picks.into_iter().map(|pick| pick % lengths.len()).collect();
        for (stream, goes_on) in four(&lengths, &choices).into_iter().zip([false, false, true, true]) {
            let mut given = vec![0; lengths.len()];
            let mut model = Vec::new();
            for choice in &choices {
                if given[*choice] < lengths[*choice] {
                    model.push(100 * *choice as u64 + given[*choice]);
                    given[*choice] += 1;
                } else if !goes_on {
                    break;
                }
            }
            prop_assert_eq!(&values(&stream), &model);
            let rest: Vec<u64> = stream.iter().unwrap().skip(from).map(|item| item.unwrap()).collect();
            prop_assert_eq!(&rest[..], &model[from.min(model.len())..]);
        }
    }
}
