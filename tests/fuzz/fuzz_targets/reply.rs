#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pibench_host::fuzz::reply(bytes));
