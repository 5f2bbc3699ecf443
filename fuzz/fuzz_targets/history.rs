//! Any bytes as a request that was stored.
#![no_main]
use libfuzzer_sys::fuzz_target;
use seawall::chat;

fuzz_target!(|data: &[u8]| {
    if let Ok(request) = serde_json::from_slice::<chat::Request>(data) {
        let _ = (format!("{request:?}"), request.estimate());
        seawall_fuzz::holds(&request);
    }
});
