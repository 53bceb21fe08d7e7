//! Chains of orders against a model that holds every epoch as a list.

use std::rc::Rc;

use arbitrary::{Result, Unstructured};
use gristmill::{Dataset, Shuffle};

/// The rows of epoch `k`, as a function of the epochs below.
pub type Model = Rc<dyn Fn(u64) -> Vec<u64>>;

/// A dataset and what it should be.
pub struct Chain {
    pub dataset: Dataset,
    pub model: Model,
    /// What the rows of the dataset's source hold, by their numbers.
    pub values: Vec<u64>,
}

/// The rows 0 to n-1.
fn rows(n: u64) -> Dataset {
    Dataset::range(n).unwrap()
}

/// All row numbers of one epoch.
fn epoch(dataset: &Dataset, k: u64) -> Vec<u64> {
    dataset.order(k, 0, usize::MAX).unwrap()
}

/// The chain that the input says, compared with its model.
pub fn check(input: &[u8]) {
    let mut u = Unstructured::new(input);
    let chain = chain(&mut u).expect("any bytes are a chain");
    let from = u.int_in_range(0..=49).expect("any bytes are a number");
    holds(&chain, from);
}

/// Asks for whole epochs, and for a few rows from position `from` on.
pub fn holds(Chain { dataset, model, .. }: &Chain, from: u64) {
    for k in [0, 1, 4] {
        let expected = model(k);
        assert_eq!(dataset.len(), expected.len() as u64, "{dataset:?}");
        assert_eq!(epoch(dataset, k), expected, "{dataset:?} epoch {k}");
        let piece = dataset.order(k, from, 5).unwrap();
        let start = expected.len().min(from as usize);
        assert_eq!(
            piece,
            expected[start..expected.len().min(start + 5)],
            "{dataset:?} epoch {k} from {from}"
        );
    }
}

/// Up to four verbs over up to 60 rows.
pub fn chain(u: &mut Unstructured) -> Result<Chain> {
    let n = u.int_in_range(0..=59)?;
    let mut chain =
        Chain { dataset: rows(n), model: Rc::new(move |_| (0..n).collect()), values: (0..n).collect() };
    for _ in 0..u.int_in_range(0..=4)? {
        if chain.dataset.len() <= 2000 {
            chain = verb(u, chain, n)?;
        }
    }
    Ok(chain)
}

fn verb(u: &mut Unstructured, Chain { dataset, model, mut values }: Chain, n: u64) -> Result<Chain> {
    let len = dataset.len();
    let (dataset, model): (Dataset, Model) = match u.int_in_range(0..=12)? {
        0 => {
            let rows = u.int_in_range(0..=39)?;
            (dataset.take(rows), Rc::new(move |k| model(k).into_iter().take(rows as usize).collect()))
        }
        1 => {
            let rows = u.int_in_range(0..=19)?;
            (dataset.skip(rows), Rc::new(move |k| model(k).into_iter().skip(rows as usize).collect()))
        }
        2 => {
            let count = u.int_in_range(1..=4)?;
            let i = u.int_in_range(0..=count - 1)?;
            let part = move |k| model(k).into_iter().skip(i as usize).step_by(count as usize).collect();
            (dataset.shard(count, i).unwrap(), Rc::new(part))
        }
        3 => (dataset.reverse(), Rc::new(move |k| model(k).into_iter().rev().collect())),
        4 => {
            let times = u.int_in_range(0..=3)?;
            (dataset.repeat(times), Rc::new(move |k| (0..times).flat_map(|i| model(k * times + i)).collect()))
        }
        5 => {
            let chosen = if len > 0 { u.int_in_range(0..=11)? } else { 0 };
            let list: Vec<u64> = (0..chosen).map(|_| u.int_in_range(0..=len - 1)).collect::<Result<_>>()?;
            let chosen = dataset.select(list.clone()).unwrap();
            (chosen, Rc::new(move |k| list.iter().map(|row| model(k)[*row as usize]).collect()))
        }
        6 => {
            // The rows of another source are numbered after those of this one.
            let more = u.int_in_range(0..=9)?.min(n);
            let joined = dataset.concat(&rows(n).take(more)).unwrap();
            let offset = values.len() as u64;
            values.extend(0..n);
            (joined, Rc::new(move |k| model(k).into_iter().chain(offset..offset + more).collect()))
        }
        7 => {
            let share = f64::from(u.int_in_range(0..=10u8)?) / 10.0;
            let second = u.arbitrary()?;
            // Which places go where is the same for any rows: ask a plain range.
            let part = |(first, other): (Dataset, Dataset)| if second { other } else { first };
            let places = epoch(&part(rows(len).split(share, 3).unwrap()), 0);
            let part = part(dataset.split(share, 3).unwrap());
            (part, Rc::new(move |k| places.iter().map(|p| model(k)[*p as usize]).collect()))
        }
        8 => {
            let drawn = if len == 0 { 0 } else { u.int_in_range(0..=49)? };
            let seed = u.int_in_range(0..=4)?;
            permuted(dataset, model, |rows| rows.sample(drawn, seed).unwrap())
        }
        9 => {
            let (a, b) = (u.int_in_range(1..=3)?, u.int_in_range(1..=3)?);
            // With itself, backwards: both are rows of one source.
            let mixed = Dataset::mix([(&dataset, a), (&dataset.reverse(), b)]).unwrap();
            // Whose turn it is, seen on rows without end.
            let turns = Dataset::mix([(&rows(9000), a), (&rows(9000), b)]).unwrap();
            let turns: Vec<bool> = epoch(&turns.take(9000), 0).into_iter().map(|row| row < 9000).collect();
            let model = move |k| {
                let (mut rows, mut back) = (model(k).into_iter(), model(k).into_iter().rev());
                turns.iter().map_while(|first| if *first { rows.next() } else { back.next() }).collect()
            };
            (mixed, Rc::new(model))
        }
        10 => {
            let how = Shuffle::full(u.int_in_range(0..=4)?);
            permuted(dataset, model, |rows| rows.shuffle(how))
        }
        11 => {
            let (rows, group) = (u.int_in_range(1..=8)?, u.int_in_range(1..=3)?);
            let how = Shuffle::blocks_of(rows, group, u.int_in_range(0..=4)?);
            permuted(dataset, model, |rows| rows.shuffle(how))
        }
        _ => {
            let how = Shuffle::buffer(u.int_in_range(1..=8)?, u.int_in_range(0..=4)?);
            permuted(dataset, model, |rows| rows.shuffle(how))
        }
    };
    Ok(Chain { dataset, model, values })
}

/// A verb that picks places of any dataset as it picks those of a plain range.
fn permuted(dataset: Dataset, model: Model, verb: impl Fn(&Dataset) -> Dataset) -> (Dataset, Model) {
    let plain = verb(&rows(dataset.len()));
    let picked = move |k| {
        let rows = model(k);
        epoch(&plain, k).into_iter().map(|place| rows[place as usize]).collect()
    };
    (verb(&dataset), Rc::new(picked))
}
