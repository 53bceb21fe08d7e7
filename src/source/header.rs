//! Reads the header of an .npy file: where the payload starts, its shape and its element type.
//!
//! Nothing in a header is trusted. Its length is compared with the file before it is read, its text goes
//! through [`literal`] and its element type through [`descr`], and every product that the shape asks for
//! is checked here, once, so that later arithmetic on it cannot overflow.

use std::io::{self, Read};
use std::path::Path;

use super::descr::{self, dims};
pub(crate) use super::descr::{Cell, Item};
use super::literal::{self, Node, Trouble, Value};
use crate::error::{self, Error};

/// Longest header text that is read unless the caller says otherwise.
pub(crate) const MAX_HEADER: u64 = 1 << 20;

const MAGIC: &[u8] = b"\x93NUMPY";

/// What the header of an .npy file says.
#[derive(Debug)]
pub(crate) struct Header {
    /// Offset of the first item in the file; not always aligned.
    pub(crate) payload_at: u64,
    /// True when the first axis varies fastest and that makes a difference for this shape.
    pub(crate) fortran: bool,
    /// All axes. Empty for a single item, which has no row axis.
    pub(crate) shape: Vec<u64>,
    /// Bytes of one item; may be zero.
    pub(crate) item_bytes: usize,
    /// What one item is made of.
    pub(crate) item: Item,
}

impl Header {
    /// Bytes that the shape asks for. [`read`] has checked that they fit.
    pub(crate) fn payload_bytes(&self) -> u64 {
        self.shape.iter().fold(self.item_bytes as u64, |bytes, &dim| bytes.saturating_mul(dim))
    }

    /// Refuses a file shorter than its header says, and a longer one unless `extra_ok`.
    pub(crate) fn check_length(&self, path: &Path, file_len: u64, extra_ok: bool) -> error::Result<()> {
        let expected = self.payload_at.saturating_add(self.payload_bytes());
        let help = match () {
            () if file_len < expected => "the file is cut off: write it again",
            () if file_len > expected && !extra_ok => {
                "the header's shape does not cover the file: correct the shape or cut off the rest"
            }
            () => return Ok(()),
        };
        Err(Error::Length { path: path.into(), expected, found: file_len, help: help.into() })
    }
}

/// Reads a header from the start of a file of `file_len` bytes.
///
/// Memory grows with the header's text, never with a number in it. The payload's length is not compared
/// with the file's: see [`Header::check_length`].
pub(crate) fn read(
    path: &Path,
    from: &mut dyn Read,
    file_len: u64,
    max_header: u64,
) -> error::Result<Header> {
    let io = |source| Error::Io { action: "read", path: path.into(), source };
    let at = |base: u64| {
        move |trouble: Trouble| Error::Header {
            path: path.into(),
            at_byte: base.saturating_add(trouble.at as u64),
            expected: trouble.expected,
            found: trouble.found,
        }
    };
    let first = up_to(from, 8).map_err(io)?;
    if !first.starts_with(MAGIC) {
        return Err(not_npy(path, &first));
    }
    let wide = version(&first).map_err(at(0))?;
    let digits = up_to(from, if wide > 1 { 4 } else { 2 }).map_err(io)?;
    let text_at = if wide > 1 { 12 } else { 10 };
    let length = text_length(&digits, text_at, file_len, max_header).map_err(at(8))?;
    let text = up_to(from, length).map_err(io)?;
    if text.len() as u64 != length {
        let found = format!("{} bytes", text.len());
        return Err(at(text_at)(Trouble::new(text.len(), format!("a header of {length} bytes"), found)));
    }
    interpret(&text, wide == 3, text_at.saturating_add(length)).map_err(at(text_at))
}

