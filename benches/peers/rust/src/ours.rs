//! Gristmill itself.

use gristmill::{Dataset, Npy, Shuffle};

use crate::clock::{CASES, measure, rate};
use crate::data;

pub fn run() {
    let open = |path| Npy::open(path).unwrap();
    let rows = Dataset::from_slices((("x", open(data::features())), ("y", open(data::labels())))).unwrap();
    for case in &CASES {
        let orders = match case.shuffled {
            true => {
                vec![("Shuffle::full", Some(Shuffle::full(1))), ("Shuffle::blocks", Some(Shuffle::blocks(1)))]
            }
            false => vec![("file order", None)],
        };
        for (way, shuffle) in orders {
            let rows = match shuffle {
                Some(shuffle) => rows.clone().shuffle(shuffle),
                None => rows.clone(),
            };
            for workers in [1, 2] {
                let stream = rows.clone().batch(case.batch).prefetch(4).workers(workers);
                let mut number = 0;
                measure("Gristmill", way, case, workers, |start| {
                    number += 1;
                    rate(stream.epoch(number).unwrap().map(|batch| batch.unwrap().rows()), start)
                });
            }
        }
    }
}
