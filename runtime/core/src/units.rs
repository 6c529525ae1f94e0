//! Durations, rates and sizes as people write them. (Being written.)
