//! Turns the `descr` of an .npy header into an item's fields.
//!
//! npyz interprets it, but only behind a gate. Its parser takes time exponential in nesting and recurses
//! without limit, so npyz never sees the file's text: the literal has been read, every type string is
//! checked, and both are spelled anew in one canonical way, with numbers for field names.

use std::collections::HashSet;
use std::fmt::Write;

use super::literal::{Node, Trouble, Value, short};
use crate::data::DType;

const MAX_DIMS: usize = 64;
/// NumPy keeps the size of an item in a C int.
const MAX_ITEM: usize = i32::MAX as usize;

/// What one item is made of.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    /// One value.
    Plain(Cell),
    /// Named fields, without the padding between them.
    Record(Vec<Field>),
}

/// The type of a value in the file.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    /// Its element type.
    pub(crate) dtype: DType,
    /// True when the file's byte order differs from this machine's and that makes a difference.
    pub(crate) swap: bool,
    /// Axes of a sub-array; usually empty.
    pub(crate) shape: Vec<usize>,
}

/// A field of a record.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    /// Its name; `outer.inner` in a nested record.
    pub(crate) name: String,
    /// Offset in the item.
    pub(crate) at: usize,
    /// Its type.
    pub(crate) cell: Cell,
}

/// The item that a `descr` describes, and its bytes.
///
/// `text_len` bounds the dotted names, which repeat an outer name for every inner one.
pub(super) fn item(descr: &Node, text_len: usize) -> Result<(Item, usize), Trouble> {
    let mut gate = Gate::default();
    gate.descr(descr, "")?;
    let refused = |found| Trouble::new(descr.at, "a supported element type", found);
    let dtype = interpreted(&gate.canonical).map_err(refused)?;
    let bytes = dtype.num_bytes().filter(|&bytes| bytes <= MAX_ITEM);
    let bytes = bytes.ok_or_else(|| refused(format!("items larger than {MAX_ITEM} bytes")))?;
    Ok((gate.item(&dtype, text_len).map_err(refused)?, bytes))
}

/// The axes of a shape; none is 2^63 or more.
pub(super) fn dims(nodes: &[Node]) -> Result<Vec<u64>, Trouble> {
    if let Some(beyond) = nodes.get(MAX_DIMS) {
        let found = format!("{} dimensions", nodes.len());
        return Err(Trouble::new(beyond.at, format!("at most {MAX_DIMS} dimensions"), found));
    }
    let dim = |node: &Node| match node.value {
        Value::Number(dim) if i64::try_from(dim).is_ok() => Ok(dim),
        _ => Err(Trouble::new(node.at, "a dimension from 0 to 2^63 - 1", node.value.words())),
    };
    nodes.iter().map(dim).collect()
}

/// Has npyz interpret a canonical type.
fn interpreted(canonical: &str) -> Result<npyz::DType, String> {
    let text = format!("{{'descr': {canonical}, 'fortran_order': False, 'shape': (1,), }}\n");
    let length = u32::try_from(text.len()).map_err(|_| "a description of 4 GiB")?;
    let mut file = [b"\x93NUMPY\x03\0", length.to_le_bytes().as_slice()].concat();
    file.extend_from_slice(text.as_bytes());
    let header = npyz::NpyHeader::from_reader(file.as_slice()).map_err(|error| error.to_string())?;
    Ok(header.dtype())
}

/// Checks a type description and spells it for npyz: no escapes, and a comma after every element, since
/// npyz's parser reads a last element without one twice. Field names are kept here, by number.
#[derive(Default)]
struct Gate {
    canonical: String,
    names: Vec<String>,
}

impl Gate {
    fn descr(&mut self, node: &Node, field: &str) -> Result<(), Trouble> {
        let of_field =
            if field.is_empty() { String::new() } else { format!(" for field '{}'", short(field)) };
        match &node.value {
            Value::Text(text) => {
                let found = || format!("'{}'{of_field}", short(text));
                let plain = type_string(text).map_err(|expected| Trouble::new(node.at, expected, found()))?;
                self.canonical.push_str(&plain);
                Ok(())
            }
            Value::List(fields) => {
                self.canonical.push('[');
                fields.iter().try_for_each(|node| self.field(node))?;
                self.canonical.push(']');
                Ok(())
            }
            other => {
                let expected = "a type string or a list of fields";
                Err(Trouble::new(node.at, expected, other.words() + &of_field))
            }
        }
    }

    fn field(&mut self, node: &Node) -> Result<(), Trouble> {
        let (name, descr, axes) = match &node.value {
            Value::Tuple(parts) | Value::List(parts) => match parts.as_slice() {
                [name, descr] => (name, descr, None),
                [name, descr, axes] => (name, descr, Some(axes)),
                _ => return Err(Trouble::new(node.at, FIELD, node.value.words())),
            },
            other => return Err(Trouble::new(node.at, FIELD, other.words())),
        };
        let Value::Text(text) = &name.value else {
            let expected = "a string as field name (titles beside names are not supported)";
            return Err(Trouble::new(name.at, expected, name.value.words()));
        };
        self.canonical.push_str("('");
        if !text.is_empty() {
            let _ = write!(self.canonical, "{}", self.names.len());
            self.names.push(text.clone());
        }
        self.canonical.push_str("', ");
        self.descr(descr, text)?;
        self.canonical.push_str(", ");
        axes.map_or(Ok(()), |axes| self.axes(axes, descr, text))?;
        self.canonical.push_str("), ");
        Ok(())
    }

