//! Any bytes as the file of a state: an error, or a state that survives the file, and that a stream takes or refuses.

use std::path::Path;

use arbitrary::{Result, Unstructured};
use gristmill::{Batch, Dataset, Shuffle, State, Stream, Threads};

use super::clean;

/// The first byte chooses: the rest is a file, or numbers for the state of a stream.
pub fn check(path: &Path, input: &[u8]) -> bool {
    let Some((first, rest)) = input.split_first() else { return false };
    let (streams, which) = (streams(), usize::from(*first));
    let file = match which.checked_sub(128) {
        None => rest.to_vec(),
        Some(which) => state(&streams[which % streams.len()], rest).expect("any bytes are numbers"),
    };
    std::fs::write(path, &file).unwrap();
    let Some(state) = clean(State::load(path)) else {
        assert!(which < 128, "a state that was made was refused: {}", String::from_utf8_lossy(&file));
        return false;
    };
    clean(state.save(path)).expect("a state that was read can be written");
    assert_eq!(clean(State::load(path)).as_ref(), Some(&state));
    let taken = streams.iter().filter(|stream| goes_on(stream, &state)).count();
    assert!(taken <= 1, "{state:?} is of two streams");
    taken == 1
}

/// Whether a stream takes the state; then it goes on as its epoch does.
fn goes_on(stream: &Stream<Vec<u64>>, state: &State) -> bool {
    let position = state.position();
    let Some(rest) = clean(stream.resume(state)) else { return false };
    let all = |iter: gristmill::Iter<Vec<u64>>| iter.map(|item| clean(item).unwrap()).collect::<Vec<_>>();
    let whole = all(clean(stream.epoch(position.epoch)).expect("the epoch of a state that was taken"));
    let from = usize::try_from(position.item).map_or(whole.len(), |item| item.min(whole.len()));
    assert_eq!(all(rest), whole[from..], "{stream:?} from {position:?}");
    true
}

/// The file of the state of a stream, at a place that the input says.
fn state(stream: &Stream<Vec<u64>>, input: &[u8]) -> Result<Vec<u8>> {
    let mut u = Unstructured::new(input);
    let number =
        |u: &mut Unstructured| if u.arbitrary()? { u.arbitrary() } else { u.int_in_range(0..=20u64) };
    let mut state = serde_json::to_value(stream.iter().unwrap().state()).unwrap();
    state["epoch"] = number(&mut u)?.into();
    state["item"] = number(&mut u)?.into();
    Ok(state.to_string().into_bytes())
}

fn streams() -> [Stream<Vec<u64>>; 3] {
    let rows = Dataset::range(20).unwrap();
    let contents = |batch: Batch| batch.column::<u64>("0").unwrap().to_vec();
    [
        rows.shuffle(Shuffle::full(3)).batch(3).map(contents).prefetch(2),
        rows.shuffle(Shuffle::buffer(5, 1)).repeat(2).batch(4).map(contents),
        Dataset::from_generator(|epoch| epoch % 7..30)
            .filter(|n| n % 3 > 0)
            .shuffle_buffer(4, 1)
            .map_seeded(5, |n, random| vec![n, random.next_u64()])
            .threads(Threads::None),
    ]
}
