//! Random chains of orders against a model that holds every epoch as a list.

use gristmill::Shuffle;
use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Verb {
    Take(u64),
    Skip(u64),
    Shard(u64, u64),
    Reverse,
    Repeat(u64),
    Select(Vec<u64>),
    Concat(u64),
    Split(u8, u8),
    Full(u64),
    Blocks(u64, u64, u64),
    Buffer(u64, u64),
    Sample(u64, u64),
    Mix(u64, u64),
}

fn verb() -> impl Strategy<Value = Verb> {
    prop_oneof![
        (0..40u64).prop_map(Verb::Take),
        (0..20u64).prop_map(Verb::Skip),
        (1..5u64, 0..5u64).prop_map(|(n, i)| Verb::Shard(n, i % n)),
        Just(Verb::Reverse),
        (0..4u64).prop_map(Verb::Repeat),
        prop::collection::vec(0..1000u64, 0..12).prop_map(Verb::Select),
        (0..10u64).prop_map(Verb::Concat),
        (0..=10u8, 0..2u8).prop_map(|(tenths, part)| Verb::Split(tenths, part)),
        (0..5u64).prop_map(Verb::Full),
        (1..9u64, 1..4u64, 0..5u64).prop_map(|(rows, group, seed)| Verb::Blocks(rows, group, seed)),
        (1..9u64, 0..5u64).prop_map(|(rows, seed)| Verb::Buffer(rows, seed)),
        (0..50u64, 0..5u64).prop_map(|(rows, seed)| Verb::Sample(rows, seed)),
        (1..4u64, 1..4u64).prop_map(|(a, b)| Verb::Mix(a, b)),
    ]
}

/// A dataset and what its epoch `k` should be, as a function of the epochs below.
type Model = Box<dyn Fn(u64) -> Vec<u64>>;

fn apply(dataset: Dataset, model: Model, n: u64, verb: Verb) -> (Dataset, Model) {
    let len = dataset.len();
    match verb {
        Verb::Take(rows) => {
            (dataset.take(rows), Box::new(move |k| model(k).into_iter().take(rows as usize).collect()))
        }
        Verb::Skip(rows) => {
            (dataset.skip(rows), Box::new(move |k| model(k).into_iter().skip(rows as usize).collect()))
        }
        Verb::Shard(count, i) => (
            dataset.shard(count, i).unwrap(),
            Box::new(move |k| model(k).into_iter().skip(i as usize).step_by(count as usize).collect()),
        ),
        Verb::Reverse => (dataset.reverse(), Box::new(move |k| model(k).into_iter().rev().collect())),
        Verb::Repeat(times) => (
            dataset.repeat(times),
            Box::new(move |k| (0..times).flat_map(|i| model(k * times + i)).collect()),
        ),
        Verb::Select(list) => {
            let list: Vec<u64> = list.into_iter().filter(|_| len > 0).map(|row| row % len.max(1)).collect();
            let chosen = dataset.select(list.clone()).unwrap();
            (chosen, Box::new(move |k| list.iter().map(|row| model(k)[*row as usize]).collect()))
        }
        Verb::Concat(rows) => {
            // The first rows of the same source: numbers stay comparable.
            let first = super::rows(n).take(rows);
            let joined = dataset.concat(&first).unwrap();
            let offset = match joined.order(0, len, 1).unwrap().first() {
                Some(row) => *row,
                None => 0,
            };
            let rows = rows.min(n);
            (joined, Box::new(move |k| model(k).into_iter().chain((0..rows).map(|r| r + offset)).collect()))
        }
        Verb::Split(tenths, part) => {
            let (first, second) = dataset.split(f64::from(tenths) / 10.0, 3).unwrap();
            // Which places go where is the same for any rows: ask a plain range.
            let (plain_first, plain_second) = super::rows(len).split(f64::from(tenths) / 10.0, 3).unwrap();
            let (chosen, plain) = if part == 0 { (first, plain_first) } else { (second, plain_second) };
            let places = epoch(&plain, 0);
            (chosen, Box::new(move |k| places.iter().map(|p| model(k)[*p as usize]).collect()))
        }
        Verb::Sample(drawn, seed) => {
            let drawn = if len == 0 { 0 } else { drawn };
            let plain = super::rows(len).sample(drawn, seed).unwrap();
            let model = move |k| {
                let rows = model(k);
                epoch(&plain, k).into_iter().map(|place| rows[place as usize]).collect()
            };
            (dataset.sample(drawn, seed).unwrap(), Box::new(model))
        }
        Verb::Mix(a, b) => {
            // With itself, backwards: both are rows of one source.
            let mixed = Dataset::mix([(&dataset, a), (&dataset.reverse(), b)]).unwrap();
            // Whose turn it is, seen on rows without end.
            let turns = Dataset::mix([(&super::rows(9000), a), (&super::rows(9000), b)]).unwrap();
            let turns: Vec<bool> =
                turns.order(0, 0, 9000).unwrap().into_iter().map(|row| row < 9000).collect();
            let model = move |k| {
                let (rows, back) = (model(k), model(k).into_iter().rev().collect::<Vec<_>>());
                let (mut rows, mut back) = (rows.into_iter(), back.into_iter());
                turns.iter().map_while(|first| if *first { rows.next() } else { back.next() }).collect()
            };
            (mixed, Box::new(model))
        }
        Verb::Full(seed) => shuffled(dataset, model, Shuffle::full(seed)),
        Verb::Blocks(rows, group, seed) => shuffled(dataset, model, Shuffle::blocks_of(rows, group, seed)),
        Verb::Buffer(rows, seed) => shuffled(dataset, model, Shuffle::buffer(rows, seed)),
    }
}

/// A shuffle of any dataset permutes its places as it permutes those of a plain range.
fn shuffled(dataset: Dataset, model: Model, how: Shuffle) -> (Dataset, Model) {
    let plain = rows(dataset.len()).shuffle(how);
    let permuted = move |k| {
        let rows = model(k);
        epoch(&plain, k).into_iter().map(|place| rows[place as usize]).collect()
    };
    (dataset.shuffle(how), Box::new(permuted))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_chain_of_orders_is_its_model(n in 0..60u64, verbs in prop::collection::vec(verb(), 0..5), from in 0..50u64) {
        let (mut dataset, mut model): (Dataset, Model) = (rows(n), Box::new(move |_| (0..n).collect()));
        for verb in verbs {
            if dataset.len() > 2000 {
                break;
            }
            (dataset, model) = apply(dataset, model, n, verb);
        }
        for k in [0, 1, 4] {
            let expected = model(k);
            prop_assert_eq!(dataset.len(), expected.len() as u64, "{:?}", dataset);
            prop_assert_eq!(&epoch(&dataset, k), &expected, "{:?} epoch {}", dataset, k);
            let piece = dataset.order(k, from, 5).unwrap();
            let start = expected.len().min(from as usize);
            prop_assert_eq!(&piece, &expected[start..expected.len().min(start + 5)], "{:?} from {}", dataset, from);
        }
    }
}
