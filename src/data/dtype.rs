//! Element types: the names used in files, and the Rust types that hold them.

use std::fmt;

use bytemuck::{CheckedBitPattern, NoUninit};
use half::{bf16, f16};
use num_complex::Complex;
use serde::{Deserialize, Serialize};

/// The type of one element of a column.
///
/// Prints in the field's short form: `f32`, `u8`, `bf16`, `V8`, `S7`, `U3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum DType {
    /// One byte, 0 or 1.
    Bool,
    /// Signed, 8 bits.
    I8,
    /// Signed, 16 bits.
    I16,
    /// Signed, 32 bits.
    I32,
    /// Signed, 64 bits.
    I64,
    /// Unsigned, 8 bits.
    U8,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 32 bits.
    U32,
    /// Unsigned, 64 bits.
    U64,
    /// IEEE half precision.
    F16,
    /// Brain float: the upper half of an f32.
    Bf16,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
    /// Two f32: real, imaginary.
    C64,
    /// Two f64: real, imaginary.
    C128,
    /// Opaque bytes (NumPy `V`): this many of them.
    Void(usize),
    /// Byte string padded with zeros (NumPy `S`): this many bytes.
    Ascii(usize),
    /// UTF-32 string padded with zeros (NumPy `U`): this many characters of 4 bytes.
    Utf32(usize),
}

impl DType {
    /// Bytes of one element.
    pub fn bytes(self) -> usize {
        match self {
            DType::Bool | DType::I8 | DType::U8 => 1,
            DType::I16 | DType::U16 | DType::F16 | DType::Bf16 => 2,
            DType::I32 | DType::U32 | DType::F32 => 4,
            DType::I64 | DType::U64 | DType::F64 | DType::C64 => 8,
            DType::C128 => 16,
            DType::Void(n) | DType::Ascii(n) => n,
            DType::Utf32(n) => n.saturating_mul(4),
        }
    }

    /// Bytes of the unit whose order a foreign byte order reverses; 1 where order means nothing.
    pub fn swap_unit(self) -> usize {
        match self {
            DType::C64 | DType::Utf32(_) => 4,
            DType::C128 => 8,
            DType::Void(_) | DType::Ascii(_) => 1,
            number => number.bytes(),
        }
    }

    /// True for the types that [`cast`](crate::Stream::cast) converts between: bool, integers, floats.
    pub fn is_number(self) -> bool {
        !matches!(self, DType::C64 | DType::C128 | DType::Void(_) | DType::Ascii(_) | DType::Utf32(_))
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            DType::Bool => "bool",
            DType::I8 => "i8",
            DType::I16 => "i16",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::U8 => "u8",
            DType::U16 => "u16",
            DType::U32 => "u32",
            DType::U64 => "u64",
            DType::F16 => "f16",
            DType::Bf16 => "bf16",
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::C64 => "c64",
            DType::C128 => "c128",
            DType::Void(n) => return write!(f, "V{n}"),
            DType::Ascii(n) => return write!(f, "S{n}"),
            DType::Utf32(n) => return write!(f, "U{n}"),
        };
        f.write_str(name)
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A Rust type that a column's elements can be viewed as.
///
/// Sealed: implemented for `bool`, `i8` to `i64`, `u8` to `u64`, `f16`, `bf16`, `f32`, `f64` and
/// `Complex` of `f32` and `f64`.
pub trait Element:
    sealed::Sealed + CheckedBitPattern + NoUninit + Default + PartialEq + fmt::Debug + Send + Sync + 'static
{
    /// Its name in a [`Spec`](crate::Spec).
    const DTYPE: DType;
}

/// An [`Element`] that is a plain number: what `cast` converts between.
pub trait Number: Element {}

macro_rules! elements {
    ($($rust:ty => $dtype:ident),* $(,)?) => {
        $(impl sealed::Sealed for $rust {}
          impl Element for $rust { const DTYPE: DType = DType::$dtype; })*
    };
}

elements! {
    bool => Bool, i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f16 => F16, bf16 => Bf16, f32 => F32, f64 => F64, Complex<f32> => C64, Complex<f64> => C128,
}

macro_rules! numbers {
    ($($rust:ty),*) => { $(impl Number for $rust {})* };
}

numbers!(bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64);