fn up_to(from: &mut dyn Read, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn version(first: &[u8]) -> Result<u8, Trouble> {
    match first.get(6..) {
        Some(&[major @ 1..=3, 0]) => Ok(major),
        Some(&[major, minor]) => {
            Err(Trouble::new(6, "format version 1.0, 2.0 or 3.0", format!("{major}.{minor}")))
        }
        _ => Err(Trouble::new(first.len(), "a format version", "the end of the file")),
    }
}

fn text_length(digits: &[u8], text_at: u64, file_len: u64, max_header: u64) -> Result<u64, Trouble> {
    let length = match *digits {
        [a, b] if text_at == 10 => u64::from(u16::from_le_bytes([a, b])),
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        _ => return Err(Trouble::new(digits.len(), "the header's length", "the end of the file")),
    };
    let there = file_len.saturating_sub(text_at);
    if length > there {
        let expected = format!("a header length of at most the {there} bytes that follow");
        return Err(Trouble::new(0, expected, length.to_string()));
    }
    if length > max_header {
        let expected = format!("a header length of at most {max_header}");
        return Err(Trouble::new(0, expected, length.to_string()));
    }
    Ok(length)
}

const FOREIGN: &[(&[u8], &str, &str)] = &[
    (b"PK\x03\x04", "a zip archive, such as .npz", "extract it, or save each array with numpy.save"),
    (b"\x1f\x8b", "gzip-compressed", "a compressed file cannot be mapped: decompress it first"),
    (b"BZh", "bzip2-compressed", "a compressed file cannot be mapped: decompress it first"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed", "a compressed file cannot be mapped: decompress it first"),
    (b"\xfd7zXZ\0", "xz-compressed", "a compressed file cannot be mapped: decompress it first"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", "read the dataset with h5py and save it with numpy.save"),
];

fn not_npy(path: &Path, first: &[u8]) -> Error {
    let known = FOREIGN.iter().find(|(magic, ..)| first.starts_with(magic));
    let (found, help) = match known {
        Some(&(_, found, help)) => (found, help),
        None if matches!(first, [0x80, 2..=5, ..]) => {
            ("a Python pickle", "pickles run code and are not read: load it in Python and use numpy.save")
        }
        None if first.is_empty() => ("empty", "write it again"),
        None if MAGIC.starts_with(first) => ("cut off within its first bytes", "write it again"),
        None => ("not an npy file", "open as raw? (Raw::new(path, dtype, shape))"),
    };
    Error::Format {
        path: path.into(),
        expected: "one that starts with \\x93NUMPY".into(),
        found: found.into(),
        help: help.into(),
    }
}

fn interpret(text: &[u8], utf8: bool, payload_at: u64) -> Result<Header, Trouble> {
    let [descr, fortran, shape] = entries(literal::read(text, utf8)?)?;
    let Value::Truth(fortran) = fortran.value else {
        return Err(Trouble::new(fortran.at, "True or False for fortran_order", fortran.value.words()));
    };
    let Value::Tuple(axes) = &shape.value else {
        let expected = "a tuple for the shape, such as (3,) or (3, 2)";
        return Err(Trouble::new(shape.at, expected, shape.value.words()));
    };
    let axes = dims(axes)?;
    let (item, item_bytes) = descr::item(&descr, text.len())?;
    fits(&axes, item_bytes, &item, payload_at).ok_or_else(|| {
        let expected = format!("a shape of less than 2^63 bytes with items of {item_bytes}");
        Trouble::new(shape.at, expected, format!("{axes:?}"))
    })?;
    let fortran = fortran && axes.iter().filter(|&&dim| dim != 1).count() > 1;
    Ok(Header { payload_at, fortran, shape: axes, item_bytes, item })
}

/// The values of the three keys, in this order: descr, fortran_order, shape.
fn entries(root: Node) -> Result<[Node; 3], Trouble> {
    const KEYS: [&str; 3] = ["descr", "fortran_order", "shape"];
    let Value::Dict(pairs) = root.value else {
        return Err(Trouble::new(root.at, "a dict", root.value.words()));
    };
    let mut values = [None, None, None];
    for (key, value) in pairs {
        let slot = match &key.value {
            Value::Text(name) => KEYS.iter().position(|key| key == name),
            _ => None,
        };
        let Some(place) = slot.and_then(|slot| values.get_mut(slot)) else {
            let expected = "no key but 'descr', 'fortran_order' and 'shape'";
            return Err(Trouble::new(key.at, expected, key.value.words()));
        };
        if place.replace(value).is_some() {
            let found = format!("{} a second time", key.value.words());
            return Err(Trouble::new(key.at, "each key once", found));
        }
    }
    match values {
        [Some(descr), Some(fortran), Some(shape)] => Ok([descr, fortran, shape]),
        values => {
            let missing = KEYS.iter().zip(&values).find(|(_, value)| value.is_none());
            let key = missing.map_or("", |(key, _)| key);
            Err(Trouble::new(root.at, format!("the key '{key}'"), "a dict without it"))
        }
    }
}

/// Bytes of an array, or of the least array that is not empty: a zero beside huge dimensions must not
/// hide that the others cannot be multiplied.
fn extent(dims: impl IntoIterator<Item = u64>, unit: usize) -> Option<u64> {
    let unit = u64::try_from(unit.max(1)).ok()?;
    let bytes = dims.into_iter().filter(|&dim| dim != 0).try_fold(unit, u64::checked_mul)?;
    i64::try_from(bytes).is_ok().then_some(bytes)
}

fn fits(axes: &[u64], item_bytes: usize, item: &Item, payload_at: u64) -> Option<()> {
    let file = extent(axes.iter().copied(), item_bytes)?.checked_add(payload_at)?;
    i64::try_from(file).ok()?;
    let cell_fits = |cell: &Cell| {
        let inner = cell.shape.iter().map(|&dim| dim as u64);
        extent(axes.iter().copied().chain(inner), cell.dtype.bytes()).map(|_| ())
    };
    match item {
        Item::Plain(cell) => cell_fits(cell),
        Item::Record(fields) => fields.iter().try_for_each(|field| cell_fits(&field.cell)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(shape: &str, descr: &str) -> error::Result<Header> {
        let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}");
        let mut file = b"\x93NUMPY\x01\0".to_vec();
        file.extend((text.len() as u16).to_le_bytes());
        file.extend(text.as_bytes());
        read(Path::new("x"), &mut file.as_slice(), file.len() as u64, MAX_HEADER)
    }

    #[test]
    fn shapes_that_cannot_be_multiplied_are_refused() -> error::Result<()> {
        for shape in ["(9223372036854775808,)", "(4611686018427387904, 4)", "(0, 4611686018427387904, 8)"] {
            assert!(matches!(header(shape, "'u1'"), Err(Error::Header { .. })), "{shape}");
        }
        assert!(header("(2305843009213693952,)", "'i4'").is_err());
        assert!(header("(0, 4294967296)", "[('a', 'u1', (0, 4294967296))]").is_err());
        assert!(header("(0, 2305843009213693951)", "'i4'").is_err(), "the offset counts, too");
        let empty = header("(0, 1099511627776)", "'i4'")?;
        assert_eq!((empty.payload_bytes(), empty.shape.len()), (0, 2));
        assert_eq!(header("(np.int64(3), 2L)", "'i4'")?.shape, [3, 2]);
        Ok(())
    }

    #[test]
    fn a_huge_length_is_refused_before_it_is_read() {
        let file = b"\x93NUMPY\x02\0\xf0\xff\xff\xff";
        for claimed in [12, u64::MAX] {
            let header = read(Path::new("x"), &mut &file[..], claimed, MAX_HEADER);
            assert!(matches!(header, Err(Error::Header { at_byte: 8, .. })), "{header:?}");
        }
    }

    #[test]
    fn dotted_names_cannot_multiply_a_long_one() {
        let inner = "('a', 'V0'), ".repeat(2000);
        let descr = format!("[('{}', [{inner}])]", "x".repeat(20_000));
        let error = header("(1,)", &descr).err().map(|error| error.to_string());
        assert!(error.is_some_and(|error| error.contains("names too long")));
    }
}
