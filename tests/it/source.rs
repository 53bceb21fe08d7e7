//! What every source promises, and sources of a user's own.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use gristmill::plumbing::{Source, Threads};
use gristmill::{Batch, ColumnSpec, DType, Dataset, Error, Projection, Result, Shuffle, Slot, Spec, Stream};
use half::f16;

use crate::common::*;
use crate::npy::{Dir, bytes, mixed, npy, open};

type Fill = dyn Fn(&[u64], &mut [Slot<'_>]) -> Result<()> + Send + Sync;

/// Rows that a closure fills in.
#[derive(Clone)]
struct Own {
    spec: Arc<Spec>,
    rows: u64,
    fill: Arc<Fill>,
}

impl Own {
    fn new(rows: u64, fill: impl Fn(&[u64], &mut [Slot<'_>]) -> Result<()> + Send + Sync + 'static) -> Own {
        let columns = vec![ColumnSpec::new("n", DType::U64, &[]), ColumnSpec::new("x", DType::F32, &[2])];
        Own { spec: Spec::new(columns).unwrap(), rows, fill: Arc::new(fill) }
    }

    fn dataset(self) -> Dataset {
        Dataset::from_source(self)
    }
}

impl Source for Own {
    fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    fn rows(&self) -> u64 {
        self.rows
    }

    fn gather(&self, rows: &[u64], into: &mut [Slot<'_>]) -> Result<()> {
        assert!(rows.iter().all(|row| *row < self.rows));
        (self.fill)(rows, into)
    }

    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "own({})", self.rows)
    }

    fn notes(&self) -> Vec<String> {
        vec!["own rows are made up".into()]
    }
}

/// Row `n` holds `n`, `n` and `-n`.
fn count(rows: &[u64], into: &mut [Slot<'_>]) -> Result<()> {
    into[0].elements::<u64>()?.copy_from_slice(rows);
    let pairs = rows.iter().flat_map(|row| [*row as f32, -(*row as f32)]);
    into[1].elements::<f32>()?.iter_mut().zip(pairs).for_each(|(to, x)| *to = x);
    Ok(())
}

/// As [`count`], but what `trouble` makes of row `at` comes in its batch's place.
fn count_but(at: u64, trouble: fn() -> Result<()>) -> Own {
    Own::new(20, move |rows, into| if rows.contains(&at) { trouble() } else { count(rows, into) })
}

/// The same stream with every kind of threads.
fn threaded(make: impl Fn() -> Stream<Batch>) -> [Stream<Batch>; 4] {
    let each = Threads::EachStage;
    [make().threads(Threads::None), make(), make().threads(each), make().workers(3)]
}

/// The numbers of the batches that came, and the texts of the errors.
fn told(stream: &Stream<Batch>) -> Vec<Result<Vec<u64>, String>> {
    let numbers = |batch: Batch| batch.column::<u64>("n").unwrap().to_vec();
    outcomes(stream).into_iter().map(|outcome| outcome.map(numbers)).collect()
}

#[test]
fn the_bits_of_every_nan_are_kept() {
    let dir = Dir::new();
    let halves = (0..=u16::MAX).filter(|bits| f16::from_bits(*bits).is_nan()).map(u64::from);
    let payloads = [1, 2, 0x2a, 0x1234];
    let singles =
        payloads.iter().flat_map(|p| [0x7f80_0000, 0x7fc0_0000, 0xff80_0000, 0xffc0_0000].map(|b| b | p));
    let doubles =
        payloads.iter().flat_map(|p| [0x7ff0 << 48, 0x7ff8 << 48, 0xfff0 << 48, 0xfff8 << 48].map(|b| b | p));
    for (size, bits) in [(2, halves.collect::<Vec<_>>()), (4, singles.collect()), (8, doubles.collect())] {
        let count = bits.len();
        let little: Vec<u8> = bits.iter().flat_map(|b| b.to_le_bytes()[..size].to_vec()).collect();
        let big: Vec<u8> = bits.iter().flat_map(|b| b.to_be_bytes()[8 - size..].to_vec()).collect();
        for (sign, payload) in [('<', &little), ('>', &big)] {
            let descr = format!("'{sign}f{size}'");
            let flat = open(&dir.put("nan.npy", &npy(&descr, false, &format!("({count},)"), payload)));
            let batches = flat.batch(100);
            for stream in [
                batches.clone(),
                batches.clone().map(|batch| batch).prefetch(2),
                flat.batch(100).select(["0"]).rename("0", "x"),
                batches.unbatch().batch(33),
                flat.concat(&flat).unwrap().skip(count as u64).batch(64),
            ] {
                assert!(bytes(&stream) == little, "{descr} {stream:?}");
            }
            // One row of each pattern side by side: Fortran order goes through other code.
            let shape = format!("(2, {})", count / 2);
            let wide = open(&dir.put("wide.npy", &npy(&descr, true, &shape, payload)));
            let every_second = |from: usize| little.chunks(size).skip(from).step_by(2).flatten().copied();
            assert!(bytes(&wide.batch(1)) == every_second(0).chain(every_second(1)).collect::<Vec<_>>());
        }
    }
}

#[test]
fn no_rows_one_row_and_rows_of_nothing_are_defined() {
    let dir = Dir::new();
    for (shape, payload, sizes) in [
        ("(0,)", 0, vec![]),
        ("(0, 4)", 0, vec![]),
        ("(5, 0)", 0, vec![3, 2]),
        ("(5, 0, 7)", 0, vec![3, 2]),
        ("(1,)", 2, vec![1]),
        ("(1, 3)", 6, vec![1]),
        ("(2,)", 4, vec![2]),
        ("(3,)", 6, vec![3]),
    ] {
        for (descr, fortran) in [("'<i2'", false), ("'>i2'", false), ("'<i2'", true), ("'>f2'", true)] {
            let rows = open(&dir.put("small.npy", &npy(descr, fortran, shape, &vec![0; payload])));
            let found: Vec<usize> = values(&rows.batch(3)).iter().map(Batch::rows).collect();
            assert_eq!(found, sizes, "{descr} {shape}");
            assert_eq!(bytes(&rows.reverse().batch(1000)).len(), payload, "{descr} {shape}");
            assert_eq!(
                values(&rows.repeat(3).batch(7)).iter().map(Batch::rows).sum::<usize>() as u64,
                3 * rows.len()
            );
            for batch in values(&rows.batch(3)) {
                let (i, f) = (batch.column::<i16>("0"), batch.column::<f16>("0"));
                let elements = i.map(<[i16]>::len).or(f.map(<[f16]>::len)).unwrap();
                assert_eq!(2 * elements, batch.bytes(), "{descr} {shape}");
            }
            let masked = values(&rows.batch_masked(3).cast::<f32>("0"));
            assert!(masked.iter().all(|batch| batch.rows() == 3), "{descr} {shape}");
        }
    }
}

#[test]
fn own_rows_come_in_every_order_and_kind_of_batch() {
    let rows = Own::new(10, count).dataset();
    assert_eq!((rows.len(), format!("{rows:?}").as_str()), (10, "own(10)"));
    assert_eq!(rows.spec().to_string(), "(n: u64, x: f32[2])");
    for stream in threaded(|| rows.batch(4)) {
        assert_eq!(column::<u64>(&stream, "n"), [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8, 9]]);
        assert_eq!(column::<f32>(&stream, "x")[2], [8.0, -8.0, 9.0, -9.0]);
        assert_eq!(stream.plan().unwrap().warnings, ["own rows are made up"]);
    }
    let order = mixed(10);
    for stream in threaded(|| rows.select(mixed(10)).unwrap().batch_masked(4)) {
        let batches = values(&stream);
        let n: Vec<u64> = batches.iter().flat_map(|b| b.column::<u64>("n").unwrap().to_vec()).collect();
        assert_eq!((&n[..10], &n[10..]), (&order[..], &[0, 0][..]));
        assert_eq!(batches[2].column::<bool>("mask").unwrap(), [true, true, false, false]);
    }
    assert!(values(&Own::new(0, |_, _| panic!("no rows to fill")).dataset().batch(4)).is_empty());
}

#[test]
fn an_error_of_one_batch_takes_its_place_and_the_others_come() {
    let user: fn() -> Result<()> =
        || Err(Error::User { stage: "own", position: 9, source: "bad row".into() });
    let item: fn() -> Result<()> =
        || Err(Error::Item { stage: "own", position: 9, expected: "a row".into(), found: "bad row".into() });
    for trouble in [user, item] {
        for stream in threaded(|| count_but(9, trouble).dataset().batch(4)) {
            let seen = told(&stream);
            assert_eq!(seen.len(), 5, "{seen:?}");
            for (i, outcome) in seen.iter().enumerate() {
                match outcome {
                    Ok(n) => assert_eq!((n[0], n.len(), i == 2), (4 * i as u64, 4, false)),
                    Err(text) => {
                        assert!(i == 2 && text.contains("own, item 9") && text.contains("bad row"), "{text}")
                    }
                }
            }
        }
    }
}

#[test]
fn an_error_of_the_source_and_a_panic_end_the_epoch_after_the_good_batches() {
    let io: fn() -> Result<()> =
        || Err(Error::Io { action: "read", path: "tape".into(), source: std::io::Error::other("torn") });
    let panic: fn() -> Result<()> = || panic!("torn in row 9");
    for (trouble, words) in
        [(io, "cannot read tape: torn"), (panic, "batch panicked at item 2: torn in row 9")]
    {
        for stream in threaded(|| count_but(9, trouble).dataset().batch(4)) {
            let seen = told(&stream);
            assert_eq!(seen[..2], [Ok(vec![0, 1, 2, 3]), Ok(vec![4, 5, 6, 7])]);
            assert_eq!(seen[2..], [Err(words.to_string())]);
        }
        for (at, good) in [(0, 0), (19, 4)] {
            let seen = told(&count_but(at, trouble).dataset().batch(4).workers(2));
            assert_eq!((seen.len(), seen[good].is_err()), (good + 1, true), "{seen:?}");
        }
    }
}

#[test]
fn a_source_that_fills_in_another_type_than_it_said_is_an_error() {
    let own = Own::new(4, |_, into| into[1].elements::<f64>().map(drop));
    for stream in threaded(|| own.clone().dataset().batch(4)) {
        let seen = told(&stream);
        assert_eq!(seen, [Err("column \"x\": expected f64, found f32".to_string())]);
    }
    let mut spec = (*own.spec).clone();
    spec.columns[1].dtype = DType::Bool;
    let bad = Own {
        spec: Arc::new(spec),
        ..Own::new(1, |_, into| {
            into.iter_mut().for_each(|slot| slot.bytes().fill(2));
            Ok(())
        })
    };
    let batch = values(&bad.dataset().batch(1)).remove(0);
    assert!(batch.column::<bool>("x").is_err(), "2 is no bool");
}

#[test]
fn a_very_large_batch_is_split_among_workers_and_equal_to_the_unsplit() {
    let calls = Arc::new(AtomicUsize::new(0));
    let rows = 700_001;
    let own = |calls: Arc<AtomicUsize>| {
        Own::new(rows, move |rows, into| {
            calls.fetch_add(1, Ordering::Relaxed);
            count(rows, into)
        })
    };
    let shuffled = own(calls.clone()).dataset().shuffle(Shuffle::full(3));
    // 16 bytes a row: 9.6 MB a batch.
    let whole = values(&shuffled.batch(600_000).threads(Threads::None));
    assert_eq!((whole.len(), calls.swap(0, Ordering::Relaxed)), (2, 2));
    let split = values(&shuffled.batch(600_000).workers(2));
    assert!(split == whole, "the split batch differs");
    assert_eq!(calls.load(Ordering::Relaxed), 4, "two parts a batch");
    assert!(
        values(&shuffled.batch_masked(600_000).workers(2))
            == values(&shuffled.batch_masked(600_000).threads(Threads::None))
    );
    let broken = |trouble: fn() -> Result<()>| {
        let own = Own::new(
            rows,
            move |rows, into| if rows.contains(&600_000) { trouble() } else { count(rows, into) },
        );
        own.dataset().batch(600_000).workers(2)
    };
    let seen = told(&broken(|| panic!("in a part")));
    assert_eq!((seen.len(), seen[0].is_ok()), (2, true));
    assert_eq!(seen[1], Err("batch panicked at item 1: in a part".to_string()));
    let seen = told(&broken(|| Err(Error::User { stage: "own", position: 1, source: "bad part".into() })));
    assert_eq!((seen.len(), seen[1].clone()), (2, Err("own, item 1: bad part".to_string())));
}

#[test]
fn two_different_sources_are_one_after_the_other() {
    let n: Vec<u64> = (100..105).collect();
    let x: Vec<f32> = n.iter().flat_map(|n| [*n as f32, -(*n as f32)]).collect();
    let x = ndarray::Array2::from_shape_vec((5, 2), x).unwrap();
    let memory = Dataset::from_slices((("n", n), ("x", x))).unwrap();
    let own = Own::new(5, count).dataset();
    let both = own.concat(&memory.reverse()).unwrap();
    let wanted: Vec<u64> = (0..5).chain((100..105).rev()).collect();
    let order = mixed(10);
    let shuffled: Vec<u64> = order.iter().map(|row| wanted[*row as usize]).collect();
    for (rows, wanted) in [(&both, wanted), (&both.select(order).unwrap(), shuffled)] {
        for stream in threaded(|| rows.batch(3).cast::<f64>("x")) {
            assert_eq!(column::<u64>(&stream, "n").concat(), wanted);
            let pairs: Vec<f64> = wanted.iter().flat_map(|n| [*n as f64, -(*n as f64)]).collect();
            assert_eq!(column::<f64>(&stream, "x").concat(), pairs);
        }
    }
    assert_eq!(both.batch(9).plan().unwrap().warnings, ["own rows are made up"]);
    let other = Dataset::from_slices((("n", vec![1u64]), ("x", vec![1.0f32]))).unwrap();
    assert!(own.concat(&other).unwrap_err().to_string().contains("concat: expected (n: u64, x: f32[2])"));
}

type Verb = fn(Stream<Batch>) -> Stream<Batch>;

/// A source that leaves out columns nobody wants.
struct Choosy {
    own: Own,
    kept: Vec<usize>,
    gathered: Arc<Mutex<Vec<String>>>,
}

impl Source for Choosy {
    fn spec(&self) -> &Arc<Spec> {
        &self.own.spec
    }

    fn rows(&self) -> u64 {
        self.own.rows
    }

    fn gather(&self, rows: &[u64], into: &mut [Slot<'_>]) -> Result<()> {
        self.gathered.lock().unwrap().extend(into.iter().map(|slot| slot.spec().to_string()));
        let full = values(&Own::new(rows.len() as u64, count).dataset().batch(rows.len())).remove(0);
        for (slot, at) in into.iter_mut().zip(&self.kept) {
            slot.bytes().copy_from_slice(full.arrays()[*at].bytes());
        }
        Ok(())
    }

    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("choosy")
    }

    fn project(&self, change: &Projection) -> Option<Arc<dyn Source>> {
        let Projection::Select(_) = change else { return None };
        let (kept, columns): (Vec<_>, Vec<_>) = change.apply(&self.own.spec).ok()?.into_iter().unzip();
        let own = Own { spec: Spec::new(columns).ok()?, ..self.own.clone() };
        Some(Arc::new(Choosy { own, kept, gathered: self.gathered.clone() }))
    }
}

#[test]
fn a_source_may_do_column_work_itself_or_leave_it_to_a_stage() {
    let plain = Own::new(6, count).dataset();
    let gathered = Arc::new(Mutex::new(Vec::new()));
    let own = Own::new(6, count);
    let choosy = Dataset::from_source(Choosy { own, kept: vec![0, 1], gathered: gathered.clone() });
    let verbs: [(Verb, &str); 4] = [
        (|s| s.select(["x"]), "x: f32[2]"),
        (|s| s.select(["x"]).rename("x", "y").cast::<i64>("y"), "x: f32[2]"),
        (|s| s.cast::<i8>("n").select(["n"]), "n: u64 x: f32[2]"),
        (|s| s.rename("n", "id"), "n: u64 x: f32[2]"),
    ];
    for (verb, read) in verbs {
        let wanted = values(&verb(plain.batch(6)));
        assert_eq!(wanted, values(&verb(plain.batch(6).map(|batch| batch))));
        assert_eq!(wanted, values(&verb(choosy.batch(6))));
        assert_eq!(std::mem::take(&mut *gathered.lock().unwrap()).join(" "), read);
    }
}
