//! Metrics of the scenario's own.
//!
//! They are constants: a name, and for some a unit. The host is told when the first value comes.
//!
//! ```
//! use nettare::{Counter, TimeTrend, Trend};
//! use std::time::Duration;
//!
//! const ORDERS: Counter = Counter::new("orders");
//! const BASKET: Trend = Trend::new("basket_value");
//! const DELIVERY: TimeTrend = TimeTrend::new("delivery_time");
//!
//! # fn record() {
//! ORDERS.add(1.0);
//! ORDERS.tagged(&[("shop", "north")]).add(1.0);
//! BASKET.add(59.90);
//! DELIVERY.add(Duration::from_hours(26));
//! # }
//! ```

use std::cell::RefCell;
use std::cmp::Ordering;
use std::marker::PhantomData;
use std::time::Duration;

use crate::host::metrics::{self as host, Kind, Unit};
use crate::names::{Names, PAST_THE_LIMIT};

/// Something that is counted. Its report is the sum, and the sum per second.
#[derive(Clone, Copy, Debug)]
pub struct Counter(Definition);

/// Something that has a value at any time. Its report is the last, the least and the greatest.
#[derive(Clone, Copy, Debug)]
pub struct Gauge(Definition);

/// How often something holds. Its report is a share.
#[derive(Clone, Copy, Debug)]
pub struct Rate(Definition);

/// Something of which each value matters. Its report is the distribution.
#[derive(Clone, Copy, Debug)]
pub struct Trend(Definition);

/// Times, of which each matters. Its report is the distribution.
#[derive(Clone, Copy, Debug)]
pub struct TimeTrend(Definition);

/// One metric with one set of tags. It may be kept, which saves looking the tags up.
#[derive(Clone, Copy, Debug)]
pub struct Series<Metric> {
    number: u32,
    metric: PhantomData<Metric>,
}

#[derive(Clone, Copy, Debug)]
struct Definition {
    name: &'static str,
    unit: Unit,
}

/// The constructor and the tags of one type of metric.
macro_rules! metric {
    ($metric:ident, $kind:ident, $unit:ident) => {
        impl $metric {
            /// A metric of this name. Names of Nettare's own metrics are taken.
            pub const fn new(name: &'static str) -> $metric {
                $metric(Definition {
                    name,
                    unit: Unit::$unit,
                })
            }

            /// The series of this metric with these tags, in any order. As each value makes new series, let there be few.
            pub fn tagged(&self, tags: &[(&str, &str)]) -> Series<$metric> {
                Series {
                    number: tagged_series(Kind::$kind, self.0, tags),
                    metric: PhantomData,
                }
            }

            fn untagged(&self) -> Series<$metric> {
                Series {
                    number: plain_series(Kind::$kind, self.0),
                    metric: PhantomData,
                }
            }
        }
    };
}

metric!(Counter, Counter, Plain);
metric!(Gauge, Gauge, Plain);
metric!(Rate, Rate, Plain);
metric!(Trend, Trend, Plain);
metric!(TimeTrend, Trend, Nanoseconds);

/// The recording method of one type of metric, and of its series.
macro_rules! records {
    ($metric:ident, $method:ident, $what:literal, $value:ident: $type:ty => $number:expr) => {
        impl Series<$metric> {
            #[doc = $what]
            pub fn $method(self, $value: $type) {
                host::add(self.number, $number);
            }
        }

        impl $metric {
            #[doc = $what]
            pub fn $method(&self, $value: $type) {
                self.untagged().$method($value);
            }
        }
    };
}

records!(Counter, add, "Adds this to the sum.", value: f64 => value);
records!(Gauge, set, "This is the value now.", value: f64 => value);
records!(Rate, add, "Counts whether it held.", held: bool => f64::from(u8::from(held)));
records!(Trend, add, "Records this value.", value: f64 => value);
records!(TimeTrend, add, "Records this time.", time: Duration => time.as_nanos() as f64);

impl Counter {
    /// The same counter, of bytes.
    pub const fn of_bytes(self) -> Counter {
        Counter(Definition {
            unit: Unit::Bytes,
            ..self.0
        })
    }
}

impl Gauge {
    /// The same gauge, of bytes.
    pub const fn of_bytes(self) -> Gauge {
        Gauge(Definition {
            unit: Unit::Bytes,
            ..self.0
        })
    }
}

