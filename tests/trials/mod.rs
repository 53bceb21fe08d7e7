//! Trials by chance, seeded: what the suite tries a few times and the soak many. The tests that call them say how often.

pub(crate) mod chains;
pub(crate) mod cuts;
pub(crate) mod drops;
pub(crate) mod kills;
