//! `.npy` files against NumPy's own answers, and what a wrong file is told.

use std::path::Path;

use gristmill::{Batch, DType, Dataset, Error, Npy, Result, Stream};
use half::bf16;
use serde_json::Value;

use crate::common::*;

pub(crate) use crate::common::{Dir, npy};

/// Every fixture but the first object, which names the NumPy that answered.
pub(crate) fn fixtures() -> Vec<Value> {
    let mut all: Vec<Value> = serde_json::from_str(include_str!("../fixtures/npy.json")).unwrap();
    assert!(all.remove(0)["numpy_version"].is_string());
    all
}

pub(crate) fn hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap()).collect()
}

/// All numbers below `n`, mixed up.
pub(crate) fn mixed(n: u64) -> Vec<u64> {
    let mut rows: Vec<u64> = (0..n).collect();
    rows.sort_by_key(|row| (row + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17));
    rows
}

/// The bytes of the first column, batch after batch.
pub(crate) fn bytes(stream: &Stream<Batch>) -> Vec<u8> {
    values(stream).iter().flat_map(|batch| batch.arrays()[0].bytes().to_vec()).collect()
}

fn refusal(path: &Path) -> String {
    match Npy::open(path).and_then(Dataset::from_slices) {
        Ok(_) => panic!("{} was opened", path.display()),
        Err(error) => error.to_string(),
    }
}

pub(crate) fn open(path: &Path) -> Dataset {
    Dataset::from_slices(Npy::open(path).unwrap()).unwrap()
}

/// NumPy's spelling.
fn code(dtype: DType) -> String {
    match dtype {
        DType::Bool => "|b1".into(),
        DType::I8 | DType::U8 => format!("|{}1", &dtype.to_string()[..1]),
        DType::Void(_) | DType::Ascii(_) => format!("|{dtype}"),
        DType::Utf32(_) => format!("<{dtype}"),
        number => format!("<{}{}", &number.to_string()[..1], number.bytes()),
    }
}

fn check(npy: Npy, want: &Value, label: &str) {
    let rows = Dataset::from_slices(npy).unwrap();
    let shape: Vec<usize> = serde_json::from_value(want["shape"].clone()).unwrap();
    let column = rows.spec().columns[0].clone();
    let (dtype, size) = (code(column.dtype), column.row_bytes());
    assert_eq!((want["dtype"].as_str().unwrap(), shape[0] as u64), (&*dtype, rows.len()), "{label}");
    assert_eq!(shape[1..], column.shape, "{label}");
    let mut wanted = hex(want["values"].as_str().unwrap());
    if column.dtype == DType::Bool {
        wanted.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
    }
    let all = rows.batch(shape[0].max(1));
    assert_eq!(bytes(&all), wanted, "{label}");
    values(&all).iter().for_each(|batch| assert_eq!(batch.arrays()[0].shape(), shape, "{label}"));
    let order = mixed(rows.len());
    let row = |row: &u64| wanted[*row as usize * size..][..size].to_vec();
    let shuffled: Vec<u8> = order.iter().flat_map(row).collect();
    assert_eq!(bytes(&rows.select(order).unwrap().batch(2)), shuffled, "{label}, shuffled");
}

