//! Where a run stands, and what identifies the stream it is a run of.
//!
//! A position is two numbers, because the order of an epoch is computed: nothing that was read ahead has to be written down.
//! Around it a state holds what decides which item comes at which position, so that going on with another stream is refused
//! instead of giving other rows.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The version of a state's form.
const FORM: u32 = 1;

/// The version of all orders and random streams together: another one gives other rows for the same seeds.
const ORDERS: u32 = 1;

/// Longest text kept as it is; of longer ones the start and a digest.
const LONGEST: usize = 320;

/// Where an iterator stands: what was delivered counts, not what was read ahead. Under 40 bytes as JSON.
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
    /// The expression: verbs, arguments and seeds, without what only changes speed, and files without their folders.
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
/// With serde, under 1 KiB of JSON, whatever the stream holds. [`save`](State::save) and [`load`](State::load) keep it in a file.
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
    pub(crate) fn of(&self, identity: &Identity) -> Result<Position> {
        let differs = |field, state: &str, stream: &str| {
            Err(Error::Resume { field, expected: state.to_owned(), found: stream.to_owned() })
        };
        let now = State::new(identity.clone(), self.position);
        if self.form != now.form {
            return differs("form", &self.form.to_string(), &now.form.to_string());
        }
        if self.orders != now.orders {
            return differs("orders", &self.orders.to_string(), &now.orders.to_string());
        }
        if self.identity.sources != now.identity.sources {
            return differs("sources", &self.identity.sources, &now.identity.sources);
        }
        if self.identity.stages != now.identity.stages {
            return differs("stages", &self.identity.stages, &now.identity.stages);
        }
        Ok(self.position)
    }
}

/// A text of bounded length that still tells texts apart.
fn shortened(text: &str) -> String {
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    // FNV-1a, which will give the same digest for ever.
    let digest = text.bytes().fold(0xcbf2_9ce4_8422_2325u64, |digest, byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let start: String = text.chars().take(LONGEST / 2).filter(|c| c.is_ascii()).collect();
    format!("{start}… #{digest:016x}")
}

/// `text` with every quoted path cut to its last part: a file may lie in another folder on another machine.
pub(crate) fn portable(text: &str) -> String {
    let name = |(at, part): (usize, &str)| match at % 2 {
        1 => part.rsplit('/').next().unwrap_or(part).to_owned(),
        _ => part.to_owned(),
    };
    text.split('"').enumerate().map(name).collect::<Vec<_>>().join("\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_left_out_and_file_names_are_not() {
        assert_eq!(
            portable(r#"a("x": npy("/data/a b/x.npy"), "y").b(2)"#),
            r#"a("x": npy("x.npy"), "y").b(2)"#
        );
        assert_eq!(portable("range(4)"), "range(4)");
        assert_eq!(portable("\"/\""), "\"\"");
    }

    #[test]
    fn long_texts_stay_short_and_apart() {
        let (a, b) = (format!("{}a", "x".repeat(5000)), format!("{}b", "x".repeat(5000)));
        assert_eq!(shortened(&a), shortened(&a));
        assert_ne!(shortened(&a), shortened(&b));
        assert!(shortened(&a).len() < LONGEST && shortened(&"é".repeat(999)).len() < LONGEST);
        assert_eq!(shortened("short"), "short");
    }
}
