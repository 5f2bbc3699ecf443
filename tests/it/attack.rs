//! What a hostile caller, clock or inner service may do: drops at every await, times at the ends of the range, panics.
mod bounds;
mod drops;
mod joined;
mod panics;
mod routes;
mod times;
mod wakes;
