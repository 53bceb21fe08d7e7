//! What a stream says about itself before it runs, and the plan printed from it.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::data::{Length, Spec};
use crate::error::{Error, Result};
use crate::state::{Identity, portable};

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

impl Step {
    /// Items it holds at most, its link's included.
    fn held(&self) -> u64 {
        self.holds.saturating_add(self.link as u64)
    }
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
    /// Items after which the stages above start anew, inside one epoch.
    seam: Option<u64>,
    stamps: Vec<String>,
    /// What comes out otherwise in every epoch.
    varying: Option<String>,
    /// The expression as far as it decides which items come; where its last call starts.
    stages: String,
    last_call: usize,
    /// What is read: rows and columns.
    sources: Vec<String>,
    /// Whose share the items are, while a state of one rank is one of all.
    rank: Option<String>,
    unordered: bool,
    /// Items that failed may come beside those that [`length`](Outline::length) counts.
    uncounted: bool,
}

impl Outline {
    /// The outline of a first stage, made by the expression `call`.
    pub fn source(call: impl Into<String>, length: Length) -> Outline {
        let call = call.into();
        let step = Step { call: call.clone(), ..Step::default() };
        let (stages, expression, steps) = (portable(&call), call, vec![step]);
        Outline {
            length,
            spec: None,
            item_bytes: None,
            expression,
            steps,
            warnings: Vec::new(),
            seam: None,
            stamps: Vec::new(),
            varying: None,
            stages,
            last_call: 0,
            sources: Vec::new(),
            rank: None,
            unordered: false,
            uncounted: false,
        }
    }

    /// This outline with one more stage, made by `call`. Length, columns and item size stay as they are.
    pub fn step(mut self, call: impl Into<String>) -> Outline {
        let call = call.into();
        self.expression = format!("{}.{call}", self.expression);
        self.last_call = self.stages.len();
        self.stages = format!("{}.{}", self.stages, portable(&call));
        self.steps.push(Step { call, item_bytes: self.item_bytes, ..Step::default() });
        self
    }

    /// The outline of a stage that joins this stream with another by the verb `verb`.
    pub fn join(mut self, verb: &str, other: Outline) -> Outline {
        self.expression = format!("{}.{verb}({})", self.expression, other.expression);
        self.last_call = self.stages.len();
        let rank = other.rank.as_deref().unwrap_or_default();
        self.stages = format!("{}.{verb}({}{rank})", self.stages, other.stages);
        self.unordered |= other.unordered;
        self.uncounted |= other.uncounted;
        self.sources.extend(other.sources);
        self.steps.extend(other.steps.into_iter().map(|s| Step { depth: s.depth + 1, ..s }));
        self.warnings.extend(other.warnings);
        self.seam = None;
        self.stamps.extend(other.stamps);
        self.varying = self.varying.or(other.varying);
        self.steps.push(Step { call: format!("{verb}(..)"), ..Step::default() });
        self
    }

    /// The outline of a stage that draws from several streams, made by the expression `call` with the verb `verb`. Columns stay
    /// known where all parts have the same; an item is as large as the largest.
    ///
    /// # Errors
    /// [`Error::Spec`] when two parts have known columns that differ.
    pub fn drawn(call: String, verb: &'static str, parts: Vec<Outline>) -> Result<Outline> {
        let specs: Vec<&Arc<Spec>> = parts.iter().filter_map(|part| part.spec.as_ref()).collect();
        if let Some(other) = specs.iter().find(|spec| **spec != specs[0]) {
            return Err(Error::spec(verb, specs[0], other));
        }
        let spec = specs.first().filter(|_| specs.len() == parts.len()).map(|spec| (*spec).clone());
        let bytes: Option<Vec<u64>> = parts.iter().map(|part| part.item_bytes).collect();
        let mut outline = Outline::source(call, Length::Unknown);
        outline.steps.clear();
        for part in parts {
            outline.steps.extend(part.steps.into_iter().map(|s| Step { depth: s.depth + 1, ..s }));
            outline.warnings.extend(part.warnings);
            outline.stamps.extend(part.stamps);
            outline.varying = outline.varying.or(part.varying);
            outline.unordered |= part.unordered;
            outline.uncounted |= part.uncounted;
            let told = part.stages + part.rank.as_deref().unwrap_or_default();
            outline.stages = outline.stages.replacen(&portable(&part.expression), &told, 1);
            outline.sources.extend(part.sources);
        }
        outline.steps.push(Step { call: format!("{verb}(..)"), ..Step::default() });
        Ok(outline.columns(spec).sized(bytes.and_then(|bytes| bytes.into_iter().max())))
    }

    /// With another stream that the last stage pulls from without passing its items on.
    pub fn beside(mut self, other: Outline) -> Outline {
        let at = self.steps.len().saturating_sub(1);
        self.steps.splice(at..at, other.steps.into_iter().map(|s| Step { depth: s.depth + 1, ..s }));
        self.warnings.extend(other.warnings);
        self.stamps.extend(other.stamps);
        self.varying = self.varying.or(other.varying);
        self.unordered |= other.unordered;
        self.stages = self.stages.replacen(&portable(&other.expression), &other.stages, 1);
        self.sources.extend(other.sources);
        self
    }

