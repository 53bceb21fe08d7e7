//! Random chains of orders against a model that holds every epoch as a list.

use proptest::prelude::*;

use crate::bodies;

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_chain_of_orders_is_its_model(input in prop::collection::vec(any::<u8>(), 0..80)) {
        bodies::orders::check(&input);
    }
}
