//! `choose` and `choose_to_end`: items of several streams, picked by a list or stream of their numbers.
//!
//! A choice that is an error, or the number of no stream, is an error at its place, and the other choices go on.

use std::sync::Arc;

use crate::data::Length;
use crate::digest;
use crate::error::{Error, Result};
use crate::plumbing::{Outline, Pull, Run, Running, Stage, Upstream};
use crate::stream::Stream;

/// Which stream gives the next item, again and again: a list, the same for every epoch, or a stream of numbers.
#[derive(Debug, Clone)]
pub struct Choices(Kind);

#[derive(Debug, Clone)]
enum Kind {
    List(Arc<[usize]>),
    Stream(Stream<usize>),
}

impl<const N: usize> From<[usize; N]> for Choices {
    fn from(list: [usize; N]) -> Choices {
        Choices(Kind::List(list.into()))
    }
}

impl From<Vec<usize>> for Choices {
    fn from(list: Vec<usize>) -> Choices {
        Choices(Kind::List(list.into()))
    }
}

impl From<Stream<usize>> for Choices {
    fn from(stream: Stream<usize>) -> Choices {
        Choices(Kind::Stream(stream))
    }
}

impl<T: Send + 'static> Stream<T> {
    /// For each of the `choices` the next item of the stream of that number, the first being 0. Ends with the choices, or when
    /// a stream is chosen that has ended.
    ///
    /// Threads and other settings are those of the first stream.
    ///
    /// **Order:** kept within each stream; turns by the choices · **Holds:** nothing · **Threads:** none
    ///
    /// # Errors
    /// [`Error::Argument`] for a list with the number of no stream. While iterating, [`Error::Item`] for such a number of a stream of
    /// choices. [`Error::Spec`] if the streams yield batches whose columns are known and differ.
    ///
    /// # Examples
    /// ```
    /// use gristmill::{Dataset, Stream};
    ///
    /// let streams = [Dataset::from_generator(|_| ["a", "b"]), Dataset::from_generator(|_| ["x", "y"])];
    /// let chosen = Stream::choose(streams.clone(), [1, 0, 0, 0, 1]);
    /// assert_eq!(chosen.iter()?.collect::<Result<Vec<_>, _>>()?, ["x", "a", "b"]);
    ///
    /// let by_turns = Dataset::from_generator(|_| (0usize..).map(|i| i % 2));
    /// assert_eq!(Stream::choose(streams, by_turns).iter()?.collect::<Result<Vec<_>, _>>()?, ["a", "x", "b", "y"]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn choose(streams: impl IntoIterator<Item = Stream<T>>, choices: impl Into<Choices>) -> Stream<T> {
        Stream::chosen("choose", streams.into_iter().collect(), choices.into())
    }

    /// As [`choose`](Stream::choose), but choices of streams that have ended are passed over. Ends with the choices, or when all
    /// streams have ended.
    ///
    /// **Order:** kept within each stream; turns by the choices · **Holds:** nothing · **Threads:** none
    ///
    /// # Errors
    /// As [`choose`](Stream::choose).
    ///
    /// # Examples
    /// ```
    /// use gristmill::{Dataset, Stream};
    ///
    /// let streams = [Dataset::from_generator(|_| ["a", "b"]), Dataset::from_generator(|_| ["x", "y"])];
    /// let chosen = Stream::choose_to_end(streams, [1, 0, 0, 0, 1]);
    /// assert_eq!(chosen.iter()?.collect::<Result<Vec<_>, _>>()?, ["x", "a", "b", "y"]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn choose_to_end(
        streams: impl IntoIterator<Item = Stream<T>>,
        choices: impl Into<Choices>,
    ) -> Stream<T> {
        Stream::chosen("choose_to_end", streams.into_iter().collect(), choices.into())
    }

    fn chosen(label: &'static str, streams: Vec<Stream<T>>, choices: Choices) -> Stream<T> {
        let parts = streams.iter().map(Stream::upstream).collect();
        let choices = match choices.0 {
            Kind::List(list) => Stream::new(ListStage { label, list, streams: streams.len() }),
            Kind::Stream(stream) => stream,
        };
        let stage = ChooseStage { parts, choices: choices.upstream(), label };
        match streams.into_iter().next() {
            Some(first) => first.then(|_| stage),
            None => Stream::new(stage),
        }
    }
}

/// The choices of a list.
struct ListStage {
    label: &'static str,
    list: Arc<[usize]>,
    streams: usize,
}

