//! `repeat` and `repeat_forever` on a stream run what stands above again, each round in the next epoch.

use gristmill::{Dataset, Length, Shuffle, Stream};

use crate::common::*;

/// The epoch's number and 0 or 1.
fn epochs() -> Stream<(u64, u64)> {
    Dataset::from_generator(|epoch| (0..2).map(move |i| (epoch, i)))
}

#[test]
fn each_round_is_the_next_epoch() {
    assert_eq!(values(&numbers(3).repeat(3)), [0, 1, 2, 0, 1, 2, 0, 1, 2]);
    assert_eq!(epoch(&epochs().repeat(2), 3), [(6, 0), (6, 1), (7, 0), (7, 1)]);
    assert_eq!(epoch(&epochs().repeat_forever().take(3), 3), [(3, 0), (3, 1), (4, 0)]);
    for k in 0..3 {
        assert_eq!(epoch(&epochs().repeat(2).repeat(3), k), epoch(&epochs().repeat(6), k));
    }
    let shuffled = Dataset::range(9).unwrap().shuffle(Shuffle::full(1));
    assert_eq!(values(&shuffled.batch(9).repeat(2)), values(&shuffled.repeat(2).batch(9)));
}

#[test]
fn of_nothing_comes_nothing_not_even_for_ever() {
    watchdog(|| {
        for nothing in [numbers(0), numbers(5).filter(|_| false), numbers(5).repeat(0), numbers(5).take(0)] {
            assert_eq!(everywhere(&nothing.clone().repeat(1 << 60)), []);
            assert_eq!(everywhere(&nothing.repeat_forever()), []);
        }
    });
}

#[test]
fn a_round_without_items_is_the_last() {
    watchdog(|| {
        let dwindling = Dataset::from_generator(|epoch| 0..2u64.saturating_sub(epoch));
        assert_eq!(everywhere(&dwindling.clone().repeat_forever()), [Ok(0), Ok(1), Ok(0)]);
        assert_eq!(everywhere(&dwindling.repeat(9)), [Ok(0), Ok(1), Ok(0)]);
    });
}

#[test]
fn none_one_and_many_rounds_have_their_length() {
    let known = || Dataset::range(5).unwrap().rows();
    for (times, length) in [(0, 0), (1, 5), (3, 15), (u64::MAX, u64::MAX)] {
        assert_eq!(known().repeat(times).length().unwrap(), Length::Exact(length));
        let counted = known().repeat(times).take(20).iter().unwrap().count();
        assert_eq!(counted as u64, length.min(20));
    }
    assert_eq!(known().repeat_forever().length().unwrap(), Length::Infinite);
    assert_eq!(numbers(5).repeat_forever().length().unwrap(), Length::Unknown);
    assert_eq!(known().take(0).repeat_forever().length().unwrap(), Length::Exact(0));
}

#[test]
fn an_upstream_error_keeps_its_place() {
    let round = [Ok(0), Err(bad(1)), Ok(2)];
    assert_eq!(everywhere(&with_error(3, 1).repeat(2)), [round.clone(), round].concat());
    assert_eq!(everywhere(&with_panic(2).repeat(2)), [Ok(0), Ok(1), Err(panicked(2))]);
    // Rounds of errors alone are not empty.
    assert_eq!(everywhere(&with_error(1, 0).repeat(3)), [Err::<u64, _>(bad(0)), Err(bad(0)), Err(bad(0))]);
}

#[test]
fn dropped_midway_they_leave_no_thread() {
    alone(|| {
        drops(|s| s.repeat(3));
        drops(|s| s.repeat_forever());
        lets_go(&numbers(2).repeat_forever().prefetch(3), 9);
        lets_go(&Dataset::range(2).unwrap().batch(2).workers(2).repeat_forever(), 9);
    });
}

#[test]
fn a_search_through_endless_rounds_is_given_up_when_dropped() {
    alone(|| {
        let search = numbers(3).repeat_forever().enumerate().filter(|(i, _)| *i < 2);
        let mut iter = search.prefetch(8).iter().unwrap();
        iter.next().unwrap().unwrap();
        drop(iter);
        no_thread_is_left();
    });
}

#[test]
fn reopened_they_give_the_same() {
    reopens(&epochs().repeat(3));
    reopens(&with_error(3, 1).repeat(3));
    reopens(&epochs().repeat_forever().take(7));
    let batches = || Dataset::range(5).unwrap().shuffle(Shuffle::full(4)).batch(2);
    reopens(&batches().repeat(3));
    reopens(&batches().repeat(2).repeat(2));
    reopens(&batches().workers(3).repeat(3).prefetch(2));
}