impl Trend {
    /// The same trend, of bytes.
    pub const fn of_bytes(self) -> Trend {
        Trend(Definition {
            unit: Unit::Bytes,
            ..self.0
        })
    }
}

thread_local! {
    /// Numbers of metrics, by kind: two metrics of one name and different kinds are for the host to judge.
    static METRICS: [Names; 4] = const { [const { Names::new() }; 4] };
    /// Numbers of series without tags, by kind.
    static PLAIN: [Names; 4] = const { [const { Names::new() }; 4] };
    static TAGGED: RefCell<Vec<TaggedSeries>> = const { RefCell::new(Vec::new()) };
}

struct TaggedSeries {
    metric: u32,
    tags: Vec<(String, String)>,
    number: u32,
}

fn metric_number(kind: Kind, definition: Definition) -> u32 {
    METRICS.with(|metrics| {
        metrics[kind as usize].number(definition.name, |name| {
            host::register(name, kind, definition.unit)
        })
    })
}

fn plain_series(kind: Kind, definition: Definition) -> u32 {
    let register = |_: &str| host::series(metric_number(kind, definition), &[]);
    PLAIN.with(|series| series[kind as usize].number(definition.name, register))
}

fn tagged_series(kind: Kind, definition: Definition, tags: &[(&str, &str)]) -> u32 {
    let metric = metric_number(kind, definition);
    TAGGED.with_borrow_mut(|known| {
        match known.binary_search_by(|series| series.order(metric, tags)) {
            Ok(place) => known[place].number,
            Err(place) => {
                let tags: Vec<(String, String)> = tags
                    .iter()
                    .map(|&(key, value)| (key.into(), value.into()))
                    .collect();
                let number = host::series(metric, &tags);
                if number != PAST_THE_LIMIT {
                    known.insert(
                        place,
                        TaggedSeries {
                            metric,
                            tags,
                            number,
                        },
                    );
                }
                number
            }
        }
    })
}

impl TaggedSeries {
    /// Where this stands as against a series looked for, without making strings of its tags.
    fn order(&self, metric: u32, tags: &[(&str, &str)]) -> Ordering {
        let mine = self
            .tags
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()));
        self.metric
            .cmp(&metric)
            .then_with(|| mine.cmp(tags.iter().copied()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Host;

    const ORDERS: Counter = Counter::new("orders");
    const QUEUE: Gauge = Gauge::new("queue").of_bytes();
    const PAID: Rate = Rate::new("paid");
    const VALUE: Trend = Trend::new("value");
    const DELIVERY: TimeTrend = TimeTrend::new("delivery");

    #[test]
    fn values_reach_the_host_with_metric_and_unit() {
        let ((), log) = Host::new().run(|| {
            ORDERS.add(2.0);
            QUEUE.set(4096.0);
            PAID.add(true);
            PAID.add(false);
            VALUE.add(-3.5);
            DELIVERY.add(Duration::from_millis(2));
        });
        let seen: Vec<_> = log
            .values
            .iter()
            .map(|sample| (sample.metric.as_str(), sample.unit, sample.value))
            .collect();
        assert_eq!(
            seen,
            [
                ("orders", Unit::Plain, 2.0),
                ("queue", Unit::Bytes, 4096.0),
                ("paid", Unit::Plain, 1.0),
                ("paid", Unit::Plain, 0.0),
                ("value", Unit::Plain, -3.5),
                ("delivery", Unit::Nanoseconds, 2_000_000.0),
            ]
        );
    }

    #[test]
    fn each_set_of_tags_is_a_series_registered_once() {
        let ((), log) = Host::new().run(|| {
            let north = ORDERS.tagged(&[("shop", "north")]);
            north.add(1.0);
            ORDERS.tagged(&[("shop", "south")]).add(2.0);
            ORDERS.tagged(&[("shop", "north")]).add(3.0);
            ORDERS.add(4.0);
        });
        let seen: Vec<_> = log
            .values
            .iter()
            .map(|sample| (sample.tags.as_slice(), sample.value))
            .collect();
        let tag = |shop: &str| vec![("shop".to_owned(), shop.to_owned())];
        assert_eq!(
            seen,
            [
                (&*tag("north"), 1.0),
                (&*tag("south"), 2.0),
                (&*tag("north"), 3.0),
                (&[], 4.0)
            ]
        );
        assert_eq!(
            log.registrations, 4,
            "the metric, two sets of tags, and none"
        );
    }
}
