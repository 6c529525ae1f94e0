//! One distribution of durations, in pages.
//!
//! The buckets are HdrHistogram's for three significant digits: 1 wide up to 2047, then 1024 to an octave, so that a bucket is
//! never wider than 1/1024 of any value in it. HdrHistogram keeps them in one array of 264 KiB, of which a load test's series
//! uses two or three octaves. Here an octave is a *page* of 1024 counts, made when a value first falls into it:
//!
//! ```text
//!   page   values            bucket width        bucket of v
//!   0      0 .. 1023         1                   v
//!   1      1024 .. 2047      1                   v - 1024
//!   p      2^(9+p) ..        2^(p-1)             (v >> (p-1)) - 1024
//! ```
//!
//! A bit set tells which pages were touched since the last [`Histogram::clear`], so that merging and clearing cost what was
//! recorded, and pages are kept for the next interval: recording allocates nothing after warm-up.
//!
//! Counts are 32 bits wide, for the sake of the cache; what passes that is carried to a list, so a count never wraps.

/// Counts in a page.
const PAGE: usize = 1024;
/// Pages that exist: values have at most 63 bits, 10 of which choose a bucket within a page.
const PAGES: usize = 54;
/// Mark of a page that was not made yet.
const ABSENT: u8 = u8::MAX;
/// What one carried unit of a count is worth.
const CARRY: u64 = 1 << 32;

/// A distribution of non-negative integers below 2^63 (larger ones count as 2^63 - 1), three significant digits exact.
///
/// Count, sum, minimum and maximum are exact. A quantile is at most 1/1024 above the sample it stands for, never beyond the
/// minimum or maximum.
#[derive(Clone)]
pub struct Histogram {
    /// For each page, which 1024 of `counts` are its own; [`ABSENT`] before it is made.
    places: [u8; PAGES],
    /// Pages with anything in them, one bit each.
    touched: u64,
    /// The pages, one after another in the order in which they were made.
    counts: Vec<u32>,
    /// Counts that passed 32 bits: bucket, and how often 2^32 is to be added. Nearly always empty.
    carries: Vec<(u32, u64)>,
    count: u64,
    /// `u64::MAX` when empty.
    min: u64,
    max: u64,
    sum: u128,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram {
            places: [ABSENT; PAGES],
            touched: 0,
            counts: Vec::new(),
            carries: Vec::new(),
            count: 0,
            min: u64::MAX,
            max: 0,
            sum: 0,
        }
    }
}

impl Histogram {
    /// The largest value told apart from larger ones.
    pub const MAX_VALUE: u64 = i64::MAX as u64;

