//! Raw binary files: lengths, offsets, byte order, many files, and files larger than 32-bit numbers.

use std::path::Path;

use gristmill::{DType, Dataset, Raw, Shuffle};

use crate::common::*;
use crate::npy::{Dir, bytes, mixed, npy};

fn open(raw: Raw) -> Dataset {
    Dataset::from_slices(raw).unwrap()
}

fn refusal(raw: Raw) -> String {
    Dataset::from_slices(raw).unwrap_err().to_string()
}

fn u16s(path: &Path) -> Raw {
    Raw::new(path, DType::U16, &[])
}

#[test]
fn rows_fill_the_file_from_the_offset_to_its_end() {
    let dir = Dir::new();
    let path = dir.put("0to11.bin", &(0..12).collect::<Vec<u8>>());
    let raw = |dtype, shape: &[usize]| Raw::new(&path, dtype, shape);
    for (raw, spec, rows) in [
        (raw(DType::U8, &[]), "(0: u8)", 12),
        (raw(DType::U16, &[]), "(0: u16)", 6),
        (raw(DType::U8, &[2, 3]), "(0: u8[2, 3])", 2),
        (raw(DType::Void(5), &[]).offset(2), "(0: V5)", 2),
        (raw(DType::F64, &[]).offset(4), "(0: f64)", 1),
        (raw(DType::F64, &[]).offset(12), "(0: f64)", 0),
        (raw(DType::U8, &[]).rows(5), "(0: u8)", 5),
        (raw(DType::U16, &[]).offset(3).rows(4), "(0: u16)", 4),
        (raw(DType::U8, &[]).rows(0), "(0: u8)", 0),
        (raw(DType::U8, &[]).offset(12).rows(0), "(0: u8)", 0),
    ] {
        let (text, from) = (format!("{raw:?}"), format!("{raw:?}"));
        let start: u8 =
            from.split("offset: ").nth(1).and_then(|t| t.split(',').next()?.parse().ok()).unwrap();
        let rows_found = open(raw);
        assert_eq!((rows_found.spec().to_string().as_str(), rows_found.len()), (spec, rows), "{text}");
        let end = start + (rows as usize * rows_found.spec().row_bytes()) as u8;
        assert_eq!(bytes(&rows_found.batch(2)), (start..end).collect::<Vec<u8>>(), "{text}");
    }
}

