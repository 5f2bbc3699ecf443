//! Any answer as a stream in either form: the first byte says whether it breaks, and items stand apart by 0xFF.
#![no_main]
use libfuzzer_sys::fuzz_target;
use seawall::{provider, serve};

fuzz_target!(|data: &[u8]| {
    seawall_fuzz::writes(&serve::OpenAi::new(), &provider::OpenAi::without_key(), data);
    seawall_fuzz::writes(&serve::Anthropic::new(), &provider::Anthropic::without_key(), data);
});