#[test]
fn every_fixture_is_read_as_numpy_reads_it_or_refused_with_the_reason() {
    watchdog(|| {
        let dir = Dir::new();
        let all = fixtures();
        assert_eq!(all.len(), 417);
        let mut wrong = Vec::new();
        for want in &all {
            let label = want["name"].as_str().unwrap();
            let file = hex(want["file"].as_str().unwrap());
            let path = dir.put(&format!("{label}.npy"), &file);
            if want["ours"] == "refused" {
                let (why, text) = (want["why"].as_str().unwrap(), refusal(&path));
                let shown = path.display().to_string();
                if !text.contains(&shown) || !text.replace(&shown, "").to_lowercase().contains(why) {
                    wrong.push(format!("{text}\n    should name the file and say {why:?}"));
                }
            } else if let Some(fields) = want["fields"].as_object() {
                let npy = Npy::open(&path).unwrap();
                let mut names: Vec<&String> = fields.keys().collect();
                names.sort();
                let mut found = npy.fields();
                found.sort();
                assert_eq!(found, names, "{label}");
                for (name, want) in fields {
                    check(npy.clone().field(name).unwrap(), want, &format!("{label}.{name}"));
                }
            } else {
                check(Npy::open(&path).unwrap(), want, label);
            }
            assert_eq!(std::fs::read(&path).unwrap(), file, "{label} was written to");
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}

#[test]
fn only_the_whole_file_opens_at_every_point_where_it_may_be_cut() {
    let dir = Dir::new();
    let file = npy("'<f4'", false, "(43,)", &[7; 172]);
    assert_eq!(file.len(), 300);
    for cut in 0..300 {
        let text = refusal(&dir.put("cut.npy", &file[..cut]));
        assert!(text.contains("cut.npy"), "{text}");
        if cut >= 128 {
            assert!(text.contains(&format!("expected 300 bytes, found {cut}")), "{text}");
        }
    }
    assert_eq!(open(&dir.put("whole.npy", &file)).len(), 43);
}

#[test]
fn fortran_order_gives_the_rows_of_c_order_and_a_warning_with_the_cost() {
    let dir = Dir::new();
    for (descr, size, shape) in
        [("'<i4'", 4, vec![3, 4]), ("'>f8'", 8, vec![2, 3, 4]), ("'|S3'", 3, vec![5, 2])]
    {
        let count: usize = shape.iter().product();
        let payload: Vec<u8> = (0..count * size).map(|i| i as u8).collect();
        // Element k of Fortran order stands at the place whose first index changes fastest.
        let place = |k: usize| {
            let step = |(rest, at, before): (usize, usize, usize), n: &usize| {
                (rest / n, at + rest % n * (count / before / n), before * n)
            };
            shape.iter().fold((k, 0, 1), step).1
        };
        let twin: Vec<u8> = (0..count).flat_map(|k| payload[place(k) * size..][..size].to_vec()).collect();
        let spelled = format!("{shape:?}").replace('[', "(").replace(']', ")");
        let c = open(&dir.put("c.npy", &npy(descr, false, &spelled, &payload)));
        let f = open(&dir.put("f.npy", &npy(descr, true, &spelled, &twin)));
        assert_eq!(values(&f.batch(2)), values(&c.batch(2)), "{descr} {shape:?}");
        let order = mixed(c.len());
        let (c_rows, f_rows) = (c.select(order.clone()).unwrap(), f.select(order).unwrap());
        assert_eq!(values(&f_rows.batch(9)), values(&c_rows.batch(9)), "{descr} {shape:?}");
        assert!(c.batch(2).plan().unwrap().warnings.is_empty());
        let warning = f.batch(2).prefetch(2).plan().unwrap().warnings.join("\n");
        let places = format!("{} places", shape[1..].iter().product::<usize>());
        for word in ["f.npy", "Fortran order", &places, "pages of 4 KiB", "numpy.ascontiguousarray"] {
            assert!(warning.contains(word), "{warning}");
        }
    }
}

#[test]
fn files_that_end_early_or_late_are_told_both_lengths() {
    let dir = Dir::new();
    let header = |descr, shape| npy(descr, false, shape, &[]);
    let sized = |descr, shape, bytes: u64| {
        let header = header(descr, shape);
        dir.sparse("sized.npy", header.len() as u64 + bytes, &[(0, &header)])
    };
    for (descr, shape, wanted, there) in [
        ("'<f4'", "(10,)", 40u64, 39u64),
        ("'<f8'", "(128, 1048576)", 1 << 30, 1 << 29),
        ("'<f4'", "(2,621, 401)", 2 * 621 * 401 * 4, 2621 * 401 * 4),
        ("'|u1'", "(4294967297,)", (1 << 32) + 1, 1),
        ("'<f8'", "(3, 201326592)", 9 << 29, 2 << 29),
    ] {
        let path = sized(descr, shape, there);
        let start = header(descr, shape).len() as u64;
        let text = refusal(&path);
        let both = format!("expected {} bytes, found {}", start + wanted, start + there);
        assert!(text.contains(&both) && text.contains("sized.npy"), "{text}");
        assert_eq!(path.metadata().unwrap().len(), start + there, "reading has changed the file");
    }
}

#[test]
fn foreign_spellings_are_read_or_told_what_to_change() {
    let dir = Dir::new();
    let shapes = |descr, shape, bytes: usize| {
        let path = dir.put("spelled.npy", &npy(descr, false, shape, &vec![0; bytes]));
        Npy::open(&path).and_then(Dataset::from_slices).map(|rows| (rows.len(), rows.spec().to_string()))
    };
    for (descr, shape, bytes, found) in [
        ("'<i4'", "(np.int64(3), 2)", 24, (3, "(0: i32[2])")),
        ("'<c16'", "(3L, 32L, 32L)", 3 * 32 * 32 * 16, (3, "(0: c128[32, 32])")),
        ("'<f2'", "(768,)", 1536, (768, "(0: f16)")),
    ] {
        assert_eq!(shapes(descr, shape, bytes).unwrap(), (found.0, found.1.to_string()));
    }
    for (descr, shape, bytes, words) in [
        ("'<i4'", "(184)", 736, "a tuple for the shape, such as (3,)"),
        ("'<i4'", "184", 736, "a tuple for the shape, such as (3,)"),
        ("'<f4'", "(4611686018427387904, 4)", 0, "less than 2^63 bytes"),
        ("'<f1'", "(4,)", 4, ".view('u1')"),
        ("'|O'", "(1,)", 8, "re-save"),
        ("'<i4'", "()", 4, "expected an axis of rows"),
    ] {
        let text = shapes(descr, shape, bytes).unwrap_err().to_string();
        assert!(text.contains(words) && text.contains("spelled.npy"), "{text}");
    }
}

#[test]
fn records_are_read_field_by_field() {
    let dir = Dir::new();
    let record = |i: i64, k: f64| [i.to_le_bytes(), (10 * i).to_le_bytes(), k.to_le_bytes()].concat();
    let payload = [record(1, 0.5), record(2, 1.5), record(3, 2.5)].concat();
    let descr = "[('i', '<i8'), ('j', '<i8'), ('k', '<f8')]";
    let npy = Npy::open(dir.put("record.npy", &npy(descr, false, "(3,)", &payload))).unwrap();
    assert_eq!(npy.fields(), ["i", "j", "k"]);
    let field = |name| npy.clone().field(name).unwrap();
    let rows = Dataset::from_slices((("k", field("k")), ("i", field("i")))).unwrap();
    assert_eq!((rows.spec().to_string(), rows.spec().row_bytes()), ("(k: f64, i: i64)".into(), 16));
    let batch = values(&rows.reverse().batch(3)).remove(0);
    assert_eq!(batch.column::<f64>("k").unwrap(), [2.5, 1.5, 0.5]);
    assert_eq!(batch.column::<i64>("i").unwrap(), [3, 2, 1]);
    let text = |outcome: Result<Npy>| outcome.and_then(Dataset::from_slices).unwrap_err().to_string();
    let (unknown, whole, opaque) = (npy.clone().field("x"), Ok(npy.clone()), field("i").bf16());
    for (outcome, words) in [(unknown, "\"i\", \"j\", \"k\""), (whole, ".field(name)"), (opaque, "V2")] {
        let text = text(outcome);
        assert!(text.contains(words) && text.contains("record.npy"), "{text}");
    }
}

#[test]
fn opaque_pairs_of_bytes_are_bf16_only_when_asked() {
    let dir = Dir::new();
    let path = dir.put("bf16.npy", &npy("'<V2'", false, "(4,)", &hex("0000803f00404040")));
    assert_eq!(open(&path).spec().to_string(), "(0: V2)");
    let rows = Dataset::from_slices(Npy::open(&path).unwrap().bf16().unwrap()).unwrap();
    let batch = values(&rows.batch(4)).remove(0);
    assert_eq!(batch.column::<bf16>("0").unwrap(), [0.0, 1.0, 2.0, 3.0].map(bf16::from_f32));
    let path = dir.put("pairs.npy", &npy("[('a', '|V2'), ('b', '<i2')]", false, "(1,)", &hex("803f0100")));
    let field = Npy::open(&path).unwrap().field("a").unwrap().bf16().unwrap();
    assert_eq!(column::<bf16>(&Dataset::from_slices(field).unwrap().batch(1), "0"), [[bf16::ONE]]);
    let plain = Npy::open(dir.put("u2.npy", &npy("'<u2'", false, "(1,)", &[1, 2]))).unwrap().bf16();
    assert!(plain.unwrap_err().to_string().contains("u2.npy: expected V2 to be taken as bf16, found u16"));
}

#[test]
fn bytes_after_the_payload_are_passed_over_only_when_asked() {
    let dir = Dir::new();
    let first = npy("'|u1'", false, "(3,)", &[1, 2, 3]);
    let path = dir.put("two.npy", &[first.clone(), npy("'|u1'", false, "(1,)", &[9])].concat());
    let text = refusal(&path);
    assert!(text.contains(&format!("expected {} bytes, found {}", first.len(), first.len() + 129)), "{text}");
    let rows = Dataset::from_slices(Npy::open_with_extra(&path).unwrap()).unwrap();
    assert_eq!((rows.len(), bytes(&rows.batch(10))), (3, vec![1, 2, 3]));
    let short = dir.put("short.npy", &first[..first.len() - 1]);
    assert!(matches!(Npy::open_with_extra(short), Err(Error::Length { .. })));
}

#[test]
fn the_first_bytes_tell_a_file_whatever_its_name_is() {
    let dir = Dir::new();
    let array = npy("'|u1'", false, "(3,)", &[1, 2, 3]);
    assert_eq!(open(&dir.put("array.npz", &array)).len(), 3);
    for (first, found, way_out) in [
        ("504b0304", "a zip archive, such as .npz", "numpy.save"),
        ("1f8b0800", "gzip", "decompress"),
        ("425a6839", "bzip2", "decompress"),
        ("28b52ffd", "zstd", "decompress"),
        ("fd377a585a00", "xz", "decompress"),
        ("894844460d0a1a0a", "HDF5", "h5py"),
        ("80049508", "pickle", "not read"),
        ("0001020304", "not an npy file", "open as raw?"),
        ("", "empty", "write it again"),
    ] {
        let rest = if first.is_empty() { 0 } else { 40 };
        let text = refusal(&dir.put("named.npy", &[hex(first), vec![0; rest]].concat()));
        assert!(text.contains(found) && text.contains(way_out) && text.contains("named.npy"), "{text}");
    }
}
