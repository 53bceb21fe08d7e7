//! Chains of stages over chains of orders against a model that holds every epoch as a list, under all choices of threads, and from
//! any place on.

use std::collections::BTreeSet;
use std::rc::Rc;

use arbitrary::{Result, Unstructured};
use gristmill::{Batch, Dataset, Iter, OnError, Position, Row, Stream, Threads};

use super::models::{
    Item, Model, buffered, dealt, each, fold, grouped, interleaved, over, rounds, spread, stack, unstacked,
};
use super::{clean, orders};

/// A stream and what it should be.
struct Flow {
    stream: Stream<u64>,
    model: Model,
}

pub fn check(input: &[u8]) {
    let mut u = Unstructured::new(input);
    run(&mut u).expect("any bytes are a pipeline");
}

fn run(u: &mut Unstructured) -> Result<()> {
    let mut flow = start(u)?;
    // Errors may come beside the items that a length counts.
    let mut whole = true;
    for _ in 0..u.int_in_range(0..=6)? {
        if (flow.model)(0).len() <= 200 {
            flow = step(u, flow)?;
            whole &= (0..3).all(|epoch| (flow.model)(epoch).iter().all(Item::is_ok));
        }
    }
    let (turn, workers, item) = (u.int_in_range(0..=2)?, u.int_in_range(1..=4)?, u.int_in_range(0..=30)?);
    let setting = |n: u64| {
        let threads = [Threads::None, Threads::Auto, Threads::EachStage][(n as usize + turn) % 3];
        flow.stream.clone().threads(threads).workers(workers)
    };
    for epoch in 0..3 {
        let expected = (flow.model)(epoch);
        let rest = &expected[expected.len().min(item)..];
        let stream = setting(epoch);
        assert_eq!(outcomes(stream.epoch(epoch)), expected, "{stream:?} epoch {epoch}");
        if let (Some(length), true) = (clean(stream.length()).expect("a length").exact(), whole) {
            assert_eq!(length, expected.len() as u64, "{stream:?} epoch {epoch}");
        }
        // The three ways to start in the middle, under other threads each.
        let mut left = clean(setting(epoch + 1).epoch(epoch)).expect("an epoch");
        left.by_ref().take(item).for_each(drop);
        let (position, there) = (left.position(), item.min(expected.len()) as u64);
        assert_eq!(position, Position { epoch, item: there }, "{stream:?}");
        let resumed = setting(epoch + 2).resume(&left.state());
        let sought = setting(epoch + 2).seek(Position { epoch, item: item as u64 });
        for iter in [Ok(left), resumed, sought] {
            let iter = clean(iter).expect("an epoch that was read before");
            assert_eq!(iter.position(), position, "{stream:?} epoch {epoch} from {item}");
            assert_eq!(outcomes(Ok(iter)), rest, "{stream:?} epoch {epoch} from {item}");
        }
    }
    Ok(())
}

/// What is left of an iterator.
fn outcomes(iter: gristmill::Result<Iter<u64>>) -> Vec<Item> {
    let mut iter = clean(iter).expect("a stream without a wrong argument");
    let outcome = |item: gristmill::Result<u64>| {
        let told = item.as_ref().map_err(ToString::to_string).copied();
        clean(item);
        told.map_err(|text| text.rsplit(": ").next().unwrap_or_default().to_owned())
    };
    let seen: Vec<Item> = iter.by_ref().map(outcome).collect();
    assert!(iter.next().is_none(), "an ended iterator goes on");
    seen
}

fn contents(batch: Batch) -> u64 {
    fold(batch.column::<u64>("0").unwrap())
}

fn masked(batch: Batch) -> u64 {
    let real = batch.column::<bool>("mask").unwrap().iter().filter(|real| **real).count();
    contents(batch) ^ (real as u64) << 40
}

fn value(row: Row) -> u64 {
    row.value("0").unwrap()
}

fn numbers(n: u64) -> Stream<u64> {
    Dataset::from_generator(move |epoch| (0..n).map(move |i| i + 100 * epoch))
}

