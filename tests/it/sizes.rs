//! Sizes that mean nothing, in every verb that takes one and every file that holds one: data or an error, never a panic, an abort, or
//! memory without bound. `hostile.rs` has the same for batches, links, workers and the plain orders.

use gristmill::{
    Batch, Buckets, DType, Dataset, Error, OnError, Pad, Position, Raw, Result, Save, Shuffle, Stream,
    Threads,
};

use crate::bodies::clean;
use crate::common::*;
use crate::hostile::small;
use crate::npy::{Dir, npy};

const SIZES: [u64; 8] = [0, 1, 2, 1 << 31, 1 << 32, 1 << 62, 1 << 63, u64::MAX];

fn five() -> Dataset {
    Dataset::range(5).unwrap()
}

fn rows() -> Stream<Batch> {
    five().batch(2)
}

/// Whatever comes of the first items, which may be errors.
fn some<T: Send + 'static>(stream: Result<Stream<T>>) {
    let Some(stream) = clean(stream) else { return };
    for threads in [Threads::Auto, Threads::None] {
        let stream = stream.clone().threads(threads);
        clean(stream.length());
        clean(stream.plan());
        if let Some(iter) = clean(stream.iter()) {
            iter.take(20).for_each(|item| drop(clean(item)));
        }
        if let Some(mut iter) = clean(stream.seek(Position { epoch: 1, item: 3 })) {
            iter.next().map(clean);
        }
    }
}

fn orders(size: u64) -> Vec<Result<Dataset>> {
    let n = size as usize;
    let other = five();
    vec![
        five().sample(size, 1),
        five().sample_weighted(size, [1.0, 0.0, 2.0, f64::MAX, 1e-300], 1),
        five().sample_weighted(3, [size as f64; 5], 1),
        five().windows(n, 1),
        five().windows(1, size),
        five().windows(n, size),
        five().group_by_length("0", n, 1),
        Dataset::mix([(&other, size), (&other, 1)]),
        Dataset::mix([(&other, size), (&other, size)]),
        Dataset::mix([(&other, size), (&other, u64::MAX)]),
        Dataset::choose([&other, &other], [size as u32, 0]),
        Ok(five().repeat(size).shuffle(Shuffle::full(1))),
        Ok(five().repeat(size).shuffle(Shuffle::buffer(size, 1))),
        Ok(five().repeat(size).shuffle(Shuffle::blocks_of(size, 2, 1))),
        five().repeat(size).split(0.5, 1).map(|(some, _)| some),
        five().repeat(size).concat(&other),
        Dataset::range(size),
        Dataset::range_by(size as i64, i64::MAX, size as i64),
        Dataset::range(size).and_then(|all| all.shuffle(Shuffle::full(3)).shard(3, 1)),
        Dataset::range(size).and_then(|all| all.windows(4, 3)),
        five().select(vec![size]),
    ]
}

#[test]
fn orders_take_any_size() {
    small(|| {
        for size in SIZES {
            for (i, made) in orders(size).into_iter().enumerate() {
                println!("order {i}, {size}");
                let Some(rows) = clean(made) else { continue };
                clean(rows.order(0, 0, 5));
                clean(rows.order(1, rows.len() / 2, 5));
                clean(rows.order(size, size, 5));
                some(Ok(rows.batch(2)));
                some(rows.take(9).distribute(0, 2, 4));
            }
        }
    });
}

