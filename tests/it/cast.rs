//! `cast` between every two number types, on the way into a batch and after it, against Rust's `as`.

use gristmill::{Batch, DType, Dataset, Error, Npy, Number, Raw, Shuffle, Stream};
use half::{bf16, f16};
use ndarray::Array2;
use num_complex::Complex;

use crate::common::*;
use crate::npy::{Dir, npy};

/// A number without loss.
#[derive(Clone, Copy)]
enum Exact {
    Whole(i128),
    Real(f64),
}

trait Num: Number + Copy {
    fn exact(self) -> Exact;
    fn of(exact: Exact) -> Self;
}

macro_rules! numbers {
    ($($t:ty => $from:expr, $whole:expr, $real:expr);* $(;)?) => { $(
        impl Num for $t {
            fn exact(self) -> Exact {
                ($from)(self)
            }

            fn of(exact: Exact) -> $t {
                match exact {
                    Exact::Whole(n) => ($whole)(n),
                    Exact::Real(x) => ($real)(x),
                }
            }
        }
    )* };
}

macro_rules! plain {
    ($kind:ident $wide:ty: $($t:ty),*) => {
        numbers!($($t => |n: $t| Exact::$kind(n as $wide), |n: i128| n as $t, |x: f64| x as $t);*);
    };
}

plain!(Whole i128: i8, i16, i32, i64, u8, u16, u32, u64);
plain!(Real f64: f32, f64);
numbers! {
    bool => |b| Exact::Whole(i128::from(b)), |n| n != 0, |x| x != 0.0;
    f16 => |h: f16| Exact::Real(h.to_f64()), |n: i128| f16::from_f32(n as f32), f16::from_f64;
    bf16 => |h: bf16| Exact::Real(h.to_f64()), |n: i128| bf16::from_f32(n as f32), bf16::from_f64;
}

/// What every type makes of the numbers at which casts go wrong.
fn edges<T: Num>() -> Vec<T> {
    let whole = [0, 1, -1, 2, 127, 128, 255, 256, 300, 32768, 65504, 70000, 1 << 24, (1 << 24) + 1, -300];
    let limits = [i64::MIN as i128, i64::MAX as i128, u64::MAX as i128, i32::MIN as i128, i32::MAX as i128];
    let real =
        [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e20, -1e20, 0.5, -0.5, 1.5, -0.0, 65519.9, 65520.0];
    let tiny = [f64::MIN, f64::MAX, f64::MIN_POSITIVE, 1e-40, f64::from(f32::MAX), 6e-8, 3.4e38];
    let whole = whole.into_iter().chain(limits).map(Exact::Whole);
    whole.chain(real.into_iter().chain(tiny).map(Exact::Real)).map(T::of).collect()
}

fn same<T: Num>(a: &T, b: &T) -> bool {
    match (a.exact(), b.exact()) {
        (Exact::Real(a), Exact::Real(b)) => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
        (Exact::Whole(a), Exact::Whole(b)) => a == b,
        _ => false,
    }
}

/// Every path from `S` to `D` gives what Rust's `as` gives.
fn pair<S: Num, D: Num>(swapped: &Dataset) {
    let source = edges::<S>();
    let wanted: Vec<D> = source.iter().map(|s| D::of(s.exact())).collect();
    let rows = Dataset::from_slices(source.clone()).unwrap();
    let label = format!("{} to {}", S::DTYPE, D::DTYPE);
    for (path, stream) in [
        ("in the source", rows.batch(16).cast::<D>("0")),
        ("after the batch", rows.batch(16).map(|batch| batch).cast::<D>("0")),
        ("from the other byte order", swapped.batch(16).cast::<D>("0")),
        ("after swapping", swapped.batch(16).map(|batch| batch).cast::<D>("0")),
    ] {
        let seen = column::<D>(&stream, "0").concat();
        assert_eq!(seen.len(), wanted.len());
        for ((source, seen), wanted) in source.iter().zip(&seen).zip(&wanted) {
            assert!(same(seen, wanted), "{label} {path}: {source:?} gave {seen:?} instead of {wanted:?}");
        }
    }
    if S::DTYPE == D::DTYPE {
        let kept = values(&rows.batch(99).cast::<D>("0"));
        assert_eq!(kept, values(&rows.batch(99)), "{label} changes bits");
    }
}

