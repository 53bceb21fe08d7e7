#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    gristmill_fuzz::bodies::npy::check(&gristmill_fuzz::path(), input);
});
