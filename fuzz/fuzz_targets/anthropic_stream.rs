//! Any bytes as a streamed answer of Anthropic's: the first says how they are cut.
#![no_main]
use libfuzzer_sys::fuzz_target;
use seawall::provider::Anthropic;

fuzz_target!(|data: &[u8]| seawall_fuzz::streams(&Anthropic::without_key(), data));
