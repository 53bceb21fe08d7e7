//! `from_slices`: columns side by side.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::cells::Cells;
use super::column::{Column, IntoColumns};
use crate::data::{ColumnSpec, Convert, Projection, Slot, Spec};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::plumbing::Source;

impl Dataset {
    /// The rows of one or more columns of equal length: memory-mapped files, memory, or both.
    ///
    /// Takes a tuple of columns (named `"0"`, `"1"`, …), a tuple of `(name, column)` pairs, a single column, or a
    /// `Vec` of [`Column`]s. Files are mapped, memory is kept; nothing is copied before a batch is made.
    ///
    /// # Errors
    /// [`Error::Rows`] naming two columns of different lengths; [`Error::Spec`] when a name stands twice; those of
    /// opening a file.
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let x = ndarray::arr2(&[[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    /// let rows = Dataset::from_slices((("x", x), ("y", vec![0i64, 1, 2])))?;
    /// assert_eq!(rows.spec().to_string(), "(x: f32[2], y: i64)");
    /// for batch in rows.batch(2).iter()? {
    ///     let batch = batch?;
    ///     println!("{:?} {:?}", batch.column::<f32>("x")?, batch.column::<i64>("y")?);
    /// }
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn from_slices(columns: impl IntoColumns) -> Result<Dataset> {
        Dataset::table(columns.into_columns()?, "from_slices")
    }

    /// The rows of these columns, by the verb `verb`; by the only column's own expression where the verb is empty.
    pub(super) fn table(columns: Vec<Column>, verb: &'static str) -> Result<Dataset> {
        let Some(first) = columns.first() else {
            return Err(Error::argument("from_slices", "at least one column", "none"));
        };
        let rows = first.rows();
        let spec = Spec::new(columns.iter().enumerate().map(|(i, c)| c.spec(i)).collect())?;
        if let Some(i) = columns.iter().position(|c| c.rows() != rows) {
            return Err(Error::Rows {
                left: spec.columns[0].name.clone(),
                left_rows: rows,
                right: spec.columns[i].name.clone(),
                right_rows: columns[i].rows(),
            });
        }
        let expression = expression(verb, &columns).into();
        let columns: Result<Vec<Field>> = columns.into_iter().map(Field::new).collect();
        Ok(Dataset::whole(Arc::new(Table { spec, rows, expression, fields: columns? })))
    }
}

/// A column and how its elements get into a batch.
#[derive(Clone)]
struct Field {
    cells: Arc<dyn Cells>,
    convert: Convert,
}

impl Field {
    fn new(column: Column) -> Result<Field> {
        let dtype = column.cells.dtype();
        let convert = Convert::new(dtype, column.cells.swapped(), dtype);
        let convert = convert.ok_or_else(|| Error::spec("column", "a supported type", dtype))?;
        Ok(Field { cells: column.cells, convert })
    }
}

fn expression(verb: &str, columns: &[Column]) -> String {
    if let ("", [only]) = (verb, columns) {
        return format!("{only:?}");
    }
    let column = |c: &Column| match &c.name {
        Some(name) => format!("{name:?}: {c:?}"),
        None => format!("{c:?}"),
    };
    format!("{verb}({})", columns.iter().map(column).collect::<Vec<_>>().join(", "))
}

struct Table {
    spec: Arc<Spec>,
    rows: u64,
    /// As the user wrote it, whatever was projected since.
    expression: Arc<str>,
    fields: Vec<Field>,
}

impl Source for Table {
    fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    fn rows(&self) -> u64 {
        self.rows
    }

    fn gather(&self, rows: &[u64], into: &mut [Slot<'_>]) -> Result<()> {
        for (field, slot) in self.fields.iter().zip(into) {
            field.cells.gather(rows, slot.bytes(), &field.convert)?;
        }
        Ok(())
    }

    fn confirm(&self) -> Result<()> {
        self.fields.iter().try_for_each(|field| field.cells.confirm())
    }

    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.expression)
    }

    fn scattered(&self) -> Option<Arc<dyn Source>> {
        let scattered: Vec<_> = self.fields.iter().map(|field| field.cells.scattered()).collect();
        scattered.iter().any(Option::is_some).then(|| {
            let fields = self.fields.iter().zip(scattered);
            let fields = fields
                .map(|(field, cells)| Field { cells: cells.unwrap_or(field.cells.clone()), ..field.clone() });
            let (spec, expression) = (self.spec.clone(), self.expression.clone());
            Arc::new(Table { spec, rows: self.rows, expression, fields: fields.collect() }) as Arc<dyn Source>
        })
    }

    fn ahead(&self, rows: Range<u64>) {
        self.fields.iter().for_each(|field| field.cells.ahead(rows.clone()));
    }

    fn project(&self, change: &Projection) -> Option<Arc<dyn Source>> {
        let columns = change.apply(&self.spec).ok()?;
        let mut fields = Vec::with_capacity(columns.len());
        for (at, column) in &columns {
            let cells = self.fields[*at].cells.clone();
            // A cast of a cast is not one conversion: the first would be lost.
            let (from, now) = (cells.dtype(), self.spec.columns[*at].dtype);
            let convert = match now == column.dtype {
                true => self.fields[*at].convert,
                false if from == now => Convert::new(from, cells.swapped(), column.dtype)?,
                false => return None,
            };
            fields.push(Field { cells, convert });
        }
        let spec = Spec::new(columns.into_iter().map(|(_, column)| column).collect()).ok()?;
        Some(Arc::new(Table { spec, rows: self.rows, expression: self.expression.clone(), fields }))
    }

    fn windows(&self, first: u64, context: usize, stride: u64) -> Option<Arc<dyn Source>> {
        let window = |field: &Field| {
            let cells = field.cells.windows(first, context, stride)?;
            Some(Field { cells, convert: field.convert })
        };
        let fields: Vec<Field> = self.fields.iter().map(window).collect::<Option<_>>()?;
        let rows = fields.first()?.cells.rows();
        // Types as they were projected; only the shapes have one more axis.
        let columns = self.spec.columns.iter().zip(&fields);
        let column = |(now, field): (&ColumnSpec, &Field)| {
            ColumnSpec::new(now.name.clone(), now.dtype, field.cells.shape())
        };
        let spec = Spec::new(columns.map(column).collect()).ok()?;
        Some(Arc::new(Table { spec, rows, expression: self.expression.clone(), fields }))
    }

    fn notes(&self) -> Vec<String> {
        self.fields.iter().flat_map(|field| field.cells.notes()).collect()
    }

    fn stamps(&self) -> Vec<String> {
        self.fields.iter().filter_map(|field| field.cells.stamp()).collect()
    }
}
