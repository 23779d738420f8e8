//! libFuzzer on the property `convert`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sframe_fuzz::convert(data));
