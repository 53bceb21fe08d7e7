//! `distribute`, `distribute_exact` and `distribute_masked` give each rank its part of every global batch.

use gristmill::{Batch, Dataset, Length, OnError, Position, Shuffle, Stream};
use proptest::prelude::*;

use crate::common::*;

fn rows(n: u64) -> Dataset {
    Dataset::range(n).unwrap()
}

/// The three verbs.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Last {
    Repeat,
    Drop,
    Mask,
}

const ALL: [Last; 3] = [Last::Repeat, Last::Drop, Last::Mask];

fn part(dataset: &Dataset, last: Last, rank: u64, world: u64, rows: usize) -> Stream<Batch> {
    match last {
        Last::Repeat => dataset.distribute(rank, world, rows),
        Last::Drop => dataset.distribute_exact(rank, world, rows),
        Last::Mask => dataset.distribute_masked(rank, world, rows),
    }
    .unwrap()
}

/// The real rows of a batch.
fn real(batch: &Batch) -> Vec<u64> {
    let values = batch.column::<u64>("0").unwrap();
    let Ok(mask) = batch.column::<bool>("mask") else { return values.to_vec() };
    assert!(values.iter().zip(mask).all(|(value, real)| *real || *value == 0));
    values.iter().zip(mask).filter(|(_, real)| **real).map(|(value, _)| *value).collect()
}

/// The real rows of each step of epoch `k`, all ranks together in their order; all parts must have one size.
fn steps(dataset: &Dataset, last: Last, world: u64, rows: usize, k: u64) -> Vec<Vec<u64>> {
    let mut together: Vec<Vec<u64>> = Vec::new();
    for rank in 0..world {
        let stream = part(dataset, last, rank, world, rows);
        let batches = epoch(&stream, k);
        assert_eq!(stream.length().unwrap(), Length::Exact(batches.len() as u64), "{stream:?}");
        assert!(batches.iter().all(|b| b.rows() as u64 * world == rows as u64), "{stream:?}");
        together.resize(batches.len(), Vec::new());
        together.iter_mut().zip(&batches).for_each(|(step, batch)| step.extend(real(batch)));
    }
    together
}

/// What the steps should be, made of the epoch's rows.
fn model(order: &[u64], last: Last, rows: usize) -> Vec<Vec<u64>> {
    let mut steps: Vec<Vec<u64>> = order.chunks(rows).map(<[u64]>::to_vec).collect();
    match last {
        Last::Repeat => {
            if let Some(step) = steps.last_mut() {
                let missing = rows - step.len();
                step.extend(order.iter().cycle().take(missing));
            }
        }
        Last::Drop => steps.retain(|step| step.len() == rows),
        Last::Mask => {}
    }
    steps
}

#[test]
fn the_ranks_share_out_every_global_batch() {
    let shuffled = rows(100).shuffle(Shuffle::full(7));
    for world in [1, 2, 3, 4, 6] {
        for last in ALL {
            for k in 0..3 {
                let order = shuffled.order(k, 0, 100).unwrap();
                assert_eq!(steps(&shuffled, last, world, 12, k), model(&order, last, 12), "{last:?} {world}");
            }
        }
    }
}

#[test]
fn of_nothing_comes_nothing() {
    for last in ALL {
        assert_eq!(everywhere(&part(&rows(0), last, 1, 2, 4)), []);
    }
}

#[test]
fn one_row_a_full_step_and_one_over() {
    assert_eq!(steps(&rows(1), Last::Repeat, 2, 4, 0), [[0, 0, 0, 0]]);
    assert!(steps(&rows(1), Last::Drop, 2, 4, 0).is_empty());
    assert_eq!(steps(&rows(1), Last::Mask, 2, 4, 0), [[0]]);
    for last in ALL {
        assert_eq!(steps(&rows(8), last, 2, 4, 0), [[0, 1, 2, 3], [4, 5, 6, 7]]);
    }
    assert_eq!(steps(&rows(9), Last::Repeat, 4, 4, 0)[2], [8, 0, 1, 2]);
    assert_eq!(steps(&rows(9), Last::Drop, 4, 4, 0).len(), 2);
    assert_eq!(steps(&rows(9), Last::Mask, 4, 4, 0)[2], [8]);
    let last = values(&part(&rows(9), Last::Mask, 0, 4, 4)).pop().unwrap();
    assert_eq!(last.column::<bool>("mask").unwrap(), [false]);
}

#[test]
fn the_rows_of_a_short_step_are_shared_out_evenly() {
    let real: Vec<usize> =
        (0..4).map(|rank| real(&values(&part(&rows(10), Last::Mask, rank, 4, 16))[0]).len()).collect();
    assert_eq!(real, [2, 3, 2, 3]);
}

