//! One block of one column: element type, shape, bytes.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use ndarray::{ArrayView, ArrayViewD, IxDyn};
use smallvec::SmallVec;

use super::{Bytes, DType, Element};
use crate::error::{Error, Result};

/// An n-dimensional block in C order whose element type is known at run time.
///
/// Cloning shares the memory; writing goes through [`elements_mut`](Array::elements_mut), which
/// copies first when the memory is shared.
#[derive(Clone)]
pub struct Array {
    dtype: DType,
    /// Shapes of up to four axes cost no allocation.
    shape: SmallVec<[usize; 4]>,
    bytes: Bytes,
}

impl Array {
    /// Copies `values` into an array of `shape`.
    ///
    /// # Errors
    /// [`Error::Spec`] when the shape does not hold that many values; [`Error::Memory`].
    pub fn from_elements<T: Element>(values: &[T], shape: &[usize]) -> Result<Array> {
        let expected = shape.iter().try_fold(1usize, |a, b| a.checked_mul(*b));
        if expected != Some(values.len()) {
            return Err(Error::spec("array", format!("{shape:?}"), format!("{} values", values.len())));
        }
        let bytes = Bytes::copied(bytemuck::cast_slice(values))?;
        Ok(Array { dtype: T::DTYPE, shape: shape.into(), bytes })
    }

    /// An array of zero bytes, to be filled through [`bytes_mut`](Array::bytes_mut): for element types that are known at run time only.
    ///
    /// # Errors
    /// [`Error::Memory`], also for a shape of more bytes than can be numbered.
    ///
    /// # Examples
    /// ```
    /// use gristmill::{Array, DType};
    ///
    /// let mut words = Array::zeroed(DType::Ascii(3), &[2])?;
    /// words.bytes_mut()?.copy_from_slice(b"oneten");
    /// assert_eq!(words.bytes(), b"oneten");
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn zeroed(dtype: DType, shape: &[usize]) -> Result<Array> {
        let bytes = shape.iter().try_fold(dtype.bytes(), |a, b| a.checked_mul(*b));
        let bytes = bytes.ok_or_else(|| Error::no_memory("an array", u64::MAX))?;
        Ok(Array { dtype, shape: shape.into(), bytes: Bytes::zeroed(bytes)? })
    }

    pub(crate) fn new(dtype: DType, shape: impl Into<SmallVec<[usize; 4]>>, bytes: Bytes) -> Array {
        Array { dtype, shape: shape.into(), bytes }
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The shape; the first axis counts rows.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The bytes, in the machine's byte order.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_slice()
    }

    /// The elements, in C order.
    ///
    /// # Errors
    /// [`Error::Spec`] when the array does not hold `T`.
    pub fn elements<T: Element>(&self) -> Result<&[T]> {
        self.check::<T>()?;
        bytemuck::checked::try_cast_slice(self.bytes()).map_err(|e| Error::spec("array", T::DTYPE, e))
    }

    /// The elements for writing; copies them first if the memory is shared with another array.
    ///
    /// # Errors
    /// [`Error::Spec`] when the array does not hold `T`; [`Error::Memory`].
    pub fn elements_mut<T: Element>(&mut self) -> Result<&mut [T]> {
        self.check::<T>()?;
        bytemuck::checked::try_cast_slice_mut(self.bytes_mut()?)
            .map_err(|e| Error::spec("array", T::DTYPE, e))
    }

    /// The array as a [`Tensor`] of `T`.
    ///
    /// # Errors
    /// [`Error::Spec`] when the array does not hold `T`.
    pub fn typed<T: Element>(self) -> Result<Tensor<T>> {
        self.elements::<T>()?;
        Ok(Tensor { array: self, element: PhantomData })
    }

    /// Rows `range` of the first axis, sharing the memory.
    pub(crate) fn slice(&self, range: Range<usize>) -> Array {
        let row: usize = self.shape[1..].iter().product::<usize>() * self.dtype.bytes();
        let mut shape = self.shape.clone();
        shape[0] = range.len();
        Array { dtype: self.dtype, shape, bytes: self.bytes.cut(range.start * row..range.end * row) }
    }

    /// The bytes for writing, in the machine's byte order; copies them first if the memory is shared with another array. What is no
    /// element of the type, such as a bool of 2, is refused when the elements are asked for.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn bytes_mut(&mut self) -> Result<&mut [u8]> {
        if self.bytes.as_mut_slice().is_none() {
            self.bytes = Bytes::copied(self.bytes.as_slice())?;
        }
        Ok(self.bytes.as_mut_slice().unwrap_or_default())
    }

    fn check<T: Element>(&self) -> Result<()> {
        match self.dtype == T::DTYPE {
            true => Ok(()),
            false => Err(Error::spec("array", T::DTYPE, self.dtype)),
        }
    }
}

impl PartialEq for Array {
    /// Equal types, shapes and bytes; NaNs with equal bits are equal.
    fn eq(&self, other: &Array) -> bool {
        (self.dtype, &self.shape, self.bytes()) == (other.dtype, &other.shape, other.bytes())
    }
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}", self.dtype, self.shape)
    }
}

/// An [`Array`] whose elements are known to be `T`.
#[derive(Clone, PartialEq)]
pub struct Tensor<T> {
    array: Array,
    element: PhantomData<T>,
}

impl<T: Element> Tensor<T> {
    /// The shape; the first axis counts rows.
    pub fn shape(&self) -> &[usize] {
        self.array.shape()
    }

    /// The elements, in C order.
    pub fn as_slice(&self) -> &[T] {
        // `Array::typed` has made this very cast; it cannot fail later, the bytes being ours.
        bytemuck::checked::try_cast_slice(self.array.bytes()).unwrap_or(&[])
    }

    /// Row `i` of the first axis.
    pub fn row(&self, i: usize) -> &[T] {
        let row: usize = self.shape()[1..].iter().product();
        &self.as_slice()[i * row..(i + 1) * row]
    }

    /// The elements as an ndarray view, without copying.
    pub fn view(&self) -> ArrayViewD<'_, T> {
        // The shape was checked against the bytes when the array was made; the empty view is never taken.
        let view = ArrayView::from_shape(IxDyn(self.shape()), self.as_slice());
        view.unwrap_or_else(|_| ndarray::aview1(&[]).into_dyn())
    }

    /// The array, its element type erased.
    pub fn into_array(self) -> Array {
        self.array
    }
}

impl<T: Element> fmt::Debug for Tensor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}{:?}", self.array, self.as_slice())
    }
}
