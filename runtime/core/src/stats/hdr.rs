//! Histograms as bytes: HdrHistogram's V2 encoding, without compression, so that any HdrHistogram library reads them.
//!
//! ```text
//!   cookie u32 | payload length u32 | index offset u32 | digits u32 | lowest u64 | highest u64 | ratio f64 | payload
//! ```
//!
//! All big-endian. The payload is the counts in ascending order, as zig-zag LEB128 of at most 9 bytes; a negative number `-n`
//! stands for `n` empty buckets. Source: `AbstractHistogram.java` and `ZigZagEncoding.java` of HdrHistogram.
//!
//! Written here, though the crate `hdrhistogram` has it too: that one needs a dense histogram of 264 KiB for each encoding,
//! and its reader can be made to panic or to reserve 4 GiB by a few hostile bytes. The tests hold both against each other.

use thiserror::Error;

use super::histogram::{BUCKETS, Histogram, highest_of, lowest_of};

const COOKIE: u32 = 0x1c84_9313;
const HEADER: usize = 40;
const DIGITS: u32 = 3;

/// Why bytes are not a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// Not HdrHistogram's V2 encoding at all.
    #[error("not an HdrHistogram in V2 encoding")]
    Format,
    /// Another geometry than three significant digits from 1.
    #[error("an HdrHistogram of another precision than three significant digits from 1")]
    Geometry,
    /// It ends within a number, or has another length than it says.
    #[error("an HdrHistogram that was cut short")]
    Length,
    /// More buckets than values have, or counts that do not fit.
    #[error("an HdrHistogram with counts out of range")]
    Range,
}

impl Histogram {
    /// The counts in HdrHistogram's V2 encoding. Exact minimum, maximum and sum are not part of it.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER + 512);
        out.extend(COOKIE.to_be_bytes());
        out.extend([0; 8]);
        out.extend(DIGITS.to_be_bytes());
        out.extend(1u64.to_be_bytes());
        out.extend(Histogram::MAX_VALUE.to_be_bytes());
        out.extend(1f64.to_be_bytes());
        let mut next = 0;
        for (bucket, count) in self.buckets() {
            match bucket - next {
                0 => {}
                1 => put(&mut out, 0),
                empty => put(&mut out, -(empty as i64)),
            }
            put(&mut out, i64::try_from(count).unwrap_or(i64::MAX));
            next = bucket + 1;
        }
        let length = (out.len() - HEADER) as u32;
        out[4..8].copy_from_slice(&length.to_be_bytes());
        out
    }

    /// Reads HdrHistogram's V2 encoding.
    ///
    /// Minimum and maximum become the ends of their buckets, and the sum is made of bucket middles.
    ///
    /// # Errors
    ///
    /// When the bytes are anything but a V2 histogram of three digits from 1.
    pub fn decode(bytes: &[u8]) -> Result<Histogram, DecodeError> {
        let mut payload = check_header(bytes)?;
        let mut histogram = Histogram::new();
        let (mut bucket, mut count, mut sum) = (0usize, 0u64, 0u128);
        let (mut min, mut max) = (u64::MAX, 0);
        while !payload.is_empty() {
            let number = take(&mut payload)?;
            if number < 0 {
                let empty = usize::try_from(number.unsigned_abs()).map_err(|_| DecodeError::Range)?;
                bucket = bucket.checked_add(empty).ok_or(DecodeError::Range)?;
                continue;
            }
            if bucket >= BUCKETS {
                return Err(DecodeError::Range);
            }
            if number > 0 {
                let (low, high) = (lowest_of(bucket), highest_of(bucket));
                histogram.add_to_bucket(bucket, number.unsigned_abs());
                count = count.checked_add(number.unsigned_abs()).ok_or(DecodeError::Range)?;
                sum += u128::from(low + (high - low) / 2) * u128::from(number.unsigned_abs());
                (min, max) = (min.min(low), max.max(high));
            }
            bucket += 1;
        }
        histogram.set_facts(count, min, max, sum);
        Ok(histogram)
    }
}

/// Returns the payload of a well-formed header.
fn check_header(bytes: &[u8]) -> Result<&[u8], DecodeError> {
    let header = bytes.get(..HEADER).ok_or(DecodeError::Format)?;
    let word = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    if word(0) != COOKIE {
        return Err(DecodeError::Format);
    }
    let lowest_is_1 = word(16) == 0 && word(20) == 1;
    let ratio_is_1 = header[32..40] == 1f64.to_be_bytes();
    if word(8) != 0 || word(12) != DIGITS || !lowest_is_1 || !ratio_is_1 {
        return Err(DecodeError::Geometry);
    }
    let payload = &bytes[HEADER..];
    if payload.len() != word(4) as usize {
        return Err(DecodeError::Length);
    }
    Ok(payload)
}

/// Writes a number as zig-zag LEB128, the ninth byte whole.
fn put(out: &mut Vec<u8>, number: i64) {
    let mut left = ((number << 1) ^ (number >> 63)) as u64;
    for _ in 0..8 {
        if left < 0x80 {
            break;
        }
        out.push(left as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
}

/// Reads what [`put`] writes.
fn take(payload: &mut &[u8]) -> Result<i64, DecodeError> {
    let mut value = 0u64;
    for place in 0..9 {
        let (&byte, rest) = payload.split_first().ok_or(DecodeError::Length)?;
        *payload = rest;
        if place == 8 {
            value |= u64::from(byte) << 56;
            break;
        }
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            break;
        }
    }
    Ok((value >> 1) as i64 ^ -((value & 1) as i64))
}
