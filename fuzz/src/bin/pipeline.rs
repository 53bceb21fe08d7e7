#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    gristmill_fuzz::bodies::pipeline::check(input);
});
