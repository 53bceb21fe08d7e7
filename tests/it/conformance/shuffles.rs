//! Shuffles and what their seeds fix.

use super::*;

/// Every way to shuffle twenty rows or items, by seed.
fn shuffles(seed: u64) -> [Stream<u64>; 5] {
    let rows = |how| range(20).shuffle(how).rows().map(|row| row.value("0").unwrap());
    [
        rows(Shuffle::full(seed)),
        rows(Shuffle::blocks_of(2, 10, seed)),
        rows(Shuffle::buffer(100, seed)),
        rows(Shuffle::buffer(2, seed)),
        numbers(20).shuffle_buffer(100, seed),
    ]
}

#[test]
fn c43_a_shuffle_is_a_permutation_by_seed() {
    for ((a, again), b) in shuffles(1).iter().zip(&shuffles(1)).zip(&shuffles(2)) {
        assert_eq!(sorted(values(a)), (0..20).collect::<Vec<_>>(), "{a:?}");
        assert_eq!(values(a), values(again), "{a:?}");
        assert_ne!(values(a), values(b), "{a:?}");
        assert_eq!(sorted(values(a)), sorted(values(b)), "{a:?}");
    }
    assert_eq!(sorted(values(&numbers(20).shuffle_buffer(2, 1))), (0..20).collect::<Vec<_>>());
    for how in [Shuffle::full(1), Shuffle::blocks(1), Shuffle::buffer(5, 1)] {
        assert_eq!(everywhere(&range(0).shuffle(how).batch(3)), []);
    }
}

#[test]
fn c45_repeated_shuffles_differ_unless_fixed() {
    // Reshuffling is what epochs do; `fixed` is tf.data's reshuffle_each_iteration=False. There is no shuffle without a seed.
    for how in [Shuffle::full(3), Shuffle::blocks_of(1, 10, 3), Shuffle::buffer(10, 3)] {
        for (how, equal) in [(how, false), (how.fixed(), true)] {
            let both = order(&range(10).shuffle(how).repeat(2), 0);
            assert_eq!(sorted(both[..10].to_vec()), (0..10).collect::<Vec<_>>(), "{how}");
            assert_eq!(sorted(both[10..].to_vec()), (0..10).collect::<Vec<_>>(), "{how}");
            assert_eq!(both[..10] == both[10..], equal, "{how}");
        }
    }
    let both = values(&numbers(10).shuffle_buffer(10, 3).repeat(2));
    assert_eq!(sorted(both[10..].to_vec()), (0..10).collect::<Vec<_>>());
    assert_ne!(both[..10], both[10..]);
}

#[test]
fn c46_an_epoch_s_order_depends_on_its_number_not_on_what_ran_before() {
    // Epochs are named, so iterating twice gives the same twice; tf.data counts iterations instead.
    for stream in shuffles(1) {
        assert_eq!(values(&stream), values(&stream), "{stream:?}");
        assert_ne!(epoch(&stream, 0), epoch(&stream, 1), "{stream:?}");
    }
    let fixed = range(20).shuffle(Shuffle::full(1).fixed());
    assert_eq!(order(&fixed, 0), order(&fixed, 5));
}

#[test]
fn c47_pipelines_built_twice_are_equal() {
    // A seed is always given.
    for (a, b) in shuffles(9).iter().zip(&shuffles(9)) {
        assert_eq!([epoch(a, 0), epoch(a, 3)], [epoch(b, 0), epoch(b, 3)], "{a:?}");
    }
}

#[test]
fn c48_seed_zero_is_like_any_seed() {
    for ((zero, again), one) in shuffles(0).iter().zip(&shuffles(0)).zip(&shuffles(1)) {
        assert_eq!(values(zero), values(again), "{zero:?}");
        assert_ne!(values(zero), values(one), "{zero:?}");
        assert_ne!(values(zero), (0..20).collect::<Vec<_>>(), "{zero:?}");
    }
}

#[test]
fn c49_two_runs_of_a_program_see_the_same_epochs() {
    let epochs = |how| [0, 1, 2].map(|k| order(&range(6).shuffle(how), k));
    let pinned = [[5, 0, 3, 1, 2, 4], [2, 0, 1, 4, 3, 5], [4, 5, 2, 3, 0, 1]];
    assert_eq!(epochs(Shuffle::buffer(6, 1)), pinned);
    let pinned = [[2, 5, 1, 3, 0, 4], [5, 4, 0, 3, 2, 1], [5, 2, 0, 1, 4, 3]];
    assert_eq!(epochs(Shuffle::full(1)), pinned);
}

#[test]
fn c52_a_shuffle_over_a_shard_has_its_rows_alone() {
    for how in [Shuffle::full(5), Shuffle::blocks_of(2, 2, 5), Shuffle::buffer(3, 5)] {
        let shard = range(20).shard(3, 1).unwrap().shuffle(how);
        for epoch in 0..3 {
            assert_eq!(sorted(order(&shard, epoch)), [1, 4, 7, 10, 13, 16, 19], "{how}");
        }
    }
}

#[test]
fn c55_a_source_of_random_numbers_is_the_same_in_every_epoch_unless_it_asks_for_the_epoch() {
    let random = |epoch| (0..9).map(move |place| RandomStream::new(7, "numbers", epoch, place).next_u64());
    let (fixed, drawn_anew) = (Dataset::from_generator(move |_| random(0)), Dataset::from_generator(random));
    assert_eq!(epoch(&fixed, 0), epoch(&fixed, 1));
    assert_eq!(epoch(&drawn_anew, 0), epoch(&fixed, 0));
    assert_ne!(epoch(&drawn_anew, 1), epoch(&drawn_anew, 0));
    assert_eq!(epoch(&drawn_anew, 1), epoch(&drawn_anew, 1));
}
