//! `interleave` and `par_interleave` read streams made from items in turns, by cycle and block.

use gristmill::{Dataset, Length, Position, Stream};
use proptest::prelude::*;

use crate::common::*;

type Make = fn(u64) -> Stream<u64>;

/// `n` becomes `n` items: 10n, 10n + 1, …
fn sequence(n: u64) -> Stream<u64> {
    Dataset::from_generator(move |_| 10 * n..11 * n)
}

/// Both forms.
fn both(items: &Stream<u64>, cycle: usize, block: usize, f: Make) -> [Stream<u64>; 2] {
    [items.clone().interleave(cycle, block, f), items.clone().par_interleave(cycle, block, f)]
}

/// What the rule says, on lists: visit places in turn; an ended one gives up its block and is filled at the next visit.
fn model(lists: &[Vec<u64>], cycle: usize, block: usize) -> Vec<u64> {
    let mut lists = lists.iter().cloned().map(Vec::into_iter);
    let mut places: Vec<Option<std::vec::IntoIter<u64>>> = vec![None; cycle];
    let (mut seen, mut idle) = (Vec::new(), 0);
    for at in (0..cycle).cycle() {
        if places[at].is_none() {
            places[at] = lists.next();
        }
        match &mut places[at] {
            None => idle += 1,
            Some(list) => {
                idle = 0;
                let given: Vec<u64> = list.by_ref().take(block).collect();
                if given.len() < block {
                    places[at] = None;
                }
                seen.extend(given);
            }
        }
        if idle == cycle {
            break;
        }
    }
    seen
}

#[test]
fn blocks_of_the_open_streams_come_in_turn() {
    for stream in both(&numbers(5), 2, 2, sequence) {
        assert_eq!(everywhere(&stream), [10, 20, 21, 30, 31, 32, 40, 41, 42, 43].map(Ok));
        assert_eq!(stream.length().unwrap(), Length::Unknown);
    }
    for stream in both(&numbers(5), 3, 1, sequence) {
        assert_eq!(everywhere(&stream), [10, 20, 30, 21, 31, 40, 32, 41, 42, 43].map(Ok));
    }
}

#[test]
fn of_nothing_comes_nothing() {
    for items in [numbers(0), numbers(100).map(|_| 0)] {
        for stream in both(&items, 3, 2, sequence) {
            assert_eq!(everywhere(&stream), []);
        }
    }
}

#[test]
fn a_cycle_or_block_of_one_and_of_all() {
    let flat: Vec<u64> = (0..6).flat_map(|n| 10 * n..11 * n).collect();
    for block in [1, 3, usize::MAX] {
        for stream in both(&numbers(6), 1, block, sequence) {
            assert_eq!(values(&stream), flat);
        }
    }
    let wide = values(&numbers(6).interleave(usize::MAX, usize::MAX, sequence));
    assert_eq!(wide, flat);
    assert_eq!(values(&numbers(2).interleave(usize::MAX, 1, sequence)), [10]);
    for (cycle, block) in [(0, 1), (1, 0)] {
        for stream in both(&numbers(2), cycle, block, sequence) {
            let refused = stream.plan().unwrap_err().to_string();
            assert!(refused.contains("at least one stream"), "{refused}");
        }
    }
}

#[test]
fn places_beyond_the_most_threads_are_read_by_the_consumer() {
    let lists: Vec<Vec<u64>> = (0..1500).map(|n| vec![n, n]).collect();
    let stream = numbers(1500).par_interleave(2000, 1, |n| Dataset::from_generator(move |_| [n, n]));
    assert_eq!(values(&stream), model(&lists, 2000, 1));
    assert_eq!(stream.plan().unwrap().threads(), 1 + 1024);
}

#[test]
fn an_upstream_error_keeps_its_place() {
    // Item 2 would be the stream of place 0, which asks for another one after the error.
    for stream in both(&with_error(5, 2), 2, 1, sequence) {
        assert_eq!(
            everywhere(&stream),
            [Ok(10), Err(bad(2)), Ok(30), Ok(31), Ok(40), Ok(32), Ok(41), Ok(42), Ok(43)]
        );
    }
    for stream in both(&with_panic(3), 2, 1, sequence) {
        assert_eq!(everywhere(&stream), [Ok(10), Ok(20), Ok(21), Err(panicked(3))]);
    }
}

#[test]
fn an_error_within_a_stream_counts_as_an_item_of_its_block() {
    let make: Make = |n| with_error(n, 1);
    for stream in both(&numbers(4).map(|n| n.max(2)), 2, 2, make) {
        let short = [Ok(0), Err(bad(1))];
        let end = [Ok(0), Err(bad(1)), Ok(2)];
        assert_eq!(everywhere(&stream), [&short[..], &short, &short, &end].concat());
    }
    for stream in both(&numbers(4).map(|n| n + 1), 2, 3, with_panic) {
        assert_eq!(everywhere(&stream), [Ok(0), Err(panicked(1))]);
    }
}

#[test]
fn a_panic_of_the_function_is_told_with_its_item() {
    let make: Make = |n| match n {
        0 | 1 => numbers(2),
        _ => panic!("not {n}"),
    };
    for (verb, stream) in ["interleave", "par_interleave"].into_iter().zip(both(&numbers(4), 3, 1, make)) {
        let panicked = Err(format!("{verb} panicked at item 2: not 2"));
        assert_eq!(everywhere(&stream), [Ok(0), Ok(0), panicked]);
    }
}

#[test]
fn a_seek_passes_over_rows_of_streams_without_reading_them() {
    let rows: Make = |_| Dataset::range(1 << 40).unwrap().rows().map(|row| row.value::<u64>("0").unwrap());
    for stream in both(&numbers(3), 2, 1 << 39, rows) {
        let mut iter = stream.seek(Position { epoch: 0, item: 3 << 39 }).unwrap();
        assert_eq!(iter.next().unwrap().unwrap(), 1 << 39);
    }
}

#[test]
fn dropped_midway_they_leave_no_thread() {
    alone(|| {
        drops(|s| s.interleave(2, 1, |n| numbers(1 + n % 2)));
        drops(|s| s.par_interleave(2, 1, |n| numbers(1 + n % 2).prefetch(2)));
        for stream in both(&endless(), 3, 2, |_| endless()) {
            lets_go(&stream, 9);
        }
    });
}

#[test]
fn reopened_they_give_the_same() {
    for (cycle, block) in [(1, 1), (2, 1), (3, 2)] {
        for stream in both(&numbers(6), cycle, block, sequence) {
            reopens(&stream);
        }
        for stream in both(&with_error(5, 3), cycle, block, |n| with_error(n, 1)) {
            reopens(&stream);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn it_is_the_rule_on_lists(
        counts in proptest::collection::vec(0u64..6, 0..8),
        cycle in 1usize..5,
        block in 1usize..5,
        from in 0u64..20,
    ) {
        let lists: Vec<Vec<u64>> = counts.iter().map(|n| (10 * n..11 * n).collect()).collect();
        let expected = model(&lists, cycle, block);
        let items = Dataset::from_generator(move |_| counts.clone());
        for stream in both(&items, cycle, block, sequence) {
            prop_assert_eq!(&values(&stream), &expected);
            let rest: Vec<u64> = stream.seek(Position { epoch: 0, item: from }).unwrap().map(|item| item.unwrap()).collect();
            prop_assert_eq!(&rest[..], &expected[expected.len().min(from as usize)..]);
        }
    }
}