fn stages(size: u64) -> Vec<Result<Stream<String>>> {
    let n = size as usize;
    let lists = || five().rows().map(|row| vec![row.value::<u64>("0").unwrap(); 3]);
    fn told<T: std::fmt::Debug + Send + 'static>(stream: Stream<T>) -> Result<Stream<String>> {
        Ok(stream.map(|item| format!("{item:?}")))
    }
    vec![
        told(rows().window(n, 1, 1)),
        told(rows().window(2, n, 1)),
        told(rows().window(2, 1, n)),
        told(rows().window(n, n, n)),
        told(rows().window_exact(n, n, n)),
        told(rows().rebatch(n)),
        told(rows().rebatch_exact(n)),
        told(rows().rebatch([1, n])),
        told(numbers(5).interleave(n, 1, numbers)),
        told(numbers(5).interleave(1, n, numbers)),
        told(numbers(5).par_interleave(n.min(4), n, numbers)),
        told(numbers(5).interleave(n, n, numbers)),
        told(lists().padded_batch(n, Pad::longest())),
        told(lists().padded_batch(2, Pad::longest().axis("0", 0, n))),
        told(lists().padded_batch_exact(n, Pad::longest().axis("0", n, 4))),
        told(lists().ragged_batch(n).map(|b| b.rows())),
        told(lists().ragged_batch_exact(n).map(|b| b.rows())),
        told(lists().pack(n, 1)),
        told(lists().pack(4, n)),
        told(lists().pack(n, n)),
        told(lists().bucket_by_length(Buckets::new([n], [1, n]), |list| list.len())),
        told(lists().bucket_by_length(Buckets::new([2], [n, n]).to_boundary("0"), move |_| n)),
        told(lists().bucket_by_length(Buckets::new([n], [2, 2]).to_boundary("0"), |list| list.len())),
        told(numbers(5).group_by_window(n, |n| *n)),
        told(numbers(5).group_by_window_sized(|n| n % 2, move |_| n)),
        told(rows().pad_to(size)),
        told(five().rows().pad_to(size)),
        told(five().rows().pad_to(size).batch(3)),
        told(rows().pad_to(size).prefetch(n)),
        told(rows().cache_bytes(size)),
        told(rows().prefetch_bytes(size).budget(size)),
        told(numbers(5).shuffle_buffer(n, size)),
        told(numbers(5).enumerate_from(size)),
        told(numbers(5).assert_len(size)),
        told(rows().assert_len(size)),
        told(rows().take(size).skip(size)),
        told(rows().repeat(size)),
        told(with_error(5, 2).on_error(OnError::skip(size))),
        told(with_error(5, 2).on_error(OnError::skip_rate(size, size))),
        told(with_error(5, 2).on_error(OnError::skip_rate(1, size))),
        told(Stream::mix([(numbers(5), size), (numbers(5), 1)])),
        told(Stream::mix_to_end([(numbers(5), size), (numbers(5), size)])),
        told(Stream::mix([(numbers(5), size), (numbers(5), u64::MAX)])),
        told(Stream::choose([numbers(5)], vec![n, 0])),
        told(Stream::choose([numbers(5)], Dataset::from_generator(move |_| [n, 0]))),
        told(numbers(5).resample(1, [(size as f64, 1.0), (1.0, size as f64)], |n| *n as usize % 2)),
        told(numbers(5).resample(1, [(1.0, 1.0)], move |_| n)),
        five().distribute(size, 4, 8).and_then(told),
        five().distribute(0, size, 8).and_then(told),
        five().distribute(0, 2, n).and_then(told),
        five().distribute(0, size, n).and_then(told),
        five().distribute_masked(0, size.max(1), n).map(|s| s.map(|b| b.rows())).and_then(told),
        five().distribute_exact(size.saturating_sub(1), size, n).and_then(told),
    ]
}

#[test]
fn stages_take_any_size() {
    small(|| {
        for size in SIZES {
            for (i, made) in stages(size).into_iter().enumerate() {
                println!("stage {i}, {size}");
                some(made);
            }
        }
    });
}

/// Threads take addresses, so these have more of them.
#[test]
fn many_workers_are_data_or_an_error() {
    alone_after("ulimit -c 0; ulimit -v 4194304;", 30, || {
        for size in SIZES {
            let n = size as usize;
            some(Ok(numbers(5).par_interleave(n, 1, numbers)));
            some(Ok(numbers(5).par_interleave_unordered(n, numbers)));
            some(Ok(numbers(5).par_map_seeded(n, 1, |n, _| n)));
            some(Ok(rows().workers(n).prefetch(n)));
        }
    });
}

