//! Any bytes as a raw file under any description: the rows that a plain reading finds, or an error where there are none.

use std::path::Path;

use arbitrary::{Result, Unstructured};
use gristmill::{DType, Dataset, Raw};

use super::{backwards, bytes, clean, swapped, truths};

/// A description and a file.
#[derive(Debug)]
struct Case<'a> {
    dtype: DType,
    shape: Vec<usize>,
    offset: u64,
    rows: Option<u64>,
    big_endian: bool,
    forced: bool,
    files: usize,
    batch: usize,
    file: &'a [u8],
}

pub fn check(path: &Path, input: &[u8]) -> bool {
    let case = case(input).expect("any bytes are a case");
    std::fs::write(path, case.file).unwrap();
    let mut raw = Raw::many(vec![path; case.files], case.dtype, &case.shape).offset(case.offset);
    raw = if case.big_endian { raw.big_endian() } else { raw };
    raw = if case.forced { raw.forced() } else { raw };
    raw = case.rows.into_iter().fold(raw, Raw::rows);
    let (opened, wanted) = (clean(Dataset::from_slices(raw)), wanted(&case));
    assert_eq!(opened.is_some(), wanted.is_some(), "{case:?}");
    let (Some(rows), Some(one)) = (opened, wanted) else { return false };
    let size = rows.spec().row_bytes();
    let wanted = one.repeat(case.files);
    assert_eq!(rows.len(), (wanted.len() / size) as u64, "{case:?}");
    assert_eq!(bytes(&rows, case.batch), wanted, "{case:?}");
    assert_eq!(bytes(&rows.reverse(), case.batch), backwards(&wanted, size), "{case:?} backwards");
    true
}

fn case<'a>(input: &'a [u8]) -> Result<Case<'a>> {
    let mut u = Unstructured::new(input);
    let few =
        |u: &mut Unstructured<'a>| Ok(if u.ratio(1, 16)? { u.arbitrary()? } else { u.int_in_range(0..=5)? });
    let dtype = match u.int_in_range(0..=17)? {
        15 => DType::Void(few(&mut u)?),
        16 => DType::Ascii(few(&mut u)?),
        17 => DType::Utf32(few(&mut u)?),
        plain => PLAIN[plain],
    };
    let axes = u.int_in_range(0..=3)?;
    Ok(Case {
        dtype,
        shape: (0..axes).map(|_| few(&mut u)).collect::<Result<_>>()?,
        offset: few(&mut u)? as u64,
        rows: if u.arbitrary()? { Some(few(&mut u)? as u64) } else { None },
        big_endian: u.arbitrary()?,
        forced: u.arbitrary()?,
        files: u.int_in_range(1..=3)?,
        batch: u.int_in_range(1..=9)?,
        file: u.take_rest(),
    })
}

const PLAIN: [DType; 15] = [
    DType::Bool,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::F16,
    DType::Bf16,
    DType::F32,
    DType::F64,
    DType::C64,
    DType::C128,
];

/// The bytes of one file's rows in this machine's order, if there are such rows.
fn wanted(case: &Case) -> Option<Vec<u8>> {
    if case.file.starts_with(b"\x93NUMPY") && !case.forced {
        return None;
    }
    let size = case
        .shape
        .iter()
        .try_fold(case.dtype.bytes(), |bytes, n| bytes.checked_mul(*n))
        .filter(|n| *n > 0)?;
    let there = case.file.get(usize::try_from(case.offset).ok()?..)?;
    let used = match case.rows {
        Some(rows) => there.get(..usize::try_from(rows).ok()?.checked_mul(size)?)?,
        None => Some(there).filter(|there| there.len() % size == 0)?,
    };
    Some(match case.dtype {
        DType::Bool => truths(used),
        dtype if case.big_endian != cfg!(target_endian = "big") => swapped(used, dtype),
        _ => used.to_vec(),
    })
}
