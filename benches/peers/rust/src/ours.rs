//! Gristmill itself.

use gristmill::{Dataset, Npy, Shuffle};

use crate::clock::{Case, measure, rate};
use crate::data;

/// The rows of both files, every page touched once: shuffled rows and rows in file order have maps of their own.
pub fn open() -> Dataset {
    let open = |path| Npy::open(path).unwrap();
    let rows = Dataset::from_slices((("x", open(data::features())), ("y", open(data::labels())))).unwrap();
    for touch in [rows.clone().shuffle(Shuffle::full(1)), rows.clone()] {
        touch.batch(1024).epoch(0).unwrap().for_each(|batch| drop(batch.unwrap()));
    }
    rows
}

pub fn run(rows: &Dataset, case: &Case, workers: usize) {
    let shuffled = |shuffle| rows.clone().shuffle(shuffle);
    let orders = match case.shuffled {
        true => {
            vec![
                ("Shuffle::full", shuffled(Shuffle::full(1))),
                ("Shuffle::blocks", shuffled(Shuffle::blocks(1))),
            ]
        }
        false => vec![("file order", rows.clone())],
    };
    for (way, rows) in orders {
        let stream = rows.batch(case.batch).prefetch(4).workers(workers);
        let mut number = 0;
        measure("Gristmill", way, case, workers, |start| {
            number += 1;
            rate(stream.epoch(number).unwrap().map(|batch| batch.unwrap().rows()), start)
        });
    }
}