fn numbered(n: u64) -> Model {
    Rc::new(move |epoch| (0..n).map(|i| Ok(i + 100 * epoch)).collect())
}

/// Rows of a chain of orders in one of the ways out of a dataset, or what a generator makes.
fn start(u: &mut Unstructured) -> Result<Flow> {
    let way = u.int_in_range(0..=6)?;
    if way == 0 {
        let n = u.int_in_range(0..=40)?;
        return Ok(Flow { stream: numbers(n), model: numbered(n) });
    }
    let chain = orders::chain(u)?;
    orders::holds(&chain, 7);
    let size = u.int_in_range(1..=9usize)?;
    let orders::Chain { dataset, model, values } = chain;
    let items = move |k| model(k).into_iter().map(|row| Ok(values[row as usize])).collect::<Vec<Item>>();
    let stacked = |exact, finish: fn(Vec<u64>, usize) -> u64| -> Model {
        let items = items.clone();
        Rc::new(move |k| stack(items(k), &[size], exact, &|list| finish(list, size)))
    };
    let batch = dataset.batch(size);
    Ok(match way {
        1 => Flow { stream: dataset.rows().map(value), model: Rc::new(items) },
        2 => Flow { stream: batch.unbatch().map(value), model: Rc::new(items) },
        3 => Flow { stream: batch.map(contents), model: stacked(false, |list, _| fold(&list)) },
        4 => Flow {
            stream: dataset.batch_exact(size).map(contents),
            model: stacked(true, |list, _| fold(&list)),
        },
        5 => Flow { stream: dataset.batch_masked(size).map(masked), model: stacked(false, filled) },
        _ => {
            let casts = batch.rename("0", "x").cast::<f32>("x").select(["x"]).prefetch(1);
            let floats =
                |b: Batch| b.column::<f32>("x").unwrap().iter().map(|x| *x as u64).collect::<Vec<_>>();
            let stream = casts.map(move |batch| fold(&floats(batch)));
            Flow { stream, model: stacked(false, |list, _| fold(&list)) }
        }
    })
}

/// What [`masked`] makes of a batch of `size` rows.
fn filled(mut list: Vec<u64>, size: usize) -> u64 {
    let real = list.len() as u64;
    list.resize(size, 0);
    fold(&list) ^ real << 40
}

fn sparing(n: u64, k: u64) -> Item {
    if n % k == 1 { Err(format!("bad {n}")) } else { Ok(n / 2) }
}

