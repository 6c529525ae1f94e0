//! What is run, as values: which protocol, which bodies, how much too much.

use std::fmt;

/// The burden of a check that takes all CPU there is, by which the rate follows. It is large, so that at this rate the wire has little
/// to do: reading and decrypting large bodies takes CPU of its own, and it is the guest that is to be too busy.
const UNIT_US: u32 = 5_000;
/// The burden at which checks take all CPU is so many times the baseline's.
const BASELINE_PARTS: u32 = 20;

/// What the generator and the target speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speech {
    Http1,
    Tls,
    /// Over TLS, where it is at home.
    Http2,
}

/// The size of a response's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    Small,
    Large,
}

/// One row of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) speech: Speech,
    pub(super) body: Body,
    /// The CPU asked for, in units of the CPU there is.
    pub(super) overload: u32,
}

/// The load of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Load {
    /// Arrivals in a second.
    pub(super) rate: u32,
    /// CPU time that the check of one response takes, in microseconds.
    pub(super) burn_us: u32,
}

/// How much too much, in units of the CPU there is.
const OVERLOADS: [u32; 3] = [1, 10, 100];
const SPEECHES: [Speech; 3] = [Speech::Http1, Speech::Tls, Speech::Http2];
const BODIES: [Body; 2] = [Body::Small, Body::Large];

/// Every case, in the order of the page.
pub(super) fn cases() -> Vec<Case> {
    let bodies = |speech| BODIES.into_iter().map(move |body| (speech, body));
    let overloads = |(speech, body)| {
        OVERLOADS.into_iter().map(move |overload| Case {
            speech,
            body,
            overload,
        })
    };
    SPEECHES
        .into_iter()
        .flat_map(bodies)
        .flat_map(overloads)
        .collect()
}

impl Case {
    /// The same arrivals as overloaded, so that nothing but the burden differs; the checks take a twentieth of the CPU.
    pub(super) fn baseline(self) -> Load {
        Load {
            rate: 1_000_000 / UNIT_US,
            burn_us: UNIT_US / BASELINE_PARTS,
        }
    }

    /// One virtual user for each arrival of a run: all start when they are due, however long the others take, so that the server
    /// sees the same arrivals in both runs.
    pub(super) fn vus(self, seconds: u32) -> u32 {
        self.baseline().rate * seconds
    }

    /// Arrivals at the rate at which the unit takes all CPU; the burden is as many times that.
    pub(super) fn overloaded(self) -> Load {
        Load {
            burn_us: UNIT_US * self.overload,
            ..self.baseline()
        }
    }
}

impl Body {
    pub(super) fn path(self) -> &'static str {
        match self {
            Body::Small => "/bytes/1024",
            Body::Large => "/bytes/800000",
        }
    }
}

impl Speech {
    pub(super) fn is_encrypted(self) -> bool {
        self != Speech::Http1
    }

    /// The generator's flag for it.
    pub(super) fn flag(self) -> &'static str {
        match self {
            Speech::Http1 | Speech::Tls => "--http1",
            Speech::Http2 => "--http2",
        }
    }
}

impl fmt::Display for Speech {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Speech::Http1 => "HTTP/1.1",
            Speech::Tls => "HTTP/1.1 over TLS",
            Speech::Http2 => "HTTP/2 over TLS",
        })
    }
}

impl fmt::Display for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Body::Small => "1 KB",
            Body::Large => "800 KB",
        })
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}, {}×", self.speech, self.body, self.overload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The CPU that checks ask for, in units of the CPU there is.
    fn load(load: Load) -> f64 {
        f64::from(load.rate) * f64::from(load.burn_us) / 1e6
    }

    #[test]
    fn nothing_but_the_burden_differs() {
        for case in cases() {
            assert_eq!(case.baseline().rate, case.overloaded().rate, "{case}");
        }
    }

    #[test]
    fn the_baseline_asks_for_a_twentieth_and_overload_for_its_multiple() {
        for case in cases() {
            assert!((load(case.baseline()) - 0.05).abs() < 1e-9, "{case}");
            assert!(
                (load(case.overloaded()) - f64::from(case.overload)).abs() < 1e-9,
                "{case}"
            );
        }
    }

    #[test]
    fn every_case_occurs_once() {
        let names: std::collections::BTreeSet<String> =
            cases().iter().map(Case::to_string).collect();
        assert_eq!(names.len(), 18);
        assert!(names.contains("HTTP/1.1 over TLS, 800 KB, 100×"));
    }
}