impl Stage for ListStage {
    type Item = usize;

    fn outline(&self, _run: &Run) -> Result<Outline> {
        if let Some(wrong) = self.list.iter().find(|choice| **choice >= self.streams) {
            return Err(Error::argument(self.label, expected(self.streams), wrong));
        }
        let call = match self.list.len() {
            0..=8 => format!("{:?}", self.list),
            many => format!(
                "[{many} choices #{}]",
                digest::of_list(self.list.iter().map(|choice| *choice as u64))
            ),
        };
        Ok(Outline::source(call, Length::Exact(self.list.len() as u64)))
    }

    fn open(&self, _run: &Run) -> Result<Running<usize>> {
        Ok(Box::new(ListPull { list: self.list.clone(), next: 0 }))
    }

    fn label(&self) -> &'static str {
        self.label
    }
}

fn expected(streams: usize) -> String {
    format!("the number of one of {streams} streams, counted from 0")
}

struct ListPull {
    list: Arc<[usize]>,
    next: usize,
}

impl Pull for ListPull {
    type Item = usize;

    fn pull(&mut self) -> Result<Option<usize>> {
        let choice = self.list.get(self.next).copied();
        self.next += usize::from(choice.is_some());
        Ok(choice)
    }
}

struct ChooseStage<T> {
    parts: Vec<Upstream<T>>,
    choices: Upstream<usize>,
    label: &'static str,
}

impl<T: Send + 'static> Stage for ChooseStage<T> {
    type Item = T;

    fn outline(&self, run: &Run) -> Result<Outline> {
        let choices = self.choices.outline(run)?;
        let parts: Result<Vec<Outline>> = self.parts.iter().map(|part| part.outline(run)).collect();
        let parts = parts?;
        let endless = parts.iter().all(|part| part.length == Length::Infinite);
        let length = match choices.length {
            Length::Exact(0) => Length::Exact(0),
            length if endless && !parts.is_empty() => length,
            _ => Length::Unknown,
        };
        let streams: Vec<&str> = parts.iter().map(Outline::expression).collect();
        let call = format!("{}([{}], {})", self.label, streams.join(", "), choices.expression());
        let outline = Outline::drawn(call, self.label, parts)?;
        Ok(outline.length(length).beside(choices))
    }

    fn open(&self, run: &Run) -> Result<Running<T>> {
        let parts: Result<Vec<Running<T>>> = self.parts.iter().map(|part| part.open(run)).collect();
        Ok(Box::new(ChoosePull {
            parts: parts?.into_iter().map(Some).collect(),
            choices: Some(self.choices.open(run)?),
            label: self.label,
            position: 0,
        }))
    }

    fn label(&self) -> &'static str {
        self.label
    }
}

struct ChoosePull<T> {
    /// Each gone when it has ended.
    parts: Vec<Option<Running<T>>>,
    /// Gone when nothing more is to come.
    choices: Option<Running<usize>>,
    label: &'static str,
    position: u64,
}

impl<T> ChoosePull<T> {
    /// What `take` gets of the stream that is chosen next, if that has something to give.
    fn next<V>(&mut self, take: impl Fn(&mut Running<T>) -> Result<Option<V>>) -> Result<Option<V>> {
        while let Some(choices) = &mut self.choices {
            let position = self.position;
            self.position += 1;
            let Some(choice) = choices.pull()? else { break };
            let streams = self.parts.len();
            let Some(part) = self.parts.get_mut(choice) else {
                let (expected, found) = (expected(streams), choice.to_string());
                return Err(Error::Item { stage: self.label, position, expected, found });
            };
            if let Some(running) = part {
                let item = take(running);
                if !matches!(item, Ok(None)) {
                    return item;
                }
                *part = None;
            }
            if self.label == "choose" || self.parts.iter().all(Option::is_none) {
                break;
            }
        }
        self.choices = None;
        Ok(None)
    }
}

impl<T> Pull for ChoosePull<T> {
    type Item = T;

    fn pull(&mut self) -> Result<Option<T>> {
        self.next(|part| part.pull())
    }

    fn skip(&mut self, n: u64) -> Result<u64> {
        for done in 0..n {
            match self.next(|part| Ok((part.skip(1)? > 0).then_some(()))) {
                Ok(Some(())) => {}
                Ok(None) => return Ok(done),
                Err(error) if error.is_fatal() => return Err(error),
                Err(_) => {}
            }
        }
        Ok(n)
    }
}
