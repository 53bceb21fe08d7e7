//! The door from erased columns to Rust types: checked once for a stream, free for each batch.

use super::{Batch, Element, Spec, Tensor};
use crate::error::{Error, Result};

/// One element type, or a tuple of up to twelve: what a [`Batch`] can be turned into by
/// [`typed`](crate::Stream::typed). Columns are taken in order.
pub trait Typed: Send + 'static {
    /// A [`Tensor`], or a tuple of them.
    type Tensors: Send + 'static;

    /// Compares the columns' types with these.
    ///
    /// # Errors
    /// [`Error::Spec`] naming the first column that differs.
    fn check(spec: &Spec) -> Result<()>;

    /// Takes the batch's columns apart.
    ///
    /// # Errors
    /// [`Error::Spec`] naming the first column that differs.
    fn tensors(batch: Batch) -> Result<Self::Tensors>;
}

fn columns(spec: &Spec, expected: usize) -> Result<()> {
    match spec.columns.len() == expected {
        true => Ok(()),
        false => Err(Error::spec("typed", format!("{expected} columns"), spec)),
    }
}

fn column<T: Element>(spec: &Spec, at: usize) -> Result<()> {
    let column = &spec.columns[at];
    match column.dtype == T::DTYPE {
        true => Ok(()),
        false => {
            let found = format!("{}; add .cast::<{}>({:?})", column.dtype, T::DTYPE, column.name);
            Err(Error::spec(format!("column {:?}", column.name), T::DTYPE, found))
        }
    }
}

fn short() -> Error {
    Error::spec("typed", "as many columns as types", "fewer")
}

impl<T: Element> Typed for T {
    type Tensors = Tensor<T>;

    fn check(spec: &Spec) -> Result<()> {
        columns(spec, 1)?;
        column::<T>(spec, 0)
    }

    fn tensors(batch: Batch) -> Result<Tensor<T>> {
        Self::check(batch.spec())?;
        batch.into_arrays().into_iter().next().ok_or_else(short)?.typed()
    }
}

macro_rules! typed_tuple {
    ($($element:ident $at:tt $name:literal),*) => {
        impl<$($element: Element),*> Typed for ($($element,)*) {
            type Tensors = ($(Tensor<$element>,)*);

            fn check(spec: &Spec) -> Result<()> {
                columns(spec, [$($at),*].len())?;
                $(column::<$element>(spec, $at)?;)*
                Ok(())
            }

            fn tensors(batch: Batch) -> Result<Self::Tensors> {
                Self::check(batch.spec())?;
                let mut arrays = batch.into_arrays().into_iter();
                Ok(($(arrays.next().ok_or_else(short)?.typed::<$element>()?,)*))
            }
        }
    };
}

super::tuples!(typed_tuple);