#[test]
fn sizes_that_do_not_divide_are_refused_with_those_that_do() {
    let refused = |rank, world, size| rows(9).distribute(rank, world, size).unwrap_err().to_string();
    assert!(refused(0, 8, 100).contains("such as 96 or 104 rows, found 100 rows"), "{}", refused(0, 8, 100));
    assert!(refused(0, 8, 5).contains("such as 8 rows"), "{}", refused(0, 8, 5));
    assert!(refused(0, 3, 0).contains("such as 3 rows"), "{}", refused(0, 3, 0));
    assert!(refused(4, 4, 8).contains("rank 4 of 4") && refused(0, 0, 8).contains("rank 0 of 0"));
    let endless = rows(u64::MAX - 1).distribute(0, 2, 1 << 20).unwrap_err().to_string();
    assert!(endless.contains("2^64"), "{endless}");
}

#[test]
fn a_run_goes_on_under_another_number_of_ranks() {
    let shuffled = rows(100).shuffle(Shuffle::blocks_of(4, 3, 1));
    for last in ALL {
        let whole = steps(&shuffled, last, 6, 12, 2);
        for done in 0..=whole.len() {
            let mut rest = vec![Vec::new(); whole.len() - done];
            for rank in 0..4 {
                let position = Position { epoch: 2, item: done as u64 };
                let batches = part(&shuffled, last, rank, 4, 12).seek(position).unwrap();
                rest.iter_mut().zip(batches).for_each(|(step, b)| step.extend(real(&b.unwrap())));
            }
            assert_eq!(rest, whole[done..], "{last:?} after {done}");
        }
    }
}

#[test]
fn columns_are_changed_while_gathering() {
    let named = || part(&rows(5), Last::Mask, 1, 2, 4).cast::<f32>("0");
    let batches = values(&named().rename("0", "x").select(["mask", "x"]).workers(2));
    assert_eq!(batches[1].column::<f32>("x").unwrap(), [4.0, 0.0]);
    assert_eq!(batches[1].column::<bool>("mask").unwrap(), [true, false]);
    assert_eq!(format!("{:?}", named()), "range(5).distribute_masked(1, 2, 4).cast::<f32>(\"0\")");
    assert_eq!(named().plan().unwrap().steps[1].item_bytes, Some(10));
    assert!(named().select(["nothing"]).iter().is_err());
}

#[test]
fn rows_left_out_and_mixed_rounds_are_warned_about() {
    let warnings = |dataset: &Dataset, last, size| part(dataset, last, 0, 2, size).plan().unwrap().warnings;
    assert!(warnings(&rows(15), Last::Drop, 8)[0].contains("7 of 15 rows"));
    assert!(warnings(&rows(17), Last::Drop, 8).is_empty() && warnings(&rows(15), Last::Mask, 8).is_empty());
    assert!(warnings(&rows(15).repeat(2), Last::Repeat, 10)[0].contains("every 15 rows"));
    assert!(warnings(&rows(20).repeat(2), Last::Repeat, 10).is_empty());
}

#[test]
fn an_error_of_the_source_keeps_its_step() {
    let dataset = brittle(20, 9, false);
    let seen: Vec<_> =
        everywhere(&part(&dataset, Last::Mask, 0, 2, 8)).into_iter().map(|b| b.is_ok()).collect();
    assert_eq!(seen, [true, false, true]);
    let last = outcomes(&part(&dataset, Last::Mask, 0, 2, 8)).pop().unwrap().unwrap();
    assert_eq!(last.column::<bool>("mask").unwrap(), [true, true, false, false]);
}

#[test]
fn dropped_midway_they_leave_no_thread() {
    alone(|| ALL.into_iter().for_each(|last| lets_go(&part(&rows(1000), last, 1, 2, 8).workers(3), 3)));
}

#[test]
fn reopened_they_give_the_same() {
    for last in ALL {
        reopens(&part(&rows(50).shuffle(Shuffle::full(2)), last, 1, 3, 12));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_ranks_share_out_any_batch(n in 0..80u64, world in 1..9u64, part in 1..9u64, last in 0..3usize, k in 0..3u64) {
        let dataset = rows(n).shuffle(Shuffle::full(3));
        let (last, size) = (ALL[last], (part * world) as usize);
        let order = dataset.order(k, 0, n as usize).unwrap();
        prop_assert_eq!(steps(&dataset, last, world, size, k), model(&order, last, size));
    }
}

#[test]
fn batches_that_failed_are_replaced_and_never_shorten_a_rank() {
    let ranks: Vec<_> = (0..3)
        .map(|rank| {
            let batches = rows(50).distribute(rank, 3, 6).unwrap();
            let fails = batches.try_map(|batch| match batch.column::<u64>("0")?.contains(&13) {
                true => Err("thirteen".into()),
                false => Ok::<_, gristmill::BoxError>(batch.rows()),
            });
            values(&fails.on_error(OnError::replace(|_| 0)))
        })
        .collect();
    assert!(ranks.iter().all(|steps| steps.len() == 9));
    assert_eq!(ranks.iter().flatten().filter(|rows| **rows == 0).count(), 1);
}
