//! Any bytes as an answer of Anthropic's.
#![no_main]
use libfuzzer_sys::fuzz_target;
use seawall::provider::Anthropic;

fuzz_target!(|data: &[u8]| seawall_fuzz::decodes(&Anthropic::without_key(), data));
