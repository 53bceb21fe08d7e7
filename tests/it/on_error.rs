//! `on_error` ends the epoch at an error, passes over failed items within a budget, or puts others in their place.

use gristmill::{Batch, Dataset, Failures, Length, OnError, Pad, Position, Stream};
use proptest::prelude::*;

use crate::common::*;

/// The numbers below `n`, those for which `bad` holds failing.
fn failing(n: u64, bad: impl Fn(u64) -> bool + Send + Sync + 'static) -> Stream<u64> {
    numbers(n).try_map(move |i| if bad(i) { Err(format!("bad {i}")) } else { Ok(i) })
}

fn stopped(policy: &str, item: u64, skipped: u64) -> Result<u64, String> {
    let before = format!("{skipped} having been skipped before it");
    Err(format!("on_error({policy}) stopped at item {item}, {before}: try_map, item {item}: bad {item}"))
}

fn policies() -> [(&'static str, OnError<u64>); 4] {
    [
        ("stop", OnError::stop()),
        ("skip(3)", OnError::skip(3)),
        ("skip_rate(1, 2)", OnError::skip_rate(1, 2)),
        ("replace(..)", OnError::replace(|place| 1000 + place.item)),
    ]
}

#[test]
fn failed_items_end_the_epoch_are_passed_over_or_replaced() {
    let stream = || failing(6, |i| i == 2 || i == 4);
    let expected: [Vec<Result<u64, String>>; 4] = [
        vec![Ok(0), Ok(1), stopped("stop", 2, 0)],
        vec![Ok(0), Ok(1), Ok(3), Ok(5)],
        vec![Ok(0), Ok(1), Ok(3), Ok(5)],
        vec![Ok(0), Ok(1), Ok(1002), Ok(3), Ok(1004), Ok(5)],
    ];
    for ((name, policy), expected) in policies().into_iter().zip(expected) {
        assert_eq!(policy.to_string(), name);
        assert_eq!(everywhere(&stream().on_error(policy)), expected, "{name}");
    }
}

#[test]
fn of_nothing_comes_nothing() {
    for (name, policy) in policies() {
        assert_eq!(everywhere(&numbers(0).on_error(policy)), [], "{name}");
    }
    assert_eq!(everywhere(&failing(3, |_| true).on_error(OnError::skip(3))), []);
}

#[test]
fn a_budget_ends_exactly_where_it_is_used_up() {
    let all_bad = || failing(9, |i| i > 0);
    for most in 0..4 {
        let stream = all_bad().on_error(OnError::skip(most));
        assert_eq!(everywhere(&stream), [Ok(0), stopped(&format!("skip({most})"), most + 1, most)]);
    }
    assert_eq!(values(&all_bad().on_error(OnError::skip(8))), [0]);
    // Places 1 and 4 are three apart: within any three items in a row there is one, within four there are two.
    let two = || failing(9, |i| i == 1 || i == 4);
    assert_eq!(values(&two().on_error(OnError::skip_rate(1, 3))), [0, 2, 3, 5, 6, 7, 8]);
    let refused = stopped("skip_rate(1, 4)", 4, 1);
    assert_eq!(everywhere(&two().on_error(OnError::skip_rate(1, 4))), [Ok(0), Ok(2), Ok(3), refused]);
    let refused = numbers(3).on_error(OnError::skip_rate(1, 0)).iter().unwrap_err().to_string();
    assert!(refused.contains("at least one item") && refused.contains("skip_rate(1, 0)"), "{refused}");
}

#[test]
fn lengths_stay_where_counts_stay() {
    let known = || Dataset::range(5).unwrap().rows().map(|row| row.value::<u64>("0").unwrap());
    let lengths = policies().map(|(_, policy)| known().on_error(policy).length().unwrap());
    assert_eq!(lengths, [Length::Exact(5), Length::Unknown, Length::Unknown, Length::Exact(5)]);
    assert_eq!(known().take(0).on_error(OnError::skip(1)).length().unwrap(), Length::Exact(0));
}

#[test]
fn errors_beside_batches_that_are_replaced_are_not_counted_before() {
    let known = Dataset::range(13).unwrap().rows().map(|row| row.value::<u64>("0").unwrap());
    let failing = known.try_map(|n| if n % 4 == 1 { Err("bad") } else { Ok(n) });
    let counted = |batches: Stream<Batch>| {
        let stream = batches.map(|batch| batch.rows()).on_error(OnError::replace(|_| 0));
        assert_eq!(stream.length().unwrap(), Length::Unknown, "{stream:?}");
        let cached = stream.cache();
        assert_eq!(values(&cached), values(&cached), "{cached:?}");
        values(&cached)
    };
    assert_eq!(counted(failing.clone().batch(4)), [0, 4, 0, 0, 4, 2]);
    assert_eq!(counted(failing.clone().batch(1).rebatch(4)), [0, 4, 0, 0, 4, 2]);
    assert_eq!(counted(failing.clone().padded_batch(4, Pad::longest())), [0, 4, 0, 0, 4, 2]);
    assert_eq!(values(&failing.on_error(OnError::replace(|_| 0))).len(), 13);
}

#[test]
fn failures_are_counted_and_listed_once_by_place() {
    let failures = Failures::new();
    let stream = failing(9, |i| i % 4 == 1).on_error(OnError::skip(9).listed(&failures));
    let mut iter = stream.epoch(2).unwrap();
    assert_eq!(failures.count(), 0);
    assert_eq!(iter.by_ref().take(3).map(|i| i.unwrap()).collect::<Vec<_>>(), [0, 2, 3]);
    let place = |item| Position { epoch: 2, item };
    assert_eq!(failures.list().iter().map(|f| f.place).collect::<Vec<_>>(), [place(1)]);
    assert_eq!(failures.list()[0].text, "try_map, item 1: bad 1");
    // Read again and to its end, in another iterator.
    let position = iter.position();
    assert_eq!(drain(&mut stream.seek(position).unwrap()), drain(&mut iter));
    assert_eq!(failures.list().iter().map(|f| f.place).collect::<Vec<_>>(), [place(1), place(5)]);
    values(&stream.prefetch(3));
    assert_eq!(failures.count(), 4);
}

#[test]
fn the_list_is_bounded_and_the_count_is_not() {
    let failures = Failures::new();
    let stream = failing(5000, |_| true).on_error(OnError::replace(|place| place.item).listed(&failures));
    assert_eq!(values(&stream).len(), 5000);
    assert_eq!((failures.count(), failures.list().len()), (5000, 4096));
}

#[test]
fn a_fatal_error_is_never_passed_over() {
    for (name, policy) in policies() {
        let seen = everywhere(&with_panic(2).on_error(policy));
        assert_eq!(seen, [Ok(0), Ok(1), Err(panicked(2))], "{name}");
    }
    let stream = with_error(3, 1).on_error(OnError::replace(|_| panic!("no other")));
    assert_eq!(everywhere(&stream), [Ok(0), Err("on_error panicked at item 1: no other".into())]);
}

#[test]
fn dropped_midway_it_leaves_no_thread() {
    alone(|| policies().into_iter().for_each(|(_, policy)| drops(move |s| s.on_error(policy.clone()))));
}

#[test]
fn reopened_it_gives_the_same() {
    for (_, policy) in policies() {
        reopens(&numbers(5).on_error(policy.clone()));
        reopens(&numbers(0).on_error(policy));
    }
    for policy in [OnError::skip(2), OnError::skip_rate(1, 3), OnError::replace(|place| place.epoch * 100)] {
        reopens(&failing(9, |i| i == 1 || i == 6).on_error(policy.clone()).filter(|_| true));
        reopens(&with_error(5, 0).on_error(policy));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_rate_holds_in_every_run_of_items(bad in prop::collection::vec(any::<bool>(), 0..40), most in 0..4u64, items in 1..8u64) {
        let n = bad.len() as u64;
        let failed = bad.clone();
        let stream = failing(n, move |i| failed[i as usize]).on_error(OnError::skip_rate(most, items));
        let too_many = |end: usize| {
            let run = &bad[(end + 1).saturating_sub(items as usize)..=end];
            run.iter().filter(|b| **b).count() as u64 > most
        };
        let end = (0..bad.len()).find(|end| bad[*end] && too_many(*end));
        let good = (0..end.unwrap_or(bad.len())).filter(|i| !bad[*i]).map(|i| i as u64);
        let seen = outcomes(&stream.threads(gristmill::Threads::None));
        prop_assert_eq!(seen.last().is_some_and(|last| last.is_err()), end.is_some());
        prop_assert!(seen.into_iter().filter_map(|item| item.ok()).eq(good));
    }
}
