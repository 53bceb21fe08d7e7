//! From a file's element form to a batch's: byte order, bool normalisation, number casts.
//!
//! Works on plain byte slices a few KiB at a time, so that the compiler's vector loops run out of
//! the first-level cache while rows stream through.

use bytemuck::AnyBitPattern;
use half::{bf16, f16};
use num_traits::AsPrimitive;

use super::{DType, Number};
use crate::sys::Piece;

type CastFn = fn(&Piece<'_>, &mut [u8]);

/// What is to be done to the elements of one column on their way into a batch.
#[derive(Clone, Copy)]
pub(crate) struct Convert {
    swap: usize,
    bool_bytes: bool,
    cast: Option<CastFn>,
    ratio: (usize, usize),
}

impl Convert {
    /// From `from`, stored in the foreign byte order if `swap`, to `to`. `None` when the two do not convert.
    pub(crate) fn new(from: DType, swap: bool, to: DType) -> Option<Convert> {
        let cast = match from == to {
            true => None,
            false => Some(caster(from, to)?),
        };
        let swap = if swap { from.swap_unit() } else { 1 };
        Some(Convert { swap, bool_bytes: from == DType::Bool, cast, ratio: (from.bytes(), to.bytes()) })
    }

    /// True when the stored bytes already are the batch's bytes.
    pub(crate) fn is_identity(&self) -> bool {
        self.swap == 1 && !self.bool_bytes && self.cast.is_none()
    }

    /// Bytes of one element before and after.
    pub(crate) fn ratio(&self) -> (usize, usize) {
        self.ratio
    }

    /// Converts a row's elements where they lie, into `into`; false when they have to be copied first.
    pub(crate) fn in_one_pass(&self, from: &Piece<'_>, into: &mut [u8]) -> bool {
        match self.cast {
            Some(cast) if self.swap == 1 && !self.bool_bytes => {
                cast(from, into);
                true
            }
            _ => false,
        }
    }

    /// Converts whole elements of `from` into `into`. Uses `from` as working space.
    pub(crate) fn run(&self, from: &mut [u8], into: &mut [u8]) {
        match self.swap {
            2 => swap::<2>(from),
            4 => swap::<4>(from),
            8 => swap::<8>(from),
            _ => {}
        }
        if self.bool_bytes {
            // NumPy takes any byte but 0 as true; a Rust bool may only be 0 or 1.
            from.iter_mut().for_each(|b| *b = u8::from(*b != 0));
        }
        match self.cast {
            Some(cast) => cast(&Piece::of(from), into),
            None => into.copy_from_slice(from),
        }
    }
}

fn swap<const N: usize>(bytes: &mut [u8]) {
    for unit in bytes.as_chunks_mut::<N>().0 {
        unit.reverse();
    }
}

/// The loop that casts `from` into `to` as Rust's `as` does: floats to integers saturate, NaN gives 0,
/// wider integers wrap into narrower ones; to bool, everything but zero is true.
fn caster(from: DType, to: DType) -> Option<CastFn> {
    match from {
        DType::Bool | DType::U8 => into_number::<u8>(to),
        DType::I8 => into_number::<i8>(to),
        DType::I16 => into_number::<i16>(to),
        DType::I32 => into_number::<i32>(to),
        DType::I64 => into_number::<i64>(to),
        DType::U16 => into_number::<u16>(to),
        DType::U32 => into_number::<u32>(to),
        DType::U64 => into_number::<u64>(to),
        DType::F16 => into_number::<f16>(to),
        DType::Bf16 => into_number::<bf16>(to),
        DType::F32 => into_number::<f32>(to),
        DType::F64 => into_number::<f64>(to),
        _ => None,
    }
}

fn into_number<S>(to: DType) -> Option<CastFn>
where
    S: Number + AnyBitPattern + AsPrimitive<i8> + AsPrimitive<i16> + AsPrimitive<i32> + AsPrimitive<i64>,
    S: AsPrimitive<u8> + AsPrimitive<u16> + AsPrimitive<u32> + AsPrimitive<u64>,
    S: AsPrimitive<f16> + AsPrimitive<bf16> + AsPrimitive<f32> + AsPrimitive<f64>,
{
    Some(match to {
        DType::Bool => |from, into| {
            let zero = S::default();
            each::<S, u8>(from, into, |s| u8::from(s != zero));
        },
        DType::I8 => |from, into| each::<S, i8>(from, into, AsPrimitive::as_),
        DType::I16 => |from, into| each::<S, i16>(from, into, AsPrimitive::as_),
        DType::I32 => |from, into| each::<S, i32>(from, into, AsPrimitive::as_),
        DType::I64 => |from, into| each::<S, i64>(from, into, AsPrimitive::as_),
        DType::U8 => |from, into| each::<S, u8>(from, into, AsPrimitive::as_),
        DType::U16 => |from, into| each::<S, u16>(from, into, AsPrimitive::as_),
        DType::U32 => |from, into| each::<S, u32>(from, into, AsPrimitive::as_),
        DType::U64 => |from, into| each::<S, u64>(from, into, AsPrimitive::as_),
        DType::F16 => |from, into| each::<S, f16>(from, into, AsPrimitive::as_),
        DType::Bf16 => |from, into| each::<S, bf16>(from, into, AsPrimitive::as_),
        DType::F32 => |from, into| each::<S, f32>(from, into, AsPrimitive::as_),
        DType::F64 => |from, into| each::<S, f64>(from, into, AsPrimitive::as_),
        _ => return None,
    })
}

fn each<S: Number + AnyBitPattern, D: Number>(from: &Piece<'_>, into: &mut [u8], cast: impl Fn(S) -> D) {
    // Cut from an aligned buffer at whole elements; a slice that is not would convert nothing, which the tests of every pair of
    // types would show.
    from.each(bytemuck::checked::try_cast_slice_mut(into).unwrap_or_default(), cast);
}
