//! Every row once and bit for bit: each verb alone over every kind of file, and all of them together by chance.

use gristmill::Dataset;

use crate::common::*;
use crate::trials::chains::*;

#[test]
fn every_verb_keeps_every_row_of_every_file() {
    watchdog(|| {
        let dir = Dir::new();
        let mut number = 0;
        // No rows, one, fewer than a batch takes, and more; rows of nothing, too.
        for (rows, width) in [(0, 2), (1, 1), (5, 0), (5, 2), (23, 3)] {
            for file in 0..FILES {
                let table = Table { rows, width, float: (rows + file) % 3, file };
                let whole = table.open(&dir.path(""));
                ORDERS.iter().for_each(|verb| complete(&table, &verb(whole.clone()).batch(8), 1));
                BATCHES.iter().for_each(|verb| complete(&table, &verb(&whole, 8), 0));
                for verb in STAGES {
                    number += 1;
                    complete(&table, &verb(whole.batch(2), &dir.path(&number.to_string())), 0);
                }
            }
        }
    });
}

#[test]
fn any_chain_of_verbs_keeps_every_row() {
    watchdog(|| chains(300));
}

#[test]
fn bits_are_kept_where_items_are_no_batches() {
    let (floats, wanted) = lists();
    let ragged = values(&floats.clone().ragged_batch(3));
    assert_eq!(ragged.iter().flat_map(|batch| bits(batch.values("0").unwrap())).collect::<Vec<_>>(), wanted);
    let packed = values(&floats.clone().pack(14, 1).batch(1));
    assert_eq!(packed.iter().flat_map(|batch| bits(batch.array("0").unwrap())).collect::<Vec<_>>(), wanted);
    let typed = values(&floats.clone().batch(3).typed::<f32>().unwrap());
    assert_eq!(typed.into_iter().flat_map(|tensor| bits(&tensor.into_array())).collect::<Vec<_>>(), wanted);
    let once: Vec<f32> = wanted.iter().map(|bits| f32::from_bits(*bits)).collect();
    let rows = Dataset::from_slices(once).unwrap();
    let windows = values(&rows.windows(7, 7).unwrap().batch(2));
    assert_eq!(windows.iter().flat_map(|batch| bits(&batch.arrays()[0])).collect::<Vec<_>>(), wanted);
    let same = values(&rows.batch(9).cast::<f32>("0"));
    assert_eq!(same.iter().flat_map(|batch| bits(&batch.arrays()[0])).collect::<Vec<_>>(), wanted);
}