    /// With this many items an epoch.
    pub fn length(mut self, length: Length) -> Outline {
        // Other items: where rounds meet among them is not known, nor do those of all ranks stand at one place.
        self.seam = None;
        if let Some(rank) = self.rank.take() {
            self.stages.push_str(&rank);
            self.last_call = self.stages.len();
        }
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

    /// The last stage as the user called it, where the verb is made of others.
    pub(crate) fn called(mut self, call: String) -> Outline {
        let made = std::mem::replace(&mut self.last().call, call.clone());
        if let Some(before) = self.expression.strip_suffix(&made) {
            self.expression = format!("{before}{call}");
        }
        self.identified(&call)
    }

    /// Made of rounds of this many items.
    pub(crate) fn rounds(mut self, items: Option<u64>) -> Outline {
        self.seam = items.filter(|items| *items > 0);
        self
    }

    /// Items of the rounds it is made of.
    pub(crate) fn seam(&self) -> Option<u64> {
        self.seam
    }

    /// With a warning when groups of `rows` lie across a seam, where one round ends and the next begins.
    pub(crate) fn mixing(self, seam: Option<u64>, rows: u64) -> Outline {
        match seam.filter(|seam| !seam.is_multiple_of(rows.max(1))) {
            Some(seam) => self.warn(format!(
                "some batches of {rows} hold rows of two rounds, since a repeat below starts anew every {seam} rows; \
                 batch first and repeat the stream, or iterate over epochs"
            )),
            None => self,
        }
    }

    /// With a warning when groups of exactly `rows` leave out more than a tenth of `items`.
    pub(crate) fn dropping(self, items: u64, rows: u64) -> Outline {
        let left = items % rows.max(1);
        match left > items / 10 {
            true => self.warn(format!(
                "{left} of {items} rows do not fill a batch of {rows} and are left out in every epoch; keep them by a \
                 smaller batch, or by a verb that keeps or masks the last batch"
            )),
            false => self,
        }
    }

    /// The last stage as a state knows it: without what only changes speed, or not at all.
    pub(crate) fn identified(mut self, call: &str) -> Outline {
        self.stages.truncate(self.last_call);
        if !call.is_empty() {
            self.stages = format!("{}.{}", self.stages, portable(call));
        }
        self
    }

    /// The items are one rank's, and as many as any other rank's.
    pub(crate) fn ranked(mut self, rank: u64, world: u64) -> Outline {
        self.rank = Some(format!("[rank {rank} of {world}]"));
        self
    }

    pub(crate) fn is_ranked(&self) -> bool {
        self.rank.is_some()
    }

    /// The items come in whatever order they are ready in.
    pub(crate) fn unordered(mut self) -> Outline {
        self.unordered = true;
        self
    }

    pub(crate) fn is_unordered(&self) -> bool {
        self.unordered
    }

    /// Errors pass at once while the items about them are put together: they come beside the items that are counted.
    pub(crate) fn uncounted(mut self) -> Outline {
        self.uncounted = true;
        self
    }

    /// Items of one epoch, where they are known and nothing comes beside them.
    pub(crate) fn counted(&self) -> Option<u64> {
        self.length.exact().filter(|_| !self.uncounted)
    }

    /// Over a source with these rows and columns.
    pub(crate) fn over(mut self, rows: u64, spec: &Spec) -> Outline {
        self.sources.push(format!("{rows} rows of {spec}"));
        self
    }

    /// What decides which item comes at which position.
    pub(crate) fn identity(&self) -> Identity {
        Identity::new(&self.sources.join(", "), &self.stages)
    }

    /// With something that comes out otherwise in every epoch, by intent.
    pub(crate) fn varying(mut self, what: &str) -> Outline {
        self.varying.get_or_insert_with(|| what.into());
        self
    }

    /// Kept as it is in epoch 0 by the verb `keeper`, with a warning when that is likely not meant.
    pub(crate) fn kept(mut self, keeper: &str) -> Outline {
        match self.varying.take() {
            Some(what) => self.warn(format!(
                "{keeper} keeps epoch 0, so {what} above it comes out the same in every epoch; cache first and vary \
                 afterwards (shuffle_buffer shuffles items), or fix it (Shuffle::fixed) if that is meant"
            )),
            None => self,
        }
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
        self.steps
            .iter()
            .map(|s| s.held().saturating_mul(s.item_bytes.unwrap_or(0)))
            .fold(0, u64::saturating_add)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const WIDTH: usize = 44;
        writeln!(f, "{:<WIDTH$} {:>7} {:>6} {:>12} {:>12}", "stage", "threads", "link", "item", "held")?;
        for step in &self.steps {
            let indent = "  ".repeat(step.depth);
            let dash = |n: usize| if n == 0 { "-".into() } else { n.to_string() };
            let item = step.item_bytes.map_or("?".into(), human);
            let bytes = match (step.held(), step.item_bytes) {
                (0, _) => "-".into(),
                (u64::MAX, _) => "all items".into(),
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
