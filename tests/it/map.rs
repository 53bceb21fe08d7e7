//! The six maps pass each item through a function and keep the order, with workers and without.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gristmill::{Dataset, Length, Stream};

use crate::common::*;

type Map = fn(Stream<u64>) -> Stream<u64>;

/// Every map, times ten; panics at item 7.
const MAPS: [(&str, Map); 6] = [
    ("map", |s| s.map(tenfold)),
    ("try_map", |s| s.try_map(|n| Ok::<_, String>(tenfold(n)))),
    ("map_seeded", |s| s.map_seeded(1, |n, _| tenfold(n))),
    ("par_map", |s| s.par_map(2, tenfold)),
    ("par_try_map", |s| s.par_try_map(3, |n| Ok::<_, String>(tenfold(n)))),
    ("par_map_seeded", |s| s.par_map_seeded(0, 1, |n, _| tenfold(n))),
];

fn tenfold(n: u64) -> u64 {
    assert!(n != 7, "not seven");
    n * 10
}

fn refuses_two(n: u64) -> Result<u64, String> {
    if n == 2 { Err("two".into()) } else { Ok(n) }
}

#[test]
fn they_call_the_function_on_each_item() {
    for (verb, map) in MAPS {
        assert_eq!(values(&map(numbers(5))), [0, 10, 20, 30, 40], "{verb}");
        let known = Dataset::range(5).unwrap().rows().map(|row| row.value("0").unwrap());
        assert_eq!(map(known).length().unwrap(), Length::Exact(5), "{verb}");
    }
}

#[test]
fn of_nothing_comes_nothing() {
    for (verb, map) in MAPS {
        assert_eq!(everywhere(&map(numbers(0))), [], "{verb}");
    }
}

#[test]
fn they_take_one_item_a_full_ring_and_one_over() {
    for n in [1, 4, 5, 6, 7] {
        for (verb, map) in MAPS {
            assert_eq!(values(&map(numbers(n))), (0..n).map(|i| i * 10).collect::<Vec<_>>(), "{verb}, {n}");
        }
    }
}

#[test]
fn an_upstream_error_keeps_its_place() {
    for (verb, map) in MAPS {
        assert_eq!(everywhere(&map(with_error(4, 1))), [Ok(0), Err(bad(1)), Ok(20), Ok(30)], "{verb}");
        assert_eq!(everywhere(&map(with_panic(2))), [Ok(0), Ok(10), Err(panicked(2))], "{verb}");
    }
}

#[test]
fn a_panic_is_told_with_the_verb_and_the_item() {
    for (verb, map) in MAPS {
        let seen = everywhere(&map(with_error(9, 3)));
        assert_eq!(seen.len(), 8, "{verb}");
        assert_eq!((&seen[3], &seen[6]), (&Err(bad(3)), &Ok(60)), "{verb}");
        assert_eq!(seen[7], Err(format!("{verb} panicked at item 7: not seven")));
    }
}

#[test]
fn a_refused_item_leaves_an_error_in_its_place() {
    for (verb, stream) in [
        ("try_map", numbers(4).try_map(refuses_two)),
        ("par_try_map", numbers(4).par_try_map(2, refuses_two)),
    ] {
        let refused = Err(format!("{verb}, item 2: two"));
        assert_eq!(everywhere(&stream), [Ok(0), Ok(1), refused, Ok(3)]);
    }
}

#[test]
fn dropped_midway_they_leave_no_thread() {
    alone(|| MAPS.into_iter().for_each(|(_, map)| drops(map)));
}

#[test]
fn reopened_they_give_the_same() {
    for (_, map) in MAPS {
        reopens(&map(numbers(6)));
        reopens(&map(with_error(6, 2)));
    }
    reopens(&numbers(6).try_map(refuses_two));
    reopens(&numbers(6).map_seeded(3, |n, random| n ^ random.next_u64()));
    reopens(&numbers(6).par_map_seeded(2, 3, |n, random| n ^ random.next_u64()));
}

#[test]
fn random_numbers_depend_on_seed_epoch_and_item_alone() {
    let one = |seed| numbers(20).map_seeded(seed, |_, random| random.next_u64());
    let draws: HashSet<u64> =
        [epoch(&one(1), 0), epoch(&one(1), 1), epoch(&one(2), 0)].concat().into_iter().collect();
    assert_eq!(draws.len(), 60);
    for workers in [1, 2, 8] {
        let many = numbers(20).par_map_seeded(workers, 1, |_, random| random.next_u64());
        for k in 0..2 {
            assert_eq!(epoch(&many, k), epoch(&one(1), k), "{workers} workers, epoch {k}");
        }
    }
}

#[test]
fn an_item_that_is_passed_over_is_not_mapped() {
    let calls = Arc::new(AtomicU64::new(0));
    let count = calls.clone();
    let stream = numbers(10).map(move |n| {
        count.fetch_add(1, Ordering::SeqCst);
        n
    });
    let mut iter = stream.iter().unwrap();
    assert_eq!(iter.nth(4).unwrap().unwrap(), 4);
    assert_eq!(drain(&mut stream.seek(iter.position()).unwrap()), (5..10).map(Ok).collect::<Vec<_>>());
    assert_eq!(calls.load(Ordering::SeqCst), 1 + 5);
}

#[test]
fn workers_beyond_all_measure_are_refused_or_cut_down_but_do_no_harm() {
    alone(|| {
        for workers in [usize::MAX, 1 << 40] {
            let first = numbers(3).par_map(workers, tenfold).iter().map(|mut iter| iter.next());
            if let Ok(Some(Ok(first))) = first {
                assert_eq!(first, 0);
            }
        }
    });
}
