//! Where a run stands, and what identifies the stream it is a run of.
//!
//! A position is two numbers, because the order of an epoch is computed: nothing that was read ahead has to be written down.
//! Around it a state holds what decides which item comes at which position, so that going on with another stream is refused
//! instead of giving other rows.

use serde::{Deserialize, Serialize};

use crate::digest;
use crate::error::{Error, Result};

/// The version of a state's form.
const FORM: u32 = 1;

/// The version of all orders and random streams together: another one gives other rows for the same seeds.
const ORDERS: u32 = 1;

/// Longest text kept as it is; of longer ones the start and a digest.
const LONGEST: usize = 320;

/// Where an iterator stands: what was delivered counts, not what was read ahead. Under 64 bytes as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Position {
    /// The epoch.
    pub epoch: u64,
    /// Items delivered in it.
    pub item: u64,
}

/// What decides which item of a stream comes at which position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    /// Rows and columns of what is read.
    sources: String,
    /// The expression: verbs, arguments (lists by their digests) and seeds, without what only changes speed, and files without their
    /// folders.
    stages: String,
}

impl Identity {
    pub(crate) fn new(sources: &str, stages: &str) -> Identity {
        Identity { sources: shortened(sources), stages: shortened(stages) }
    }
}

/// All that is needed to go on where an iterator stood, in another process, on another machine, with other numbers of threads:
/// [`Iter::state`](crate::Iter::state) gives it, [`Stream::resume`](crate::Stream::resume) takes it.
///
/// Under 1 KiB as JSON, by serde, whatever the stream holds. What is in memory instead of files is known by its shape alone.
/// [`save`](State::save) and [`load`](State::load) keep it in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    form: u32,
    orders: u32,
    #[serde(flatten)]
    identity: Identity,
    #[serde(flatten)]
    position: Position,
}

impl State {
    pub(crate) fn new(identity: Identity, position: Position) -> State {
        State { form: FORM, orders: ORDERS, identity, position }
    }

    /// Where the iterator stood.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The position, if the state is one of a stream that is known by `identity`.
    pub(crate) fn position_in(&self, identity: &Identity) -> Result<Position> {
        const OTHER: &str = "resume the stream that the state is of, or start anew by epoch(k)";
        const VERSION: &str =
            "resume with the version of this crate that wrote it, or start anew by epoch(k)";
        let now = State::new(identity.clone(), self.position);
        let fields = [
            ("form", self.form.to_string(), now.form.to_string(), VERSION),
            ("orders", self.orders.to_string(), now.orders.to_string(), VERSION),
            ("sources", self.identity.sources.clone(), now.identity.sources, OTHER),
            ("stages", self.identity.stages.clone(), now.identity.stages, OTHER),
        ];
        match fields.into_iter().find(|(_, expected, found, _)| expected != found) {
            Some((field, expected, found, help)) => Err(Error::Resume { field, expected, found, help }),
            None => Ok(self.position),
        }
    }
}

/// Bytes that a character takes in JSON.
fn written(c: char) -> usize {
    match c {
        '"' | '\\' => 2,
        c if c.is_control() => 6,
        c => c.len_utf8(),
    }
}

/// A text of bounded length that still tells texts apart.
fn shortened(text: &str) -> String {
    if text.chars().map(written).sum::<usize>() <= LONGEST {
        return text.to_owned();
    }
    let mut left = LONGEST - 20;
    let fits = |c: &char| {
        let bytes = written(*c);
        let fits = bytes <= left;
        left = left.saturating_sub(bytes);
        fits
    };
    let start: String = text.chars().take_while(fits).collect();
    format!("{start}… #{:016x}", digest::of_bytes(text.bytes()))
}

/// The calls in which a quoted text is a path.
const OPENERS: [&str; 4] = ["npy", "raw", "load", "cache_file"];

/// `text` with the paths in it cut to their last parts: a file may lie in another folder on another machine.
pub(crate) fn portable(text: &str) -> String {
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(quote) = rest.find('"') {
        let (before, quoted) = rest.split_at(quote);
        made.push_str(before);
        let open = &made[..made.rfind('(').unwrap_or(0)];
        let path = OPENERS.iter().any(|call| open.ends_with(call));
        let mut escaped = false;
        let end = quoted[1..].find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let (inside, after) = quoted[1..].split_at(end.unwrap_or(quoted.len() - 1));
        let name = inside.trim_end_matches('/').rsplit('/').next().unwrap_or(inside);
        made.push('"');
        made.push_str(if path { name } else { inside });
        made.push_str(&after[..after.len().min(1)]);
        rest = &after[after.len().min(1)..];
    }
    made.push_str(rest);
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_left_out_and_file_names_are_not() {
        for (text, expected) in [
            (
                r#"a("a/x": npy("/data/a b/x.npy"), "y": npy("y.npy")).b(2)"#,
                r#"a("a/x": npy("x.npy"), "y": npy("y.npy")).b(2)"#,
            ),
            (r#"npy(["/d/a.npy" .. "/d/b.npy"; 2 files #01])"#, r#"npy(["a.npy" .. "b.npy"; 2 files #01])"#),
            (r#"load("/a/set/").select(["a/x"])"#, r#"load("set").select(["a/x"])"#),
            (r#"a("say \"/\"": raw("/d/say \"x", u8))"#, r#"a("say \"/\"": raw("say \"x", u8))"#),
            ("range(4)", "range(4)"),
            (r#"npy("/open"#, r#"npy("open"#),
            ("", ""),
        ] {
            assert_eq!(portable(text), expected);
        }
    }

    #[test]
    fn long_texts_stay_short_and_apart() {
        let (a, b) = (format!("{}a", "x".repeat(5000)), format!("{}b", "x".repeat(5000)));
        assert_eq!(shortened(&a), shortened(&a));
        assert_ne!(shortened(&a), shortened(&b));
        for long in [a, "é".repeat(999), "\u{1}".repeat(200), "\"\\".repeat(200)] {
            let short = shortened(&long);
            assert!(short.chars().map(written).sum::<usize>() <= LONGEST + 5, "{short:?}");
        }
        assert_eq!(shortened("short"), "short");
    }
}