#[test]
fn saved_folders_and_files_take_any_size() {
    small(|| {
        let dir = Dir::new();
        let file = dir.put("rows", &[1; 24]);
        for (i, size) in SIZES.into_iter().enumerate() {
            let saved = dir.path(&format!("saved {i}"));
            clean(rows().save(Save::to(&saved).shard_rows(size)).map(drop));
            clean(rows().save(Save::to(dir.path("epoch")).epoch(size).afresh()).map(drop));
            for shape in
                [vec![], vec![size as usize], vec![size as usize, size as usize], vec![0, size as usize]]
            {
                for raw in [
                    Raw::new(&file, DType::U64, &shape),
                    Raw::new(&file, DType::U8, &shape).offset(size),
                    Raw::new(&file, DType::F64, &shape).rows(size),
                    Raw::new(&file, DType::Utf32(size as usize), &shape).rows(size).offset(size),
                    Raw::new(&file, DType::Void(size as usize), &shape),
                ] {
                    some(clean(Dataset::from_slices(raw)).map_or(Ok(rows()), |rows| Ok(rows.batch(2))));
                }
            }
            for (descr, shape) in [
                ("'<f4'".to_owned(), format!("({size},)")),
                ("'<f4'".to_owned(), format!("(2, {size})")),
                ("'<f4'".to_owned(), format!("({size}, 0)")),
                ("'<f4'".to_owned(), format!("(0, {size}, {size})")),
                (format!("'|V{size}'"), "(3,)".to_owned()),
                (format!("'<U{size}'"), "(0,)".to_owned()),
                (format!("[('a', '<f4', ({size},))]"), "(1,)".to_owned()),
            ] {
                let path = dir.put("x.npy", &npy(&descr, size % 2 == 1, &shape, &[0; 8]));
                let opened = gristmill::Npy::open(path).and_then(Dataset::from_slices);
                some(clean(opened).map_or(Ok(rows()), |rows| Ok(rows.batch(3))));
            }
        }
    });
}

/// Verbs that hold as much as they are asked to, over items without end, in little memory.
#[test]
fn what_is_held_without_end_is_an_error_before_the_memory_ends() {
    type Verb = fn(Stream<u64>) -> Stream<String>;
    fn told<T: Send + 'static>(stream: Stream<T>) -> Stream<String> {
        stream.map(|_| "an item".to_owned())
    }
    let verbs: [Verb; 13] = [
        |s| told(s.window(usize::MAX, 1, 1)),
        |s| told(s.window_exact(1 << 40, 3, 2)),
        |s| told(s.batch(usize::MAX)),
        |s| told(s.batch_exact(1 << 40)),
        |s| told(s.padded_batch(usize::MAX, Pad::longest())),
        |s| told(s.map(|n| [n; 9].to_vec()).ragged_batch(1 << 40)),
        |s| told(s.bucket_by_length(Buckets::new([1], [1 << 40, 1]), |_| 0)),
        |s| told(s.map(|n| vec![n]).pack(1 << 40, 1)),
        |s| told(s.group_by_window(usize::MAX, |_| 0)),
        |s| told(s.group_by_window_sized(|_| 0, |_| 1 << 40)),
        |s| told(s.shuffle_buffer(1 << 40, 1)),
        |s| told(s.unique().filter(|_| false)),
        |s| told(s.cache().filter(|_| false)),
    ];
    alone_after("ulimit -c 0; ulimit -v 200000;", 60, move || {
        for (i, verb) in verbs.into_iter().enumerate() {
            println!("verb {i}");
            let mut iter = verb(endless()).threads(Threads::None).iter().unwrap();
            // What was collected may come before the error, as the last of any stream does.
            let error = iter.by_ref().take(2).find_map(Result::err).expect("memory has no end");
            assert!(matches!(error, Error::Memory { .. }), "verb {i}: {error}");
            assert!(iter.next().is_none(), "verb {i} goes on");
        }
    });
}
