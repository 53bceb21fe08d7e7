//! What `plan` warns about: each case that is likely not meant, and its neighbour that is fine.

use gristmill::{Dataset, OnError, Shuffle, Stream};

use crate::common::*;

fn rows(n: u64) -> Dataset {
    Dataset::range(n).unwrap()
}

fn known(n: u64) -> Stream<u64> {
    rows(n).rows().map(|row| row.value("0").unwrap())
}

fn warnings<T: Send + 'static>(stream: Stream<T>) -> Vec<String> {
    stream.plan().unwrap().warnings
}

/// The only warning.
fn warning<T: Send + 'static>(stream: Stream<T>) -> String {
    let mut warnings = warnings(stream);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    warnings.remove(0)
}

#[test]
fn batches_that_mix_rounds_of_rows() {
    assert!(warning(rows(10).repeat(3).batch(4)).contains("every 10 rows"));
    assert!(warning(rows(10).repeat(3).repeat(2).batch_masked(4)).contains("every 10 rows"));
    assert!(warning(rows(10).repeat(3).take(25).batch(4)).contains("batches of 4"));
    assert!(warnings(rows(10).repeat(3).batch(5)).is_empty());
    assert!(warnings(rows(10).repeat(1).batch(4)).is_empty());
    assert!(warnings(rows(10).batch(4).repeat(3)).is_empty());
}

#[test]
fn batches_that_mix_rounds_of_items() {
    assert!(warning(known(10).repeat(3).batch(4)).contains("every 10 rows"));
    assert!(warning(known(10).repeat_forever().map(|n| n).batch(4)).contains("every 10 rows"));
    assert!(warning(known(10).repeat(2).repeat(2).prefetch(2).batch(4)).contains("every 10 rows"));
    assert!(warnings(known(10).repeat(3).batch(5)).is_empty());
    assert!(warnings(known(10).repeat(1).batch(4)).is_empty());
    assert!(warnings(known(0).repeat(2).batch(4)).is_empty());
    // Where rounds meet is not known any more.
    assert!(warnings(known(10).repeat(3).filter(|n| n % 2 == 0).batch(4)).is_empty());
    assert!(warnings(numbers(10).repeat(3).batch(4)).is_empty());
}

#[test]
fn a_shuffle_of_several_rounds() {
    for how in [Shuffle::full(1), Shuffle::blocks(1), Shuffle::buffer(100, 1)] {
        assert!(warning(rows(10).repeat(3).shuffle(how).batch(5)).contains("mixes rounds of 10 rows"));
        assert!(warnings(rows(10).shuffle(how).repeat(3).batch(5)).is_empty());
    }
}

#[test]
fn a_shuffle_of_whole_batches() {
    assert!(warning(rows(10).batch(5).shuffle_buffer(4, 1)).contains("whole batches"));
    assert!(warnings(known(10).shuffle_buffer(4, 1).batch(5)).is_empty());
}

#[test]
fn a_cut_or_split_above_an_order_that_changes() {
    let shuffled = rows(10).shuffle(Shuffle::full(1));
    assert!(warning(shuffled.take(6).batch(2)).contains("take(6) leaves out other rows"));
    assert!(warning(shuffled.shard(2, 0).unwrap().skip(1).batch(2)).contains("skip(1)"));
    assert!(warning(shuffled.split(0.5, 1).unwrap().1.batch(5)).contains("split before the shuffle"));
    assert!(warning(rows(9).sample(8, 1).unwrap().take(4).batch(2)).contains("take(4)"));
    let fixed = rows(10).shuffle(Shuffle::full(1).fixed());
    for fine in [
        shuffled.take(10),
        shuffled.skip(0),
        shuffled.shard(2, 1).unwrap(),
        shuffled.reverse(),
        fixed.take(6),
        fixed.split(0.5, 1).unwrap().0,
        rows(10).take(6).shuffle(Shuffle::full(1)),
    ] {
        assert!(warnings(fine.batch(2)).is_empty(), "{fine:?}");
    }
}

#[test]
fn a_remainder_that_is_a_large_share() {
    assert!(warning(rows(100).batch_exact(64)).contains("36 of 100 rows do not fill a batch of 64"));
    assert!(warning(known(100).batch_exact(64)).contains("36 of 100 rows"));
    assert!(warning(rows(3).batch_exact(64)).contains("3 of 3 rows"));
    assert!(warning(rows(9).batch_exact(2)).contains("1 of 9 rows"));
    assert!(warnings(rows(10).batch_exact(3)).is_empty(), "a tenth is not more than a tenth");
    assert!(warnings(known(10).batch_exact(3)).is_empty());
    assert!(warnings(numbers(100).batch_exact(64)).is_empty(), "how many there are is not known");
    assert!(warnings(rows(100).batch(64)).is_empty() && warnings(rows(100).batch_masked(64)).is_empty());
}

#[test]
fn a_cache_of_what_should_vary() {
    let shuffled = rows(10).shuffle(Shuffle::full(1));
    assert!(warning(shuffled.batch(5).cache()).contains("cache keeps epoch 0, so the order of the rows"));
    assert!(warning(known(10).map_seeded(1, |n, _| n).map(|n| n).cache()).contains("so map_seeded above it"));
    assert!(warning(known(10).par_map_seeded(2, 1, |n, _| n).cache_bytes(1000)).contains("par_map_seeded"));
    assert!(warning(known(10).zip(known(10).shuffle_buffer(5, 1)).cache()).contains("shuffle_buffer"));
    assert!(
        warning(known(10).resample(1, [(1.0, 1.0)], |_| 0).batch(2).cache_file("x")).contains("resample")
    );
    assert!(warnings(rows(10).shuffle(Shuffle::full(1).fixed()).batch(5).cache()).is_empty());
    let choices = known(2).map(|n| n as usize).shuffle_buffer(2, 1);
    let chosen = Stream::choose([known(3), known(3)], choices).cache();
    assert!(warnings(chosen)[0].contains("so shuffle_buffer above it"));
    assert!(warnings(known(10).cache().map_seeded(1, |n, _| n)).is_empty());
    assert!(warnings(known(10).cache().shuffle_buffer(5, 1).batch(2).cache_bytes(1000)).len() == 1);
}

#[test]
fn an_order_that_depends_on_timing() {
    assert!(warning(known(10).par_interleave_unordered(2, known)).contains("par_interleave keeps one"));
    assert!(warnings(known(10).par_interleave(2, 1, known)).is_empty());
}

#[test]
fn ranks_that_pass_over_batches() {
    let rank = |policy| rows(40).distribute(1, 2, 8).unwrap().map(|batch| batch.rows()).on_error(policy);
    assert!(warning(rank(OnError::skip(3))).contains("OnError::replace keeps them equal"));
    assert!(warnings(rank(OnError::stop())).is_empty());
    assert!(warnings(rank(OnError::replace(|_| 0))).is_empty());
    assert!(warnings(rows(40).batch(8).on_error(OnError::skip(3))).is_empty());
}