#[test]
fn big_endian_elements_are_swapped_into_the_batch() {
    let dir = Dir::new();
    let path = dir.put("big.bin", &[1, 2, 3, 4, 5, 6, 7, 8]);
    let column = |dtype| bytes(&open(Raw::new(&path, dtype, &[]).big_endian()).batch(9));
    assert_eq!(column(DType::U8), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(column(DType::U16), [2, 1, 4, 3, 6, 5, 8, 7]);
    assert_eq!(column(DType::F32), [4, 3, 2, 1, 8, 7, 6, 5]);
    assert_eq!(column(DType::C64), [4, 3, 2, 1, 8, 7, 6, 5]);
    assert_eq!(column(DType::I64), [8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(column(DType::Utf32(2)), [4, 3, 2, 1, 8, 7, 6, 5]);
    assert_eq!(column(DType::Ascii(4)), [1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn single_elements_larger_than_any_scratch_are_swapped_too() {
    let dir = Dir::new();
    for chars in [4096, 4097, 5000] {
        let text: Vec<u32> = (0..2 * chars as u32).collect();
        let path = dir.put("text.bin", &text.iter().flat_map(|c| c.to_be_bytes()).collect::<Vec<u8>>());
        let little: Vec<u8> = text.iter().flat_map(|c| c.to_le_bytes()).collect();
        let rows = open(Raw::new(&path, DType::Utf32(chars), &[]).big_endian());
        assert!(bytes(&rows.batch(1)) == little, "rows of {chars} characters");
        let rows = open(Raw::new(&path, DType::Utf32(chars), &[2]).big_endian());
        assert!(bytes(&rows.batch(1)) == little, "rows of two times {chars} characters");
    }
}

#[test]
fn bool_bytes_other_than_0_and_1_become_true() {
    let dir = Dir::new();
    let path = dir.put("bool.bin", &[0, 1, 2, 255]);
    let rows = open(Raw::new(&path, DType::Bool, &[]));
    assert_eq!(column::<bool>(&rows.batch(4), "0"), [[false, true, true, true]]);
    let wide = dir.put("wide.bin", &vec![2; 20_000]);
    assert!(bytes(&open(Raw::new(wide, DType::Bool, &[20_000])).batch(1)) == [1; 20_000]);
}

#[test]
fn lengths_that_do_not_fit_are_told_in_bytes_and_with_a_way_out() {
    let dir = Dir::new();
    let ten = dir.put("ten.bin", &[0; 10]);
    let raw = |dtype, shape: &[usize]| Raw::new(&ten, dtype, shape);
    for (raw, words) in [
        (raw(DType::U32, &[]), "10 bytes are not a multiple of 4, the bytes of one row: 2 remain"),
        (raw(DType::U8, &[3]), "not a multiple of 3"),
        (raw(DType::U16, &[]).offset(1), "9 bytes are not a multiple of 2"),
        (raw(DType::U8, &[]).offset(11), "past the end"),
        (raw(DType::U8, &[]).offset(u64::MAX), "past the end"),
        (raw(DType::U8, &[]).rows(11), "expected 11 bytes, found 10"),
        (raw(DType::U16, &[]).offset(2).rows(5), "expected 12 bytes, found 10"),
        (raw(DType::U16, &[]).rows(u64::MAX), "found 10"),
        (raw(DType::U16, &[]).rows(1 << 63), "found 10"),
        (raw(DType::U8, &[]).offset(11).rows(0), "expected 11 bytes, found 10"),
        (raw(DType::U8, &[0]), "rows of at least one byte"),
        (raw(DType::Void(0), &[]), "rows of at least one byte"),
        (raw(DType::U8, &[usize::MAX, 2]), "at most usize::MAX"),
        (Raw::many([""; 0], DType::U8, &[]), "at least one file"),
        (Raw::new(dir.path("missing"), DType::U8, &[]), "cannot open"),
    ] {
        let text = refusal(raw);
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn an_npy_file_is_not_taken_as_raw_unless_forced() {
    let dir = Dir::new();
    let file = npy("'|u1'", false, "(3,)", &[1, 2, 3]);
    let path = dir.put("array.bin", &file);
    let text = refusal(Raw::new(&path, DType::U8, &[]));
    for word in ["array.bin", "an .npy file by its first bytes", "Npy::open", ".forced()"] {
        assert!(text.contains(word), "{text}");
    }
    let rows = open(Raw::new(&path, DType::U8, &[]).forced());
    assert_eq!(bytes(&rows.batch(1000)), file);
    let half = dir.put("half.bin", &file[..5]);
    assert_eq!(open(Raw::new(half, DType::U8, &[])).len(), 5, "the magic is six bytes");
}

#[test]
fn an_empty_file_has_no_rows() {
    let dir = Dir::new();
    let rows = open(u16s(&dir.put("empty.bin", &[])));
    assert_eq!(rows.len(), 0);
    for rows in [&rows, &rows.shuffle(Shuffle::full(1)), &rows.repeat(9), &rows.concat(&rows).unwrap()] {
        assert!(values(&rows.batch(3)).is_empty() && values(&rows.batch_masked(3).prefetch(1)).is_empty());
    }
}

#[test]
fn many_files_are_one_column_in_the_order_of_the_list() {
    let dir = Dir::new();
    let parts: [&[u8]; 4] = [&[9, 9, 1, 2], &[9, 9], &[9, 9, 3, 4, 5, 6], &[9, 9, 7, 8]];
    let paths: Vec<_> =
        parts.iter().enumerate().map(|(i, part)| dir.put(&format!("{i}.bin"), part)).collect();
    let rows = open(Raw::many(&paths, DType::U8, &[2]).offset(2));
    assert_eq!((rows.len(), bytes(&rows.batch(3))), (4, vec![1, 2, 3, 4, 5, 6, 7, 8]));
    assert_eq!(bytes(&rows.select([3, 0, 2, 0]).unwrap().batch(4)), [7, 8, 1, 2, 5, 6, 1, 2]);
    assert_eq!(
        bytes(&open(Raw::many(paths.iter().rev(), DType::U8, &[]).offset(2)).batch(9)),
        [7, 8, 3, 4, 5, 6, 1, 2]
    );
    let swapped = open(Raw::many(&paths, DType::U16, &[]).offset(2).big_endian());
    assert_eq!(bytes(&swapped.batch(4)), [2, 1, 4, 3, 6, 5, 8, 7]);
    assert_eq!(column::<f32>(&swapped.batch(2).cast::<f32>("0"), "0"), [[258.0, 772.0], [1286.0, 1800.0]]);
    assert_eq!(bytes(&open(Raw::many(&paths, DType::U8, &[]).rows(1)).batch(9)), [9, 9, 9, 9]);
    let odd = dir.put("odd.bin", &[9, 9, 1]);
    assert!(refusal(Raw::many([&paths[0], &odd], DType::U8, &[2])).contains("odd.bin"));
}

#[test]
fn a_pattern_takes_files_in_the_order_of_their_names() {
    let dir = Dir::new();
    for name in ["b", "a10", "a2", "c"] {
        dir.put(&format!("{name}.bin"), name.as_bytes());
    }
    let glob = |pattern: &str| Raw::glob(dir.path(pattern).to_str().unwrap(), DType::U8, &[]);
    assert_eq!(bytes(&open(glob("*.bin")).batch(99)), b"a10a2bc");
    assert_eq!(bytes(&open(glob("a?.bin")).batch(99)), b"a2");
    assert!(refusal(glob("*.npy")).contains("*.npy\", which matches none"));
    assert!(refusal(Raw::glob("a[", DType::U8, &[])).contains("a glob pattern"));
}

#[test]
fn sizes_and_row_numbers_are_64_bit() {
    let dir = Dir::new();
    let wide = dir.sparse("wide.bin", (1 << 32) + 8, &[(1 << 32, &7u64.to_le_bytes())]);
    let rows = open(Raw::new(wide, DType::U64, &[]));
    assert_eq!(rows.len(), 536_870_913);
    assert_eq!(column::<u64>(&rows.skip(536_870_911).batch(9), "0"), [[0, 7]]);

    let places = [0, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1u64 << 33) - 1];
    let markers: Vec<(u64, &[u8])> =
        places.iter().zip([[1], [2], [3], [4], [5], [6]].iter()).map(|(at, m)| (*at, m.as_slice())).collect();
    let rows = open(Raw::new(dir.sparse("rows.bin", 1 << 33, &markers), DType::U8, &[]));
    assert_eq!(rows.len(), 1 << 33);
    assert_eq!(bytes(&rows.select(places).unwrap().batch(4)), [1, 2, 3, 4, 5, 6]);
    let order = mixed(6);
    let back: Vec<u64> = order.iter().map(|i| places[*i as usize]).collect();
    let marks: Vec<u8> = order.iter().map(|i| *i as u8 + 1).collect();
    assert_eq!(bytes(&rows.select(back).unwrap().batch(6)), marks);
    assert_eq!(bytes(&rows.reverse().take(1).batch(1)), [6]);
    assert_eq!(bytes(&rows.shard(1 << 32, (1 << 32) - 1).unwrap().batch(2)), [4, 6]);
    for (at, mark) in places.iter().zip(1..) {
        assert_eq!(bytes(&rows.skip(*at).take(1).batch(2)), [mark], "row {at}");
        assert_eq!(bytes(&rows.batch(1).skip(*at).take(1)), [mark], "batch {at}");
    }
    let shuffled = rows.shuffle(Shuffle::full(3));
    let seen = shuffled.order(0, 1 << 32, 1000).unwrap();
    // Rows that a shuffle brings are those of its order, marked or not.
    let marked = rows.select([&places[..], &seen[..100]].concat()).unwrap().shuffle(Shuffle::full(4));
    let order: Vec<u8> = marked
        .order(0, 0, 106)
        .unwrap()
        .iter()
        .map(|row| places.iter().position(|at| at == row).map_or(0, |i| i as u8 + 1))
        .collect();
    assert_eq!(bytes(&marked.batch(9)), order);
    assert!(seen.iter().any(|row| *row > u64::from(u32::MAX)) && seen.iter().all(|row| *row < 1 << 33));
    assert_eq!(values(&shuffled.take(20).batch(5)).len(), 4);

    let header = npy("'|u1'", false, "(2147483649,)", &[]);
    let last = header.len() as u64 + (1 << 31);
    let path = dir.sparse("long.npy", last + 1, &[(0, &header), (last, &[7])]);
    let rows = Dataset::from_slices(gristmill::Npy::open(path).unwrap()).unwrap();
    assert_eq!(rows.len(), (1 << 31) + 1);
    assert_eq!(bytes(&rows.select([1 << 31, 0, 1 << 31]).unwrap().batch(3)), [7, 0, 7]);
    assert_eq!(bytes(&rows.skip((1 << 31) - 1).batch(5)), [0, 7]);
}
