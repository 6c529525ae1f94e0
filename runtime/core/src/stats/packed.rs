//! Distributions at rest: a histogram takes tens of kilobytes while it is filled, and a few hundred bytes once it is not.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::hdr::DecodeError;
use super::histogram::Histogram;

/// A histogram that is kept, sent or saved, with its exact extremes and sum.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct PackedHistogram {
    count: u64,
    min: u64,
    max: u64,
    sum: u64,
    /// HdrHistogram V2; empty when nothing was counted.
    hdr: Vec<u8>,
}

impl PackedHistogram {
    /// Packs what a histogram counted.
    pub fn pack(histogram: &Histogram) -> PackedHistogram {
        if histogram.is_empty() {
            return PackedHistogram::default();
        }
        PackedHistogram {
            count: histogram.count(),
            min: histogram.min().unwrap_or(0),
            max: histogram.max().unwrap_or(0),
            sum: u64::try_from(histogram.sum()).unwrap_or(u64::MAX),
            hdr: histogram.encode(),
        }
    }

    /// The histogram that was packed.
    pub fn unpack(&self) -> Histogram {
        if self.count == 0 {
            return Histogram::new();
        }
        // The bytes were made by `pack`, or checked when they were read.
        let mut histogram = Histogram::decode(&self.hdr).unwrap_or_default();
        histogram.set_facts(self.count, self.min, self.max, u128::from(self.sum));
        histogram
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The smallest value; none when nothing was counted.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// The largest value; none when nothing was counted.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// The sum of all values.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// HdrHistogram's V2 encoding in base64; empty when nothing was counted.
    pub fn to_base64(&self) -> String {
        STANDARD.encode(&self.hdr)
    }
}

/// A histogram's counts in HdrHistogram's V2 encoding, in base64.
pub fn to_base64(histogram: &Histogram) -> String {
    STANDARD.encode(histogram.encode())
}

/// Reads what [`to_base64`] writes; minimum, maximum and sum come from the buckets.
///
/// # Errors
///
/// When the text is not base64, or not of a histogram.
pub fn from_base64(text: &str) -> Result<Histogram, DecodeError> {
    let bytes = STANDARD.decode(text).map_err(|_| DecodeError::Format)?;
    Histogram::decode(&bytes)
}

/// The form in which a packed histogram is written.
#[derive(Serialize, Deserialize)]
struct Written {
    count: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    min: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    max: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    sum: u64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    hdr: String,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl From<PackedHistogram> for Written {
    fn from(packed: PackedHistogram) -> Written {
        let PackedHistogram {
            count,
            min,
            max,
            sum,
            hdr,
        } = packed;
        Written {
            count,
            min,
            max,
            sum,
            hdr: STANDARD.encode(hdr),
        }
    }
}

impl TryFrom<Written> for PackedHistogram {
    type Error = DecodeError;

    fn try_from(written: Written) -> Result<PackedHistogram, DecodeError> {
        let Written {
            count,
            min,
            max,
            sum,
            hdr,
        } = written;
        let hdr = STANDARD.decode(hdr).map_err(|_| DecodeError::Format)?;
        let counted = match hdr.is_empty() {
            true => 0,
            false => Histogram::decode(&hdr)?.count(),
        };
        match counted == count && min <= max {
            true => Ok(PackedHistogram {
                count,
                min,
                max,
                sum,
                hdr,
            }),
            false => Err(DecodeError::Range),
        }
    }
}