fn from<S: Num>(dir: &Dir) {
    let source = edges::<S>();
    let mut payload = bytemuck::cast_slice::<S, u8>(&source).to_vec();
    payload.chunks_mut(S::DTYPE.bytes()).for_each(<[u8]>::reverse);
    let name = S::DTYPE.to_string();
    let kind = if name == "bf16" { "'>V2'".into() } else { format!("'>{}{}'", &name[..1], S::DTYPE.bytes()) };
    if name == "bf16" {
        // An opaque type has no byte order.
        payload.chunks_mut(2).for_each(<[u8]>::reverse);
    }
    let path = dir.put(&format!("{name}.npy"), &npy(&kind, false, &format!("({},)", source.len()), &payload));
    let file = Npy::open(path).unwrap();
    let file = if name == "bf16" { file.bf16().unwrap() } else { file };
    let rows = Dataset::from_slices(file).unwrap();
    assert_eq!(rows.spec().columns[0].dtype, S::DTYPE);
    pair::<S, bool>(&rows);
    pair::<S, i8>(&rows);
    pair::<S, i16>(&rows);
    pair::<S, i32>(&rows);
    pair::<S, i64>(&rows);
    pair::<S, u8>(&rows);
    pair::<S, u16>(&rows);
    pair::<S, u32>(&rows);
    pair::<S, u64>(&rows);
    pair::<S, f16>(&rows);
    pair::<S, bf16>(&rows);
    pair::<S, f32>(&rows);
    pair::<S, f64>(&rows);
}

#[test]
fn every_two_number_types_convert_as_rust_does_on_every_path() {
    let dir = Dir::new();
    from::<bool>(&dir);
    from::<i8>(&dir);
    from::<i16>(&dir);
    from::<i32>(&dir);
    from::<i64>(&dir);
    from::<u8>(&dir);
    from::<u16>(&dir);
    from::<u32>(&dir);
    from::<u64>(&dir);
    from::<f16>(&dir);
    from::<bf16>(&dir);
    from::<f32>(&dir);
    from::<f64>(&dir);
}

/// More than 8 MiB at once are written past the caches, by each of two workers too; rows of every alignment.
#[test]
fn large_batches_of_wide_rows_are_what_small_ones_are() {
    let row = 70_001;
    let bytes: Vec<u8> = (0..250 * row).map(|i| (i * i / 7) as u8).collect();
    let dir = Dir::new();
    let file = Raw::new(dir.put("wide.bin", &bytes), DType::U8, &[row]);
    let rows = Dataset::from_slices((("x", file),)).unwrap().shuffle(Shuffle::full(3));
    let stored = |i: u64| &bytes[i as usize * row..(i as usize + 1) * row];
    let order = rows.order(0, 0, 250).unwrap();
    for workers in [1, 2] {
        let whole = rows.batch(250).workers(workers);
        let copied = whole.clone().iter().unwrap().next().unwrap().unwrap();
        assert!(copied.column::<u8>("x").unwrap().chunks(row).eq(order.iter().map(|i| stored(*i))));
        let cast = whole.cast::<f64>("x").iter().unwrap().next().unwrap().unwrap();
        let expected = order.iter().flat_map(|i| stored(*i)).map(|byte| f64::from(*byte));
        assert!(cast.column::<f64>("x").unwrap().iter().copied().eq(expected));
    }
    let again = Raw::new(dir.put("again.bin", &bytes), DType::U8, &[row]);
    let in_order = Dataset::from_slices((("x", again),)).unwrap();
    assert!(in_order.batch(250).iter().unwrap().next().unwrap().unwrap().column::<u8>("x").unwrap() == bytes);
}

