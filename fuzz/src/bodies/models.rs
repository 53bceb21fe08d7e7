//! What stages do to the items of an epoch, on lists.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use gristmill::{Dataset, Threads};

/// A number, or what an item's error says.
pub(super) type Item = Result<u64, String>;

/// The items of epoch `k`.
pub(super) type Model = Rc<dyn Fn(u64) -> Vec<Item>>;

/// Items that are lists become one number.
pub(super) fn fold(list: &[u64]) -> u64 {
    list.iter().fold(list.len() as u64, |sum, n| sum.wrapping_mul(31).wrapping_add(*n))
}

/// A model over another.
pub(super) fn over(model: &Model, change: impl Fn(u64, Vec<Item>) -> Vec<Item> + 'static) -> Model {
    let model = model.clone();
    Rc::new(move |k| change(k, model(k)))
}

/// A model that changes the numbers, one by one.
pub(super) fn each(model: &Model, change: impl Fn(u64) -> Item + 'static) -> Model {
    over(model, move |_, items| items.into_iter().map(|item| item.and_then(&change)).collect())
}

/// The items of several epochs. One that has none is the last.
pub(super) fn rounds(model: &Model, epochs: impl Iterator<Item = u64>) -> impl Iterator<Item = Item> {
    epochs.map(|epoch| model(epoch)).take_while(|round| !round.is_empty()).flatten()
}

/// Lists of `sizes`, round and round. An error passes at once, and the list goes on filling after it.
pub(super) fn stack(
    items: Vec<Item>,
    sizes: &[usize],
    exact: bool,
    finish: &dyn Fn(Vec<u64>) -> u64,
) -> Vec<Item> {
    let (mut made, mut open, mut sizes) = (Vec::new(), Vec::new(), sizes.iter().cycle());
    let mut size = sizes.next();
    for item in items {
        match item {
            Err(text) => made.push(Err(text)),
            Ok(n) => open.push(n),
        }
        if Some(&open.len()) == size {
            made.push(Ok(finish(std::mem::take(&mut open))));
            size = sizes.next();
        }
    }
    made.extend(Some(open).filter(|open| !exact && !open.is_empty()).map(|open| Ok(finish(open))));
    made
}

/// Numbers that are in a stack, put back where they were: what batching and unbatching does to errors alone.
pub(super) fn unstacked(items: Vec<Item>, size: usize) -> Vec<Item> {
    let (mut made, mut open) = (Vec::new(), Vec::new());
    for item in items {
        match item {
            Err(text) => made.push(Err(text)),
            Ok(n) => open.push(Ok(n)),
        }
        if open.len() == size {
            made.append(&mut open);
        }
    }
    made.append(&mut open);
    made
}

/// The numbers an item becomes, or its error.
pub(super) fn spread<I: Iterator<Item = u64>>(item: Item, several: impl Fn(u64) -> I) -> Vec<Item> {
    match item {
        Ok(n) => several(n).map(Ok).collect(),
        error => vec![error],
    }
}

/// A shuffle buffer moves numbers as it moves those of a plain range. An error comes when it is met while the buffer is filled up, which
/// it is before a number is given out.
pub(super) fn buffered(items: Vec<Item>, size: usize, seed: u64, epoch: u64) -> Vec<Item> {
    let good: Vec<u64> = items.iter().flatten().copied().collect();
    let count = good.len() as u64;
    let plain = Dataset::from_generator(move |_| 0..count).shuffle_buffer(size, seed).threads(Threads::None);
    let mut moved = plain.epoch(epoch).unwrap().map(|place| good[place.unwrap() as usize]);
    let (mut made, mut met, mut given) = (Vec::new(), 0, 0);
    for item in items {
        while met - given == size {
            given += 1;
            made.extend(moved.next().map(Ok));
        }
        match item {
            Ok(_) => met += 1,
            error => made.push(error),
        }
    }
    made.extend(moved.map(Ok));
    made
}

/// Places that are visited in turn, and give up to `block` numbers each of what an item became.
pub(super) fn interleaved(
    items: Vec<Item>,
    cycle: usize,
    block: usize,
    several: impl Fn(u64) -> VecDeque<u64>,
) -> Vec<Item> {
    let mut items = items.into_iter().peekable();
    let (mut made, mut places, mut at) = (Vec::new(), Vec::<Option<VecDeque<u64>>>::new(), 0);
    while items.peek().is_some() || places.iter().any(Option::is_some) {
        if at == places.len() && at < cycle && items.peek().is_some() {
            places.push(None);
        }
        if at >= places.len() {
            at = 0;
            continue;
        }
        while places[at].is_none() {
            match items.next() {
                Some(Ok(n)) => places[at] = Some(several(n)),
                Some(error) => made.push(error),
                None => break,
            }
        }
        let Some(open) = &mut places[at] else {
            at += 1;
            continue;
        };
        let ends = open.len() < block;
        made.extend(open.drain(..block.min(open.len())).map(Ok));
        if ends {
            places[at] = None;
        }
        at += 1;
    }
    made
}

/// Items of two parts as `turns` says, until the part is over whose turn it is; or the rest of the other, to the end.
pub(super) fn dealt(parts: [Vec<Item>; 2], turns: &[usize], both: bool, to_end: bool) -> Vec<Item> {
    let mut parts = parts.map(Vec::into_iter);
    let mut made = Vec::new();
    for turn in turns {
        match parts[*turn].next() {
            Some(item) => made.push(item),
            None if to_end => {
                if both {
                    made.extend(parts[1 - turn].by_ref());
                }
                break;
            }
            None => break,
        }
    }
    made
}

/// Groups of `size` numbers that are alike, and at the end those that are not full.
pub(super) fn grouped(items: Vec<Item>, size: usize) -> Vec<Item> {
    let (mut made, mut open) = (Vec::new(), BTreeMap::<u64, Vec<u64>>::new());
    for item in items {
        match item {
            Err(text) => made.push(Err(text)),
            Ok(n) => {
                let group = open.entry(n % 3).or_default();
                group.push(n);
                if group.len() == size {
                    made.push(Ok(fold(&std::mem::take(group))));
                }
            }
        }
    }
    made.extend(open.into_values().filter(|group| !group.is_empty()).map(|group| Ok(fold(&group))));
    made
}
