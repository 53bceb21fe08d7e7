//! Trainings that are killed by the hundred.

use crate::common::*;
use crate::rounds;
use crate::trials::kills::{KINDS, live, ranks, trainings};

#[test]
#[ignore = "200 kills: make soak"]
fn killed_two_hundred_times_no_item_is_lost() {
    const NAME: &str = "crashes::killed_two_hundred_times_no_item_is_lost";
    if let Some(folder) = child() {
        return live(&folder);
    }
    within(600, || {
        let each = rounds(200).div_ceil(KINDS.len() as u64);
        let twice = trainings(NAME, each);
        println!("measured: {} kills; {twice} items came twice, none was lost", each * KINDS.len() as u64);
    });
}

#[test]
#[ignore = "ranks killed ten times over: make soak"]
fn ranks_that_are_killed_go_on_as_other_numbers_of_ranks() {
    const NAME: &str = "crashes::ranks_that_are_killed_go_on_as_other_numbers_of_ranks";
    match child() {
        Some(folder) => live(&folder),
        None => within(300, || {
            (0..rounds(10)).for_each(|seed| ranks(NAME, seed));
            println!("measured: {} times 4 ranks, then 2, then 3: every row once", rounds(10));
        }),
    }
}