    /// An empty histogram, without pages.
    pub fn new() -> Histogram {
        Histogram::default()
    }

    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        let value = value.min(Self::MAX_VALUE);
        let (page, slot) = place_of(value);
        let at = self.start_of(page) + slot;
        self.counts[at] = self.counts[at].wrapping_add(1);
        if self.counts[at] == 0 {
            self.carry(page, slot, 1);
        }
        self.note(value, value, u128::from(value), 1);
    }

    /// Counts a value `times` times.
    pub fn record_n(&mut self, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        let value = value.min(Self::MAX_VALUE);
        self.add_to_bucket(bucket_of(value), times);
        self.note(value, value, u128::from(value) * u128::from(times), times);
    }

    /// Adds all that another histogram counted.
    pub fn merge(&mut self, other: &Histogram) {
        for page in other.touched_pages() {
            let theirs = other.page(page);
            let start = self.start_of(page);
            let mine = &mut self.counts[start..start + PAGE];
            let mut wrapped = false;
            for (sum, more) in mine.iter_mut().zip(theirs) {
                *sum = sum.wrapping_add(*more);
                wrapped |= *sum < *more;
            }
            if wrapped {
                self.carry_wrapped(page, theirs);
            }
        }
        for &(bucket, times) in &other.carries {
            self.carry(bucket as usize / PAGE, bucket as usize % PAGE, times);
        }
        self.note(other.min, other.max, other.sum, other.count);
    }

    /// Forgets what was counted and keeps the pages.
    pub fn clear(&mut self) {
        for page in self.touched_pages() {
            let start = usize::from(self.places[page]) * PAGE;
            self.counts[start..start + PAGE].fill(0);
        }
        self.touched = 0;
        self.carries.clear();
        (self.count, self.min, self.max, self.sum) = (0, u64::MAX, 0, 0);
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.count == 0
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
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The arithmetic mean; none when nothing was counted.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The value of rank ⌈`quantile` · count⌉ (nearest rank, the first for 0), to three digits; none when nothing was counted.
    /// A `quantile` outside 0..=1 is taken as the nearer of the two.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        (self.count > 0).then(|| self.value_at_rank(rank(quantile, self.count)))
    }

    /// The value of the `rank`-th sample in ascending order, from 1; the maximum past the last.
    pub(crate) fn value_at_rank(&self, rank: u64) -> u64 {
        let mut seen = 0u64;
        for (bucket, count) in self.buckets() {
            seen = seen.saturating_add(count);
            if seen >= rank {
                return highest_of(bucket).clamp(self.min, self.max);
            }
        }
        self.max
    }

    /// Values and how often they were counted, ascending, to three digits.
    pub fn values(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let value = |bucket| highest_of(bucket).clamp(self.min, self.max);
        self.buckets()
            .map(move |(bucket, count)| (value(bucket), count))
    }

    /// Buckets that hold anything, ascending, with their counts.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.touched_pages().flat_map(move |page| {
            let counts = self.page(page).iter().enumerate();
            counts.filter_map(move |(slot, low)| {
                let bucket = page * PAGE + slot;
                let count = u64::from(*low) + self.carried(bucket);
                (count > 0).then_some((bucket, count))
            })
        })
    }

    /// Adds to a bucket by its number, and to nothing else. [`Histogram::set_facts`] completes it.
    pub(crate) fn add_to_bucket(&mut self, bucket: usize, times: u64) {
        let (page, slot) = (bucket / PAGE, bucket % PAGE);
        let at = self.start_of(page) + slot;
        let (low, wrapped) = self.counts[at].overflowing_add(times as u32);
        self.counts[at] = low;
        let carry = times / CARRY + u64::from(wrapped);
        if carry > 0 {
            self.carry(page, slot, carry);
        }
    }

    /// States count, extremes and sum, where the buckets came from elsewhere.
    pub(crate) fn set_facts(&mut self, count: u64, min: u64, max: u64, sum: u128) {
        (self.count, self.min, self.max, self.sum) = (count, min, max, sum);
    }

    /// Bytes of memory held, besides the struct itself.
    pub fn heap_bytes(&self) -> usize {
        self.counts.capacity() * size_of::<u32>()
            + self.carries.capacity() * size_of::<(u32, u64)>()
    }

    #[inline]
    fn note(&mut self, min: u64, max: u64, sum: u128, count: u64) {
        self.count = self.count.saturating_add(count);
        self.min = self.min.min(min);
        self.max = self.max.max(max);
        self.sum = self.sum.saturating_add(sum);
    }

    /// Where a page's counts begin; makes the page if need be, and marks it touched.
    #[inline]
    fn start_of(&mut self, page: usize) -> usize {
        self.touched |= 1 << page;
        match self.places[page] {
            ABSENT => self.make(page),
            place => usize::from(place) * PAGE,
        }
    }

    #[cold]
    fn make(&mut self, page: usize) -> usize {
        let start = self.counts.len();
        // Exactly one page more: the growth by doubling that a vector prefers would double the memory of every series.
        self.counts.reserve_exact(PAGE);
        self.counts.resize(start + PAGE, 0);
        self.places[page] = (start / PAGE) as u8;
        start
    }

    fn page(&self, page: usize) -> &[u32] {
        let start = usize::from(self.places[page]) * PAGE;
        &self.counts[start..start + PAGE]
    }

    fn touched_pages(&self) -> impl Iterator<Item = usize> + use<> {
        let mut left = self.touched;
        std::iter::from_fn(move || {
            let page = left.trailing_zeros() as usize;
            (left != 0).then(|| {
                left &= left - 1;
                page
            })
        })
    }

    /// After a wrapping addition of `theirs`: where the sum is less than a summand, it wrapped.
    #[cold]
    fn carry_wrapped(&mut self, page: usize, theirs: &[u32]) {
        for (slot, more) in theirs.iter().enumerate() {
            if self.page(page)[slot] < *more {
                self.carry(page, slot, 1);
            }
        }
    }

    #[cold]
    fn carry(&mut self, page: usize, slot: usize, times: u64) {
        let bucket = (page * PAGE + slot) as u32;
        match self.carries.iter_mut().find(|(b, _)| *b == bucket) {
            Some((_, sum)) => *sum = sum.saturating_add(times),
            None => self.carries.push((bucket, times)),
        }
    }

    fn carried(&self, bucket: usize) -> u64 {
        let carry = self.carries.iter().find(|(b, _)| *b as usize == bucket);
        carry.map_or(0, |(_, times)| times.saturating_mul(CARRY))
    }
}

/// Two histograms are equal when they counted the same, whatever pages they hold.
impl PartialEq for Histogram {
    fn eq(&self, other: &Histogram) -> bool {
        let facts = |h: &Histogram| (h.count, h.min, h.max, h.sum);
        facts(self) == facts(other) && self.buckets().eq(other.buckets())
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = f.debug_struct("Histogram");
        out.field("count", &self.count)
            .field("min", &self.min())
            .field("max", &self.max());
        out.field("p50", &self.quantile(0.5))
            .field("p99", &self.quantile(0.99))
            .finish()
    }
}

/// Buckets there are.
pub(crate) const BUCKETS: usize = PAGES * PAGE;

/// The rank that a quantile of `count` samples asks for, from 1.
///
/// 0.07 · 100 is 7.000000000000001 in binary; rounding that up would give the eighth sample. The product is lowered by more
/// than its rounding error and by less than any true fraction of a rank below 2^50 samples.
pub(crate) fn rank(quantile: f64, count: u64) -> u64 {
    let exact = quantile.clamp(0.0, 1.0) * count as f64;
    let rank = (exact * (1.0 - f64::EPSILON * 2.0)).ceil() as u64;
    rank.clamp(1, count.max(1))
}

/// Page and slot of a value.
#[inline]
fn place_of(value: u64) -> (usize, usize) {
    // The highest bit of a value below 1024 may be any of ten; `| 512` makes them all page 0.
    let page = 54 - (value | 512).leading_zeros() as usize;
    match page {
        0 => (0, value as usize),
        // The mask states what the shift ensures (bits above the tenth are the leading one), and spares a bounds check.
        _ => (page, (value >> (page - 1)) as usize & (PAGE - 1)),
    }
}

/// The bucket of a value, counted over all pages.
pub(crate) fn bucket_of(value: u64) -> usize {
    let (page, slot) = place_of(value);
    page * PAGE + slot
}

/// The smallest value of a bucket.
pub(crate) fn lowest_of(bucket: usize) -> u64 {
    match bucket / PAGE {
        0 => bucket as u64,
        page => ((bucket % PAGE + PAGE) as u64) << (page - 1),
    }
}

/// The largest value of a bucket.
pub(crate) fn highest_of(bucket: usize) -> u64 {
    lowest_of(bucket) + (1 << (bucket / PAGE).saturating_sub(1)) - 1
}

#[cfg(test)]
pub(crate) mod tests;