fn step(u: &mut Unstructured, Flow { stream, model }: Flow) -> Result<Flow> {
    let k = u.int_in_range(1..=9u64)?;
    let size = k as usize;
    let flow = |stream, model| Flow { stream, model };
    Ok(match u.int_in_range(0..=27)? {
        0 => flow(stream.map(move |n| n.wrapping_mul(k)), each(&model, move |n| Ok(n.wrapping_mul(k)))),
        1 => flow(stream.try_map(move |n| sparing(n, k)), each(&model, move |n| sparing(n, k))),
        2 => flow(stream.par_map(size % 4, move |n| n ^ k), each(&model, move |n| Ok(n ^ k))),
        3 => flow(stream.par_try_map(size % 4, move |n| sparing(n, k)), each(&model, move |n| sparing(n, k))),
        4 => {
            let kept = move |item: &Item| item.as_ref().map_or(true, |n| n % k != 0);
            flow(
                stream.filter(move |n| n % k != 0),
                over(&model, move |_, mut items| {
                    items.retain(kept);
                    items
                }),
            )
        }
        5 => {
            let n = u.int_in_range(0..=60usize)?;
            flow(stream.take(n as u64), over(&model, move |_, items| items.into_iter().take(n).collect()))
        }
        6 => {
            let n = u.int_in_range(0..=30usize)?;
            flow(stream.skip(n as u64), over(&model, move |_, items| items.into_iter().skip(n).collect()))
        }
        7 => {
            let times = k % 4;
            flow(stream.repeat(times), Rc::new(move |k| rounds(&model, k * times..(k + 1) * times).collect()))
        }
        8 => {
            let many = move |epoch| rounds(&model, epoch..).take(7 * size).collect();
            flow(stream.repeat_forever().take(7 * k), Rc::new(many))
        }
        9 => {
            let (other, second) = sibling(u, &stream, &model)?;
            flow(stream.concat(other), over(&model, move |k, items| [items, second(k)].concat()))
        }
        10 => {
            let (other, second) = sibling(u, &stream, &model)?;
            let pair = |(a, b): (u64, u64)| a.wrapping_mul(7).wrapping_add(b);
            let pairs = move |k, items: Vec<Item>| {
                items.into_iter().zip(second(k)).map(|(a, b)| Ok(pair((a?, b?)))).collect()
            };
            flow(stream.zip(other).map(pair), over(&model, pairs))
        }
        11 => {
            let numbered = |(at, item): (usize, Item)| item.map(|n| n ^ (at as u64 + 3));
            let model = over(&model, move |_, items| items.into_iter().enumerate().map(numbered).collect());
            flow(stream.enumerate_from(3).map(|(at, n)| n ^ at), model)
        }
        12 => flow(if size == 9 { stream.prefetch_auto() } else { stream.prefetch(size - 1) }, model),
        13 => flow(stream.prefetch(17 * size), model),
        14 => flow(
            stream.batch(size).map(contents),
            over(&model, move |_, items| stack(items, &[size], false, &|list| fold(&list))),
        ),
        15 => flow(
            stream.batch_exact(size).map(contents),
            over(&model, move |_, items| stack(items, &[size], true, &|list| fold(&list))),
        ),
        16 => flow(
            stream.batch_masked(size).map(masked),
            over(&model, move |_, items| stack(items, &[size], false, &|list| filled(list, size))),
        ),
        17 => flow(
            stream.batch(size).unbatch().map(value),
            over(&model, move |_, items| unstacked(items, size)),
        ),
        18 => {
            let (sizes, exact) = ([u.int_in_range(1..=5)?, size], u.arbitrary()?);
            let batches = stream.batch(4);
            let batches = if exact { batches.rebatch_exact(sizes) } else { batches.rebatch(sizes) };
            flow(
                batches.map(contents),
                over(&model, move |_, items| stack(unstacked(items, 4), &sizes, exact, &|list| fold(&list))),
            )
        }
        19 => {
            let (shift, stride, exact) = (u.int_in_range(1..=4)?, u.int_in_range(1..=3)?, u.arbitrary()?);
            let windows = match exact {
                true => stream.window_exact(size, shift, stride),
                false => stream.window(size, shift, stride),
            };
            flow(
                windows.map(|list| fold(&list)),
                over(&model, move |_, items| {
                    let window = |from: usize| items[from..].iter().step_by(stride).take(size);
                    let starts = (0..items.len()).step_by(shift);
                    let starts = starts.filter(|from| !exact || window(*from).len() == size);
                    let list =
                        |from| window(from).cloned().collect::<std::result::Result<Vec<u64>, String>>();
                    starts.map(|from| list(from).map(|list| fold(&list))).collect()
                }),
            )
        }
        20 => {
            let seed = u.int_in_range(0..=3)?;
            flow(
                stream.shuffle_buffer(size, seed),
                over(&model, move |k, items| buffered(items, size, seed, k)),
            )
        }
        21 => {
            let several = move |n: u64| (0..n % k).map(move |i| n ^ i << 20);
            let model = over(&model, move |_, items| {
                items.into_iter().flat_map(|item| spread(item, several)).collect()
            });
            flow(stream.flat_map(several), model)
        }
        22 => {
            let (cycle, block) = (u.int_in_range(1..=4)?, u.int_in_range(1..=3)?);
            let several =
                move |n: u64| Dataset::from_generator(move |_| (0..n % k).map(move |i| n ^ i << 20));
            let stream = match u.int_in_range(0..=2)? {
                0 => stream.interleave(cycle, block, several),
                1 => stream.par_interleave(cycle, block, several),
                _ if cycle == 1 => stream.flat_map_stream(several),
                _ => stream.par_interleave(cycle, block, several),
            };
            flow(
                stream,
                over(&model, move |_, items| {
                    interleaved(items, cycle, block, |n| (0..n % k).map(|i| n ^ i << 20).collect())
                }),
            )
        }
        23 => flow(
            stream.unique_by(move |n| n % (4 * k)),
            over(&model, move |_, items| {
                let mut seen = BTreeSet::new();
                items
                    .into_iter()
                    .filter(|item| item.as_ref().map_or(true, |n| seen.insert(n % (4 * k))))
                    .collect()
            }),
        ),
        24 => {
            let go_on = move |n: &u64| n % 16 < k + 6;
            let before = move |item: &Item| item.as_ref().map_or(true, go_on);
            let stream = stream.take_while(go_on).scan(
                |epoch| epoch,
                |sum, n| {
                    *sum = sum.wrapping_add(n);
                    *sum
                },
            );
            flow(
                stream,
                over(&model, move |k, items| {
                    let mut sum = k;
                    let mut add = |n| {
                        sum = u64::wrapping_add(sum, n);
                        sum
                    };
                    items.into_iter().take_while(before).map(|item| item.map(&mut add)).collect()
                }),
            )
        }
        25 => {
            let (other, second) = sibling(u, &stream, &model)?;
            let (weights, to_end) = ([k, u.int_in_range(0..=4)?], u.arbitrary()?);
            let turns =
                Stream::mix([(numbers(9000).map(|_| 0), weights[0]), (numbers(9000).map(|_| 1), weights[1])]);
            let turns: Vec<usize> = turns.take(3000).iter().unwrap().map(|turn| turn.unwrap()).collect();
            let parts = [(stream, weights[0]), (other, weights[1])];
            let stream = if to_end { Stream::mix_to_end(parts) } else { Stream::mix(parts) };
            let ends = to_end && weights[1] > 0;
            flow(stream, over(&model, move |k, items| dealt([items, second(k)], &turns, ends, to_end)))
        }
        26 => {
            let cached = move |_| model(0);
            flow(stream.cache(), Rc::new(cached))
        }
        _ => match u.int_in_range(0..=3)? {
            0 => flow(
                stream.on_error(OnError::skip(u64::MAX)),
                over(&model, |_, mut items| {
                    items.retain(Item::is_ok);
                    items
                }),
            ),
            1 => {
                let instead = |epoch, item| 1000 * epoch + item;
                let stream = stream.on_error(OnError::replace(move |place| instead(place.epoch, place.item)));
                flow(
                    stream,
                    over(&model, move |k, items| {
                        let good =
                            |(at, item): (usize, Item)| Ok(item.unwrap_or_else(|_| instead(k, at as u64)));
                        items.into_iter().enumerate().map(good).collect()
                    }),
                )
            }
            2 => {
                let groups = stream.group_by_window(size, |n| n % 3).map(|list| fold(&list));
                flow(groups, over(&model, move |_, items| grouped(items, size)))
            }
            _ => {
                // The numbers drawn at the places of any stream.
                let draw = move |stream: Stream<u64>| stream.map_seeded(k, |n, random| n ^ random.below(100));
                let plain = draw(numbers(9000).map(|_| 0));
                let model = over(&model, move |k, items| {
                    let drawn = plain.epoch(k).unwrap().map(|n| n.unwrap());
                    items.into_iter().zip(drawn).map(|(item, drawn)| item.map(|n| n ^ drawn)).collect()
                });
                let workers = u.int_in_range(0..=3)?;
                let stream = match workers {
                    0 => draw(stream),
                    _ => stream.par_map_seeded(workers, k, |n, random| n ^ random.below(100)),
                };
                flow(stream, model)
            }
        },
    })
}

/// Another stream, or the same once more from its second item on.
fn sibling(u: &mut Unstructured, stream: &Stream<u64>, model: &Model) -> Result<(Stream<u64>, Model)> {
    if u.arbitrary()? {
        return Ok((stream.clone().skip(1), over(model, |_, items| items.into_iter().skip(1).collect())));
    }
    let n = u.int_in_range(0..=30)?;
    Ok((numbers(n), numbered(n)))
}
