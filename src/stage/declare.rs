//! `declare`: a promise about the items' form, kept or refused item by item.

use std::sync::Arc;

use crate::data::{Conform, Spec};
use crate::error::{Error, Result};
use crate::plumbing::{Outline, Pull, Run, Running, Stage, Upstream};
use crate::stream::Stream;

impl<T: Conform> Stream<T> {
    /// The same items, each compared with `spec`: one that differs becomes an error at its place, naming the difference. Stages
    /// below know the columns before the first item.
    ///
    /// **Order:** kept · **Holds:** nothing · **Threads:** none
    ///
    /// # Errors
    /// While iterating, [`Error::Item`].
    ///
    /// # Examples
    /// ```
    /// use gristmill::{ColumnSpec, DType, Dataset, Spec};
    ///
    /// let spec = Spec::new(vec![ColumnSpec::new("0", DType::F32, &[2])])?;
    /// let rows = Dataset::from_generator(|_| [vec![1.0f32, 2.0], vec![3.0]]).declare(spec);
    /// let seen: Vec<bool> = rows.iter()?.map(|row| row.is_ok()).collect();
    /// assert_eq!(seen, [true, false]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn declare(self, spec: Arc<Spec>) -> Stream<T> {
        self.then(|upstream| DeclareStage { upstream, spec })
    }
}

struct DeclareStage<T> {
    upstream: Upstream<T>,
    spec: Arc<Spec>,
}

impl<T: Conform> Stage for DeclareStage<T> {
    type Item = T;

    fn outline(&self, run: &Run) -> Result<Outline> {
        let call = format!("declare{}", self.spec);
        Ok(self.upstream.outline(run)?.step(call).columns(Some(self.spec.clone())))
    }

    fn open(&self, run: &Run) -> Result<Running<T>> {
        Ok(Box::new(DeclarePull { upstream: self.upstream.open(run)?, spec: self.spec.clone(), position: 0 }))
    }

    fn label(&self) -> &'static str {
        "declare"
    }
}

struct DeclarePull<T> {
    upstream: Running<T>,
    spec: Arc<Spec>,
    position: u64,
}

impl<T: Conform> Pull for DeclarePull<T> {
    type Item = T;

    fn pull(&mut self) -> Result<Option<T>> {
        let position = self.position;
        self.position += 1;
        let Some(item) = self.upstream.pull()? else { return Ok(None) };
        match item.conform(&self.spec) {
            Ok(()) => Ok(Some(item)),
            Err(Error::Spec { expected, found, .. }) => {
                Err(Error::Item { stage: "declare", position, expected, found })
            }
            Err(error) => Err(error),
        }
    }

    fn skip(&mut self, n: u64) -> Result<u64> {
        let passed = self.upstream.skip(n)?;
        self.position += passed;
        Ok(passed)
    }
}
