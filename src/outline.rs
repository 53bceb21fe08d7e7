//! What a stream says about itself before it runs, and the plan printed from it.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::data::{Length, Spec};

/// One line of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Step {
    /// The call that made the stage, as the user wrote it: `batch(128)`.
    pub call: String,
    /// Threads it runs on; 0 for the consumer's.
    pub threads: usize,
    /// Items its link holds ready; 0 without a link.
    pub link: usize,
    /// Items it holds at most, apart from its link.
    pub holds: u64,
    /// Bytes of one item it yields, where that is known.
    pub item_bytes: Option<u64>,
    /// Nesting: 1 and more for the inputs of a join.
    pub depth: usize,
}

/// Length, columns, needs and warnings of a stream, collected from its first stage to its last.
#[derive(Debug, Clone)]
pub struct Outline {
    /// Items of one epoch.
    pub length: Length,
    /// The columns, where the items are batches or rows whose columns are known.
    pub spec: Option<Arc<Spec>>,
    /// Bytes of one item, where that is known.
    pub item_bytes: Option<u64>,
    expression: String,
    steps: Vec<Step>,
    warnings: Vec<String>,
    stamps: Vec<String>,
}

impl Outline {
    /// The outline of a first stage, made by the expression `call`.
    pub fn source(call: impl Into<String>, length: Length) -> Outline {
        let call = call.into();
        let step = Step { call: call.clone(), ..Step::default() };
        let (expression, steps) = (call, vec![step]);
        Outline {
            length,
            spec: None,
            item_bytes: None,
            expression,
            steps,
            warnings: Vec::new(),
            stamps: Vec::new(),
        }
    }

    /// This outline with one more stage, made by `call`. Length, columns and item size stay as they are.
    pub fn step(mut self, call: impl Into<String>) -> Outline {
        let call = call.into();
        self.expression = format!("{}.{call}", self.expression);
        self.steps.push(Step { call, item_bytes: self.item_bytes, ..Step::default() });
        self
    }

    /// The outline of a stage that joins this stream with another by the verb `verb`.
    pub fn join(mut self, verb: &str, other: Outline) -> Outline {
        self.expression = format!("{}.{verb}({})", self.expression, other.expression);
        self.steps.extend(other.steps.into_iter().map(|s| Step { depth: s.depth + 1, ..s }));
        self.warnings.extend(other.warnings);
        self.stamps.extend(other.stamps);
        self.steps.push(Step { call: format!("{verb}(..)"), ..Step::default() });
        self
    }

    /// With this many items an epoch.
    pub fn length(mut self, length: Length) -> Outline {
        self.length = length;
        self
    }

    /// With these columns, or without known ones.
    pub fn columns(mut self, spec: Option<Arc<Spec>>) -> Outline {
        self.spec = spec;
        self
    }

    /// With items of this many bytes, or of unknown size.
    pub fn sized(mut self, item_bytes: Option<u64>) -> Outline {
        self.item_bytes = item_bytes;
        self.last().item_bytes = item_bytes;
        self
    }

    /// The last stage holds up to `items` items of its own kind.
    pub fn holds(mut self, items: u64) -> Outline {
        self.last().holds = items;
        self
    }

    /// The last stage runs on `threads` threads, with `link` items ready behind it.
    pub fn threads(mut self, threads: usize, link: usize) -> Outline {
        self.last().threads += threads;
        self.last().link = link;
        self
    }

    /// With a warning for the user.
    pub fn warn(mut self, text: impl Into<String>) -> Outline {
        self.warnings.push(text.into());
        self
    }

    /// Over files of which these are the [stamps](crate::plumbing::Source::stamps).
    pub fn read_from(mut self, stamps: Vec<String>) -> Outline {
        self.stamps.extend(stamps);
        self
    }

    /// Names, lengths and times of the files that are read, where they are known.
    pub fn stamps(&self) -> &[String] {
        &self.stamps
    }

    /// The expression that made the stream.
    pub fn expression(&self) -> &str {
        &self.expression
    }

    pub(crate) fn into_plan(self) -> Plan {
        Plan {
            expression: self.expression,
            length: self.length,
            columns: self.spec.map(|s| s.to_string()),
            steps: self.steps,
            warnings: self.warnings,
        }
    }

    fn last(&mut self) -> &mut Step {
        // A stage's outline starts with `source`, so there is a last step; a default one keeps this total.
        if self.steps.is_empty() {
            self.steps.push(Step::default());
        }
        let at = self.steps.len() - 1;
        &mut self.steps[at]
    }
}

/// What a stream will do when it runs: stages, threads, links and bytes. Print it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// The expression that made the stream.
    pub expression: String,
    /// Items of one epoch.
    pub length: Length,
    /// The columns of its batches, where they are known.
    pub columns: Option<String>,
    /// The stages, first to last.
    pub steps: Vec<Step>,
    /// What is likely not meant.
    pub warnings: Vec<String>,
}

impl Plan {
    /// Threads started by one iterator, beside the one that calls it.
    pub fn threads(&self) -> usize {
        self.steps.iter().map(|s| s.threads).sum()
    }

    /// The most bytes of items that one iterator holds at a time, counting the stages whose item size is known.
    /// Mapped pages are not counted: the system takes them back when it needs them.
    pub fn peak_bytes(&self) -> u64 {
        let held = |s: &Step| (s.holds + s.link as u64).saturating_mul(s.item_bytes.unwrap_or(0));
        self.steps.iter().map(held).fold(0, u64::saturating_add)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const WIDTH: usize = 44;
        writeln!(f, "{:<WIDTH$} {:>7} {:>6} {:>12} {:>12}", "stage", "threads", "link", "item", "held")?;
        for step in &self.steps {
            let indent = "  ".repeat(step.depth);
            let dash = |n: usize| if n == 0 { "-".into() } else { n.to_string() };
            let held = step.holds + step.link as u64;
            let item = step.item_bytes.map_or("?".into(), human);
            let bytes = match (held, step.item_bytes) {
                (0, _) => "-".into(),
                (n, Some(bytes)) => human(n.saturating_mul(bytes)),
                (n, None) => format!("{n} items"),
            };
            let mut call = format!("{indent}{}", step.call);
            if call.len() > WIDTH {
                writeln!(f, "{call}")?;
                call.clear();
            }
            let (threads, link) = (dash(step.threads), dash(step.link));
            writeln!(f, "{call:<WIDTH$} {threads:>7} {link:>6} {item:>12} {bytes:>12}")?;
        }
        let (threads, peak) = (self.threads(), human(self.peak_bytes()));
        let s = if threads == 1 { "" } else { "s" };
        write!(f, "{} items an epoch, {threads} thread{s} beside yours, at most {peak} held", self.length)?;
        for warning in &self.warnings {
            write!(f, "\nwarning: {warning}")?;
        }
        Ok(())
    }
}

/// A number of bytes for reading.
pub(crate) fn human(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit < UNITS.len() - 1 {
        value /= 1024.0;
        unit += 1;
    }
    match unit {
        0 => format!("{bytes} B"),
        _ => format!("{value:.1} {}", UNITS[unit]),
    }
}

/// A type's name without the paths of its parts, for expressions.
pub(crate) fn short_name<T>() -> String {
    let mut short = String::new();
    for part in
        std::any::type_name::<T>().split_inclusive(|c: char| !c.is_alphanumeric() && c != '_' && c != ':')
    {
        short.push_str(part.rsplit("::").next().unwrap_or(part));
    }
    short
}