    fn axes(&mut self, node: &Node, descr: &Node, field: &str) -> Result<(), Trouble> {
        if matches!(descr.value, Value::List(_)) {
            let found = format!("a sub-array of records for field '{}'", short(field));
            return Err(Trouble::new(node.at, "a sub-array of plain values", found));
        }
        let axes = match &node.value {
            Value::Tuple(axes) | Value::List(axes) => dims(axes)?,
            _ => dims(std::slice::from_ref(node))?,
        };
        self.canonical.push('(');
        for dim in axes {
            let _ = write!(self.canonical, "{dim}, ");
        }
        self.canonical.push_str("), ");
        Ok(())
    }

    fn item(&self, dtype: &npyz::DType, text_len: usize) -> Result<Item, String> {
        let npyz::DType::Record(fields) = dtype else {
            return Ok(Item::Plain(cell(dtype).ok_or_else(|| dtype.descr())?));
        };
        let mut record = Record { gate: self, fields: Vec::new(), room: text_len.saturating_mul(8) };
        record.add(fields, "", 0)?;
        let mut seen = HashSet::new();
        match record.fields.iter().find(|field| !seen.insert(field.name.as_str())) {
            Some(twice) => Err(format!("two fields named '{}'", short(&twice.name))),
            None => Ok(Item::Record(record.fields)),
        }
    }
}

const FIELD: &str = "a field as ('name', 'type') or ('name', 'type', shape)";

struct Record<'a> {
    gate: &'a Gate,
    fields: Vec<Field>,
    room: usize,
}

impl Record<'_> {
    /// Adds fields that start at `at`; returns where they end.
    fn add(&mut self, fields: &[npyz::Field], outer: &str, mut at: usize) -> Result<usize, String> {
        for field in fields {
            let end = field.dtype.num_bytes().and_then(|bytes| at.checked_add(bytes));
            let end = end.ok_or("items too large for this machine")?;
            let number = field.name.parse::<usize>().ok();
            let name = number.and_then(|number| self.gate.names.get(number)).map_or("", String::as_str);
            match &field.dtype {
                dtype if name.is_empty() => padding(dtype)?,
                npyz::DType::Record(inner) => {
                    let outer = self.dotted(outer, name)?;
                    self.add(inner, &outer, at)?;
                }
                dtype => {
                    let cell = cell(dtype).ok_or_else(|| dtype.descr())?;
                    let name = self.dotted(outer, name)?;
                    self.fields.push(Field { name, at, cell });
                }
            }
            at = end;
        }
        Ok(at)
    }

    fn dotted(&mut self, outer: &str, name: &str) -> Result<String, String> {
        let name = if outer.is_empty() { name.to_owned() } else { format!("{outer}.{name}") };
        self.room = self.room.checked_sub(name.len()).ok_or("field names too long to be repeated")?;
        Ok(name)
    }
}

/// NumPy writes the gaps of aligned records as unnamed fields of raw bytes.
fn padding(dtype: &npyz::DType) -> Result<(), String> {
    match dtype {
        npyz::DType::Plain(plain) if plain.type_char() != npyz::TypeChar::RawData => {
            Err(format!("'{plain}' for a field without a name"))
        }
        npyz::DType::Record(_) => Err("a record for a field without a name".into()),
        _ => Ok(()),
    }
}

fn cell(dtype: &npyz::DType) -> Option<Cell> {
    use npyz::{Endianness, TypeChar};
    let (mut dtype, mut shape) = (dtype, Vec::new());
    while let npyz::DType::Array(dim, inner) = dtype {
        shape.push(usize::try_from(*dim).ok()?);
        dtype = inner;
    }
    let npyz::DType::Plain(plain) = dtype else { return None };
    let size = usize::try_from(plain.size_field()).ok()?;
    let dtype = match (plain.type_char(), size) {
        (TypeChar::Bool, 1) => DType::Bool,
        (TypeChar::Int, 1) => DType::I8,
        (TypeChar::Int, 2) => DType::I16,
        (TypeChar::Int, 4) => DType::I32,
        (TypeChar::Int, 8) => DType::I64,
        (TypeChar::Uint, 1) => DType::U8,
        (TypeChar::Uint, 2) => DType::U16,
        (TypeChar::Uint, 4) => DType::U32,
        (TypeChar::Uint, 8) => DType::U64,
        (TypeChar::Float, 2) => DType::F16,
        (TypeChar::Float, 4) => DType::F32,
        (TypeChar::Float, 8) => DType::F64,
        (TypeChar::Complex, 8) => DType::C64,
        (TypeChar::Complex, 16) => DType::C128,
        (TypeChar::ByteStr, _) => DType::Ascii(size),
        (TypeChar::UnicodeStr, _) => DType::Utf32(size),
        (TypeChar::RawData, _) => DType::Void(size),
        _ => return None,
    };
    let foreign = if cfg!(target_endian = "little") { Endianness::Big } else { Endianness::Little };
    let swap = plain.endianness() == foreign && dtype.swap_unit() > 1;
    Some(Cell { dtype, swap, shape })
}

