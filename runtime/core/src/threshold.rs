//! (being written)

use serde::{Deserialize, Serialize};

/// One condition on a metric. (Being written.)
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// As written.
    pub expression: String,
}