#[test]
fn rows_wider_than_the_scratch_are_cast_whole() {
    let dir = Dir::new();
    // One element more or less than 16 KiB, and rows that are no multiple of it.
    for width in [4095, 4096, 4097, 5000, 8193, 20_001] {
        let cells: Vec<f32> = (0..3 * width).map(|i| i as f32 / 8.0 - 100.0).collect();
        let wanted: Vec<i16> = cells.iter().map(|x| *x as i16).collect();
        let doubles: Vec<f64> = cells.iter().map(|x| f64::from(*x)).collect();
        let shape = format!("(3, {width})");
        let big: Vec<u8> = cells.iter().flat_map(|x| x.to_be_bytes()).collect();
        let turned: Vec<u8> =
            (0..3 * width).flat_map(|k| cells[k % 3 * width + k / 3].to_be_bytes()).collect();
        let open = |path| Dataset::from_slices(Npy::open(path).unwrap()).unwrap();
        for rows in [
            Dataset::from_slices(Array2::from_shape_vec((3, width), cells.clone()).unwrap()).unwrap(),
            open(dir.put("big.npy", &npy("'>f4'", false, &shape, &big))),
            open(dir.put("turned.npy", &npy("'>f4'", true, &shape, &turned))),
        ] {
            for batches in [rows.batch(2), rows.batch(2).map(|batch| batch)] {
                assert!(column::<i16>(&batches.clone().cast::<i16>("0"), "0").concat() == wanted, "{width}");
                assert!(column::<f64>(&batches.clone().cast::<f64>("0"), "0").concat() == doubles, "{width}");
                assert!(column::<f32>(&batches, "0").concat() == cells, "{width}");
            }
            let back = rows.select([2, 0]).unwrap().batch(2).cast::<f64>("0");
            assert!(
                column::<f64>(&back, "0").concat() == [&doubles[2 * width..], &doubles[..width]].concat()
            );
        }
    }
}

#[test]
fn a_cast_of_a_cast_goes_through_both() {
    let rows = Dataset::from_slices(vec![300.7f32, -1.5, 1e10, f32::NAN]).unwrap();
    for staged in [false, true] {
        let batches = || if staged { rows.batch(4).map(|batch| batch) } else { rows.batch(4) };
        let through = |stream: Stream<Batch>| column::<f32>(&stream, "0").concat();
        assert_eq!(through(batches().cast::<u8>("0").cast::<f32>("0")), [255.0, 0.0, 255.0, 0.0]);
        assert_eq!(through(batches().cast::<i32>("0").cast::<f32>("0"))[..3], [300.0, -1.0, i32::MAX as f32]);
        assert_eq!(
            through(batches().cast::<i64>("0").cast::<u8>("0").cast::<f32>("0")),
            [44.0, 255.0, 0.0, 0.0]
        );
        assert_eq!(through(batches().cast::<bool>("0").cast::<f32>("0")), [1.0; 4]);
        let same = through(batches().cast::<f32>("0").cast::<f32>("0"));
        assert!(same[3].is_nan() && same[..3] == [300.7, -1.5, 1e10]);
    }
}

#[test]
fn what_cannot_be_cast_is_refused_when_opened() {
    let dir = Dir::new();
    let file = |descr: &str, bytes| {
        Npy::open(dir.put(&descr[2..4], &npy(descr, false, "(1,)", &vec![0; bytes]))).unwrap()
    };
    let rows = Dataset::from_slices((
        ("x", vec![1u8]),
        ("z", vec![Complex::new(1.0f32, 2.0)]),
        ("v", file("'<V4'", 4)),
        ("s", file("'|S4'", 4)),
        ("u", file("'<U1'", 4)),
    ))
    .unwrap();
    let batches = || rows.batch(1);
    for (stream, words) in [
        (batches().cast::<f32>("w"), "one called \"w\", found \"x\", \"z\""),
        (batches().cast::<f32>("z"), "bool, integer or float numbers, found c64"),
        (batches().cast::<u8>("v"), "cast of column \"v\" to u8"),
        (batches().cast::<f64>("s"), "found S4"),
        (batches().cast::<bool>("u"), "found U1"),
        (batches().select(["x", "w"]), "one called \"w\""),
        (batches().select(["x", "x"]), "\"x\" twice"),
        (batches().rename("w", "y"), "one called \"w\""),
        (batches().rename("x", "z"), "\"z\" twice"),
        (batches().rename("x", "y").cast::<f32>("x"), "one called \"x\", found \"y\""),
        (batches().select(["z"]).cast::<f32>("x"), "one called \"x\", found \"z\""),
    ] {
        for stream in [stream.clone(), stream.clone().prefetch(2)] {
            let error = stream.iter().err().unwrap_or_else(|| panic!("{stream:?} was opened"));
            assert!(matches!(error, Error::Spec { .. }), "{error}");
            assert!(error.to_string().contains(words), "{error}");
            assert!(stream.plan().is_err() && stream.spec().is_err());
        }
    }
    let kept = batches().cast::<u8>("x").rename("v", "w").select(["w", "z"]);
    assert_eq!(kept.spec().unwrap().unwrap().to_string(), "(w: V4, z: c64)");
    // Behind a map the columns are known only when a batch is there.
    let late = outcomes(&batches().map(|batch| batch).cast::<f32>("w"));
    assert!(
        late.len() == 1 && late[0].as_ref().is_err_and(|text| text.contains("one called \"w\"")),
        "{late:?}"
    );
}

