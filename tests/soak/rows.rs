//! Rows and verbs put together by chance, by the thousand.

use crate::common::*;
use crate::rounds;
use crate::trials::chains::chains;

#[test]
#[ignore = "10,000 chains of verbs: make soak"]
fn ten_thousand_chains_of_verbs_keep_every_row() {
    within(600, || {
        chains(rounds(10_000));
        println!("measured: {} chains: every row once, bit for bit", rounds(10_000));
    });
}
