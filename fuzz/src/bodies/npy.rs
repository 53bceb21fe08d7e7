//! Any bytes as an `.npy` file: what a plain reading of the payload finds, or an error that names the file.

use std::path::Path;

use gristmill::{ColumnSpec, DType, Dataset, Npy, Threads};

use super::{backwards, bytes, clean, swapped, truths};

/// Rows that are looked at; more only where they hold no bytes.
const MOST: u64 = 5000;

/// Opens a file in every way there is; true when it gave data.
pub fn check(path: &Path, file: &[u8]) -> bool {
    std::fs::write(path, file).unwrap();
    let told = |outcome: gristmill::Result<Npy>| {
        if let Err(error) = &outcome {
            assert!(error.to_string().contains(path.to_str().unwrap()), "{error} names no file");
        }
        clean(outcome)
    };
    let whole = told(Npy::open(path));
    let extra = told(Npy::open_with_extra(path));
    let twice = told(Npy::open_many([path, path]));
    assert_eq!(whole.is_some(), twice.is_some(), "one file, or two");
    assert!(whole.is_none() || extra.is_some(), "what is whole is enough");
    let Some(extra) = extra else { return false };
    let text = Text::of(file);
    let fields: Vec<String> = extra.fields().into_iter().take(4).map(str::to_owned).collect();
    let mut read_any = column(&extra, whole.as_ref(), twice.as_ref(), &text, file);
    for name in &fields {
        let of = |npy: &Npy| clean(npy.clone().field(name));
        let (whole, twice) = (whole.as_ref().and_then(of), twice.as_ref().and_then(of));
        let chosen = of(&extra).expect("a field that was named");
        read_any |= column(&chosen, whole.as_ref(), twice.as_ref(), &text, file);
    }
    read_any
}

/// Reads a column of the three openings, and compares.
fn column(extra: &Npy, whole: Option<&Npy>, twice: Option<&Npy>, text: &Text, file: &[u8]) -> bool {
    let open = |npy: &Npy| clean(Dataset::from_slices(npy.clone()));
    let Some(rows) = open(extra) else { return false };
    let column = rows.spec().columns[0].clone();
    let seen = read(&rows);
    if let Some(text) = text.plain() {
        let payload = &file[text.payload_at..];
        if extra.fields().is_empty() {
            let wanted = wanted(text, &column, rows.len(), payload, whole.is_some());
            assert!(
                wanted.starts_with(&seen) && (rows.len() > MOST || wanted.len() == seen.len()),
                "{column:?}"
            );
        } else if whole.is_some() && !text.fortran && column.row_bytes() > 0 && !rows.is_empty() {
            assert!(lies_in(&column, rows.len(), payload, &seen), "{column:?}");
        }
    }
    let (one, two) = (whole.and_then(open), twice.and_then(open));
    assert_eq!(one.is_some(), two.is_some() && whole.is_some(), "one file, or two");
    if let (Some(one), Some(two)) = (one, two) {
        assert_eq!(one.len(), rows.len());
        assert_eq!(bytes(&one.take(MOST), 64), seen, "with extra bytes allowed, and without");
        assert_eq!(two.len(), 2 * rows.len());
        if rows.len() <= MOST {
            assert_eq!(bytes(&two.take(2 * MOST), 64), [seen.as_slice(), &seen].concat(), "two files");
        }
    }
    if column.dtype == DType::Void(2) {
        let rows = clean(extra.clone().bf16()).and_then(|npy| open(&npy)).expect("V2 as bf16");
        assert_eq!(read(&rows), seen, "as bf16");
    }
    true
}

/// The bytes of up to [`MOST`] rows, which must be the same in other orders and batches.
fn read(rows: &Dataset) -> Vec<u8> {
    let rows = rows.take(MOST);
    let size = rows.spec().columns[0].row_bytes();
    let seen = bytes(&rows, 7);
    assert_eq!(seen.len() as u64, rows.len() * size as u64);
    assert_eq!(bytes(&rows.reverse(), 11), backwards(&seen, size), "backwards");
    if let Some(cast) = clean(rows.batch_masked(11).cast::<f32>("0").threads(Threads::None).iter()) {
        assert!(cast.map(clean).all(|batch| batch.is_some_and(|batch| batch.rows() == 11)));
    }
    seen
}

/// What the header's text says beside the spec.
struct Text {
    payload_at: usize,
    swap: bool,
    fortran: bool,
    /// False when comments or escapes may say something that a search does not see.
    plain: bool,
}

impl Text {
    /// Of a file that was opened.
    fn of(file: &[u8]) -> Text {
        let digits = if file[6] == 1 { 2 } else { 4 };
        let length = file[8..8 + digits].iter().rev().fold(0, |n, digit| n << 8 | usize::from(*digit));
        let payload_at = 8 + digits + length;
        let text = &file[8 + digits..payload_at];
        let swap = text.contains(&b'>');
        let fortran = text.windows(4).any(|word| word == b"True");
        Text { payload_at, swap, fortran, plain: !text.iter().any(|byte| b"\\#".contains(byte)) }
    }

    fn plain(&self) -> Option<&Text> {
        Some(self).filter(|text| text.plain)
    }
}

/// The payload as rows in this machine's byte order.
fn wanted(text: &Text, column: &ColumnSpec, rows: u64, payload: &[u8], whole: bool) -> Vec<u8> {
    let size = column.dtype.bytes();
    let total = rows as u128 * column.row_bytes() as u128;
    assert!(payload.len() as u128 >= total && (!whole || payload.len() as u128 == total), "{column:?}");
    let payload = &payload[..total as usize];
    let payload = match column.dtype {
        DType::Bool => truths(payload),
        dtype if text.swap => swapped(payload, dtype),
        _ => payload.to_vec(),
    };
    if !text.fortran || total == 0 {
        return payload;
    }
    let shape = [&[rows as usize], column.shape.as_slice()].concat();
    let places = 0..payload.len() / size;
    let item = |mut place: usize| {
        // From the last axis, which is the fastest of C order, to the first, which is that of Fortran order.
        let mut at = vec![0; shape.len()];
        for (index, n) in at.iter_mut().zip(&shape).rev() {
            (*index, place) = (place % n, place / n);
        }
        let place = at.iter().zip(&shape).rev().fold(0, |place, (index, n)| place * n + index);
        &payload[place * size..][..size]
    };
    places.flat_map(item).copied().collect()
}

/// Whether a field's values lie at one place of every record, in either byte order. Rows of several records are not looked at.
fn lies_in(column: &ColumnSpec, rows: u64, payload: &[u8], seen: &[u8]) -> bool {
    let (record, size) = (payload.len() / rows as usize, column.row_bytes());
    let first: Vec<&[u8]> = seen.chunks(size).collect();
    let at = |at: usize| {
        payload.chunks(record).zip(&first).all(|(record, value)| {
            let field = &record[at..at + size];
            match column.dtype {
                DType::Bool => truths(field) == *value,
                dtype => field == *value || swapped(field, dtype) == *value,
            }
        })
    };
    !column.shape.is_empty() || record < size || (0..=record - size).any(at)
}
