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
                let empty =
                    usize::try_from(number.unsigned_abs()).map_err(|_| DecodeError::Range)?;
                bucket = bucket.checked_add(empty).ok_or(DecodeError::Range)?;
                continue;
            }
            if bucket >= BUCKETS {
                return Err(DecodeError::Range);
            }
            if number > 0 {
                let (low, high) = (lowest_of(bucket), highest_of(bucket));
                histogram.add_to_bucket(bucket, number.unsigned_abs());
                count = count
                    .checked_add(number.unsigned_abs())
                    .ok_or(DecodeError::Range)?;
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
    let word = |at: usize| {
        u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
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

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
    use proptest::prelude::*;

    use super::super::histogram::tests::value;
    use super::*;

    fn of(values: &[(u64, u64)]) -> Histogram {
        let mut histogram = Histogram::new();
        values
            .iter()
            .for_each(|(value, times)| histogram.record_n(*value, *times));
        histogram
    }

    fn counted() -> impl Strategy<Value = Vec<(u64, u64)>> {
        prop::collection::vec((value(), prop_oneof![1u64..300, 1u64..1 << 40]), 0..60)
    }

    proptest! {
        #[test]
        fn decoding_undoes_encoding(values in counted()) {
            let histogram = of(&values);
            let mut decoded = Histogram::decode(&histogram.encode()).expect("it was just encoded");
            prop_assert!(decoded.buckets().eq(histogram.buckets()));
            prop_assert_eq!(decoded.count(), histogram.count());
            prop_assert!(decoded.min() <= histogram.min() && decoded.max() >= histogram.max());
            if let (Some(min), Some(max)) = (histogram.min(), histogram.max()) {
                decoded.set_facts(histogram.count(), min, max, histogram.sum());
            }
            prop_assert_eq!(decoded, histogram);
        }

        #[test]
        fn the_reference_reads_what_we_write(values in counted()) {
            let histogram = of(&values);
            let bytes = histogram.encode();
            let theirs: hdrhistogram::Histogram<u64> =
                Deserializer::new().deserialize(&mut bytes.as_slice()).expect("the format is theirs");
            prop_assert_eq!(theirs.len(), histogram.count());
            for (bucket, count) in histogram.buckets() {
                prop_assert_eq!(theirs.count_at(lowest_of(bucket)), count);
            }
        }

        #[test]
        fn we_read_what_the_reference_writes(values in counted()) {
            let mut theirs = hdrhistogram::Histogram::<u64>::new_with_bounds(1, Histogram::MAX_VALUE, 3).expect("valid");
            values.iter().for_each(|(value, times)| theirs.record_n(*value, *times).expect("in range"));
            let mut bytes = Vec::new();
            V2Serializer::new().serialize(&theirs, &mut bytes).expect("a vector takes all bytes");
            let ours = Histogram::decode(&bytes).expect("it is well formed");
            prop_assert!(ours.buckets().eq(of(&values).buckets()));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            decode_any_bytes(&bytes);
        }

        #[test]
        fn any_payload_is_read_or_refused(payload in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut bytes = Histogram::new().encode();
            bytes[4..8].copy_from_slice(&(payload.len() as u32).to_be_bytes());
            bytes.extend(payload);
            decode_any_bytes(&bytes);
        }
    }

    fn decode_any_bytes(bytes: &[u8]) {
        if let Ok(histogram) = Histogram::decode(bytes) {
            assert!(histogram.quantile(0.5) <= histogram.max());
            let again = Histogram::decode(&histogram.encode()).expect("it was just encoded");
            assert_eq!(again, histogram);
        }
    }

    #[test]
    fn broken_encodings_are_refused_each_for_its_reason() {
        let good = of(&[(1_000_000, 3)]).encode();
        let with = |at: usize, bytes: &[u8]| {
            let mut broken = good.clone();
            broken[at..at + bytes.len()].copy_from_slice(bytes);
            broken
        };
        let table = [
            ("nothing", Vec::new(), DecodeError::Format),
            ("half a header", good[..20].to_vec(), DecodeError::Format),
            ("another cookie", with(0, &[0]), DecodeError::Format),
            (
                "two significant digits",
                with(15, &[2]),
                DecodeError::Geometry,
            ),
            (
                "another lowest value",
                with(23, &[2]),
                DecodeError::Geometry,
            ),
            (
                "cut short",
                good[..good.len() - 1].to_vec(),
                DecodeError::Length,
            ),
            (
                "a length of 4 GiB",
                with(4, &[0xff; 4]),
                DecodeError::Length,
            ),
        ];
        for (sentence, bytes, expected) in table {
            assert_eq!(Histogram::decode(&bytes), Err(expected), "{sentence}");
        }
    }

    #[test]
    fn a_payload_that_leaves_the_buckets_is_refused() {
        let payload = |numbers: &[i64]| {
            let mut bytes = Histogram::new().encode();
            numbers.iter().for_each(|number| put(&mut bytes, *number));
            let length = (bytes.len() - HEADER) as u32;
            bytes[4..8].copy_from_slice(&length.to_be_bytes());
            Histogram::decode(&bytes)
        };
        assert_eq!(
            payload(&[i64::MIN]).map(|h| h.count()),
            Ok(0),
            "empty buckets past the end hold nothing"
        );
        assert_eq!(
            payload(&[-(BUCKETS as i64), 1]),
            Err(DecodeError::Range),
            "a count past the last bucket"
        );
        assert_eq!(
            payload(&[i64::MIN, i64::MIN]),
            Err(DecodeError::Range),
            "more buckets than can be numbered"
        );
        assert_eq!(
            payload(&[i64::MAX, i64::MAX, i64::MAX]),
            Err(DecodeError::Range),
            "a sum of counts past 64 bits"
        );
        assert_eq!(
            payload(&[1 - BUCKETS as i64, 1]).map(|h| h.max()),
            Ok(Some(Histogram::MAX_VALUE)),
            "the last bucket"
        );
    }
}