#[test]
fn select_rename_and_cast_combine_in_the_source_as_after_it() {
    let x = Array2::from_shape_vec((3, 2), vec![1u8, 2, 3, 4, 5, 6]).unwrap();
    let rows =
        Dataset::from_slices((("x", x), ("y", vec![1.5f32, 2.5, -1.0]), ("id", vec![7u64, 8, 9]))).unwrap();
    let verbs: [fn(Stream<Batch>) -> Stream<Batch>; 6] = [
        |s| s.select(["id", "x"]).cast::<f32>("x").rename("x", "features"),
        |s| s.rename("x", "id2").rename("id", "x").rename("id2", "id"),
        |s| s.cast::<i8>("y").select(["y"]).rename("y", "label").cast::<u64>("label"),
        |s| s.cast::<f64>("x").cast::<f64>("id").select(["id", "x", "y"]).select(["x", "y"]),
        |s| s.select(["y", "x", "id"]).cast::<bool>("id").cast::<bool>("y").cast::<bool>("x"),
        |s| s.select([] as [&str; 0]),
    ];
    for verb in verbs {
        let fused = verb(rows.batch(2));
        let staged = verb(rows.batch(2).map(|batch| batch));
        assert_eq!(values(&fused), values(&staged), "{fused:?}");
        assert_eq!(
            fused.spec().unwrap(),
            values(&fused).first().map(|batch| batch.spec().clone()),
            "{fused:?}"
        );
    }
    let batch = values(&verbs[0](rows.batch(3))).remove(0);
    assert_eq!(batch.spec().to_string(), "(id: u64, features: f32[2])");
    assert_eq!(batch.column::<f32>("features").unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
}

#[test]
fn the_mask_of_a_filled_batch_is_a_column_like_others() {
    let rows = Dataset::from_slices((("x", vec![1.5f32, -2.5, 300.0]), ("y", vec![1u8, 2, 3]))).unwrap();
    let masked = || rows.batch_masked(2);
    let last = |stream: Stream<Batch>| values(&stream).pop().unwrap();
    let cast = last(masked().cast::<u8>("x"));
    assert_eq!(
        (cast.column::<u8>("x").unwrap(), cast.column::<bool>("mask").unwrap()),
        (&[255, 0][..], &[true, false][..])
    );
    assert_eq!(last(masked().cast::<f32>("mask")).column::<f32>("mask").unwrap(), [1.0, 0.0]);
    let chosen = last(masked().cast::<i64>("x").select(["mask", "x"]).rename("mask", "real"));
    assert_eq!(chosen.spec().to_string(), "(real: bool, x: i64)");
    assert_eq!(
        (chosen.column::<i64>("x").unwrap(), chosen.column::<bool>("real").unwrap()),
        (&[300, 0][..], &[true, false][..])
    );
    assert_eq!(last(masked().select(["y"])).spec().to_string(), "(y: u8)");
    assert!(masked().rename("y", "mask").iter().unwrap_err().to_string().contains("\"mask\" twice"));
}
