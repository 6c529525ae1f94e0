//! Names of the recorder's own limits, under which hits are counted.

/// Samples that went to `__other__` because there were too many series.
pub const SERIES: &str = "series";
/// Texts or tag sets that became `__other__` because there were too many.
pub const NAMES: &str = "names";
/// Values lost because their metric's name was past the limit of names.
pub const METRICS: &str = "metrics";
/// Errors counted by kind only because there were too many finer numbers.
pub const ERRORS: &str = "error-codes";
/// Values that were NaN or infinite, and not counted.
pub const NOT_FINITE: &str = "not-finite";
/// Values too large for a trend, counted as the largest it holds.
pub const VALUE_RANGE: &str = "value-range";
/// Values lost because another scenario recorded a metric of the same name with another kind or unit.
pub const METRIC_CONFLICT: &str = "metric-conflict";
