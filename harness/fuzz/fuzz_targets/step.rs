//! libFuzzer on the property `step`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sframe_fuzz::step(data));