/// One-letter types, and what they stand for on every platform.
const CODES: &str = "?bhiqBHIQefdFDSUV";
const CODED: [&str; 17] =
    ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", "S0", "U0", "V0"];

/// A type string as npyz spells it, in quotes; or what was expected instead.
fn type_string(text: &str) -> Result<String, &'static str> {
    const ANY: &str = "a type string such as '<f4', '|u1', '<U8' or 'int32'";
    const NATIVE: &str = if cfg!(target_endian = "little") { "<" } else { ">" };
    let (order, plain) = match text.split_at_checked(1) {
        Some((order @ ("<" | ">"), plain)) => (order, plain.to_owned()),
        Some(("=" | "|", plain)) => (NATIVE, plain.to_owned()),
        _ => (NATIVE, by_bits(text).unwrap_or_else(|| text.to_owned())),
    };
    let coded = CODES.char_indices().find(|&(at, _)| CODES.get(at..=at) == Some(&plain));
    let plain = coded.and_then(|(at, _)| CODED.get(at)).map_or(plain.as_str(), |&coded| coded);
    let (kind, digits) = plain.split_at_checked(1).ok_or(ANY)?;
    let size = if is_digits(digits) { digits.parse::<usize>().ok() } else { None };
    match (kind, size) {
        ("b", Some(1)) | ("i" | "u", Some(1 | 2 | 4 | 8)) | ("f", Some(2 | 4 | 8)) | ("c", Some(8 | 16)) => {}
        ("S" | "V", Some(bytes)) if bytes <= MAX_ITEM => {}
        ("U", Some(chars)) if chars <= MAX_ITEM / 4 => {}
        _ => return Err(way_out(kind, size).unwrap_or(ANY)),
    }
    let order = if kind != "U" && (size == Some(1) || matches!(kind, "S" | "V")) { "|" } else { order };
    Ok(format!("'{order}{kind}{}'", size.unwrap_or(0)))
}

/// What to do about a type that NumPy has and this crate has not.
fn way_out(kind: &str, size: Option<usize>) -> Option<&'static str> {
    match (kind, size) {
        ("O", _) => Some(
            "no Python objects (pickles are not read): re-save with .astype('f8'), .astype('S') or the like",
        ),
        ("M" | "m", _) => Some("no dates or durations: re-save as integers with .view('i8')"),
        ("f", Some(12 | 16)) => Some("floats of at most 8 bytes: re-save with .astype('f8')"),
        ("c", Some(24 | 32)) => Some("complex numbers of at most 16 bytes: re-save with .astype('c16')"),
        ("f", Some(1)) => Some("floats of at least 2 bytes: re-save float8 with .view('u1')"),
        _ => None,
    }
}

/// `int32` as `i4`.
fn by_bits(name: &str) -> Option<String> {
    let (kind, bits) =
        name.split_at_checked(name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len()))?;
    let kind = match (kind, bits) {
        ("bool", "") => return Some("b1".into()),
        ("int", "8" | "16" | "32" | "64") => "i",
        ("uint", "8" | "16" | "32" | "64") => "u",
        ("float", "16" | "32" | "64" | "128") => "f",
        ("complex", "64" | "128" | "256") => "c",
        _ => return None,
    };
    Some(format!("{kind}{}", bits.parse::<usize>().ok()? / 8))
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|digit| digit.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_strings_are_spelled_in_one_way() {
        let foreign = if cfg!(target_endian = "little") { ">" } else { "<" };
        let native = if cfg!(target_endian = "little") { "<" } else { ">" };
        for (text, plain) in
            [("=i4", "i4"), ("|i4", "i4"), ("int32", "i4"), ("i", "i4"), ("|U3", "U3"), ("D", "c16")]
        {
            assert_eq!(type_string(text), Ok(format!("'{native}{plain}'")), "{text}");
        }
        assert_eq!(type_string(&format!("{foreign}f8")), Ok(format!("'{foreign}f8'")));
        for (text, plain) in
            [("?", "|b1"), ("<b1", "|b1"), ("b", "|i1"), (">V2", "|V2"), ("S", "|S0"), ("bool", "|b1")]
        {
            assert_eq!(type_string(text), Ok(format!("'{plain}'")), "{text}");
        }
        for text in
            ["", "<", "!i4", "<i3", "<i0", "<f1", "<int32", "i4,f4", "3i4", "<V2147483648", "\u{e9}4", "i+4"]
        {
            assert!(type_string(text).is_err(), "{text}");
        }
    }
}
