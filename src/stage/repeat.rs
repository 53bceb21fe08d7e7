//! `repeat` on a stream: several epochs of the stages above as one.
//!
//! Repeats the pipeline, not its items: each round runs the stages above in the next epoch, so shuffles and generators
//! start anew. A round that yields nothing ends the repeating.

use crate::data::Length;
use crate::error::Result;
use crate::plumbing::{Outline, Pull, Run, Running, Stage, Upstream};
use crate::stream::Stream;

impl<T: Send + 'static> Stream<T> {
    /// `times` epochs one after the other as a single longer one: epoch `k` is epochs `k * times` to
    /// `(k + 1) * times - 1` of the stages above.
    ///
    /// **Order:** kept · **Holds:** nothing · **Threads:** none
    ///
    /// # Examples
    /// ```
    /// # use gristmill::Dataset;
    /// let twice = Dataset::from_generator(|_| 1..4).repeat(2);
    /// assert_eq!(twice.iter()?.collect::<Result<Vec<_>, _>>()?, [1, 2, 3, 1, 2, 3]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn repeat(self, times: u64) -> Stream<T> {
        self.then(|upstream| RepeatStage { upstream, times: Some(times) })
    }

    /// Epoch after epoch without end; epoch `k` starts with epoch `k` of the stages above.
    ///
    /// **Order:** kept · **Holds:** nothing · **Threads:** none
    ///
    /// # Examples
    /// ```
    /// # use gristmill::Dataset;
    /// let endless = Dataset::from_generator(|_| 1..4).repeat_forever().take(5);
    /// assert_eq!(endless.iter()?.collect::<Result<Vec<_>, _>>()?, [1, 2, 3, 1, 2]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn repeat_forever(self) -> Stream<T> {
        self.then(|upstream| RepeatStage { upstream, times: None })
    }
}

struct RepeatStage<T> {
    upstream: Upstream<T>,
    times: Option<u64>,
}

impl<T: Send + 'static> Stage for RepeatStage<T> {
    type Item = T;

    fn outline(&self, run: &Run) -> Result<Outline> {
        let upstream = self.upstream.outline(run)?;
        let length = match (upstream.length, self.times) {
            (_, Some(0)) | (Length::Exact(0), _) => Length::Exact(0),
            (Length::Exact(n), Some(times)) => Length::Exact(n.saturating_mul(times)),
            (Length::Exact(_), None) => Length::Infinite,
            (other, Some(_)) => other,
            // A filter that lets nothing through ends even this.
            (Length::Unknown, None) => Length::Unknown,
            (Length::Infinite, None) => Length::Infinite,
        };
        let call = self.times.map_or("repeat_forever()".into(), |times| format!("repeat({times})"));
        let seam =
            upstream.seam().or(upstream.length.exact()).filter(|_| self.times.is_none_or(|times| times > 1));
        Ok(upstream.step(call).length(length).rounds(seam))
    }

    fn open(&self, run: &Run) -> Result<Running<T>> {
        let epoch = run.epoch.saturating_mul(self.times.unwrap_or(1));
        Ok(Box::new(RepeatPull {
            upstream: self.upstream.clone(),
            run: run.clone(),
            epoch,
            left: self.times.unwrap_or(u64::MAX),
            round: None,
        }))
    }

    fn label(&self) -> &'static str {
        "repeat"
    }
}

struct RepeatPull<T> {
    upstream: Upstream<T>,
    run: Run,
    /// The epoch of the next round, and how many rounds there are to come.
    epoch: u64,
    left: u64,
    round: Option<Round<T>>,
}

struct Round<T> {
    running: Running<T>,
    items: u64,
}

impl<T: Send + 'static> RepeatPull<T> {
    /// The round in progress, or the next one; `None` after the last.
    fn round(&mut self) -> Result<Option<&mut Round<T>>> {
        if self.round.is_none() {
            if self.left == 0 {
                return Ok(None);
            }
            let running = self.upstream.open(&self.run.at_epoch(self.epoch))?;
            self.epoch = self.epoch.saturating_add(1);
            self.left -= 1;
            self.round = Some(Round { running, items: 0 });
        }
        Ok(self.round.as_mut())
    }

    /// The round has ended; one without items is the last.
    fn end_round(&mut self) {
        if self.round.take().is_some_and(|round| round.items == 0) {
            self.left = 0;
        }
    }
}

impl<T: Send + 'static> Pull for RepeatPull<T> {
    type Item = T;

    fn pull(&mut self) -> Result<Option<T>> {
        while let Some(round) = self.round()? {
            let item = round.running.pull();
            if let Ok(None) = item {
                self.end_round();
                continue;
            }
            round.items += 1;
            return item;
        }
        Ok(None)
    }

    fn skip(&mut self, n: u64) -> Result<u64> {
        // Round by round, not by the known length: an item that failed may have made a round longer.
        let mut passed = 0;
        while passed < n {
            let Some(round) = self.round()? else { break };
            let wanted = n - passed;
            let done = round.running.skip(wanted)?;
            round.items += done;
            passed += done;
            if done < wanted {
                self.end_round();
            }
        }
        Ok(passed)
    }
}
