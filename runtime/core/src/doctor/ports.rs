//! Local ports: the first wall of a generator that opens a connection for each request.
//!
//! A connection takes a port of its own among those to the same address. Whoever closes first keeps its port in TIME_WAIT, and under
//! the policies that do not keep connections that is the generator, as soon as it has the response. So with `r` connections opened a
//! second, each held for `h` seconds after its end, `r * h` ports are taken besides those in use.

use super::machine::TIME_WAIT_NS;
use super::needs::SECOND_NS;
use super::{Amount, Churn, Finding, Machine, Needs, Ports, Severity};
use crate::units::{Count, Nanoseconds, format_rate};

/// Ports below this are for servers, and some of them need privileges.
const FIRST_PORT: u16 = 1024;

const WIDEN: &str = "sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"";
const REUSE: &str = "sysctl -w net.ipv4.tcp_tw_reuse=1";
const KEEP: &str = "--connections per-vu";

/// Whether there are enough for each address.
pub(super) fn ports(machine: &Machine, needs: &Needs) -> Finding {
    let held_ns = machine.port_is_held_ns(needs.to_loopback);
    let need = need(machine, needs, held_ns);
    let Some(ports) = machine.ports else {
        return Finding::unknown("ports", in_words(need));
    };
    let free = ports.free();
    let has = format!("{} free of {}-{}", Count(free), ports.first, ports.last);
    let finding = Finding::new("ports", in_words(need), has);
    let ask = Ask {
        machine,
        needs,
        ports,
        held_ns,
    };
    match needs.churn {
        _ if need.certain > free => {
            let sentence = ask.sentence("needs", need.certain);
            finding.complain(Severity::Error, sentence, ask.advice(need.certain))
        }
        _ if need.most <= free => finding,
        Some(Churn { rate: None, .. }) => {
            let (sentence, advice) = ask.unpaced();
            finding.complain(Severity::Warning, sentence, advice)
        }
        _ => {
            let sentence = ask.sentence("may need up to", need.most);
            finding.complain(Severity::Warning, sentence, ask.advice(need.most))
        }
    }
}

/// Those in use at one time, and those that are held after their use.
fn need(machine: &Machine, needs: &Needs, held_ns: u64) -> Amount {
    let mut need = needs.connections;
    if let Some(churn) = needs.churn {
        let held = churn.within(held_ns);
        let kept = machine.time_wait_most.unwrap_or(u64::MAX);
        need.add(Amount {
            certain: held.certain.min(kept),
            most: held.most.min(kept),
        });
    }
    need
}

fn in_words(need: Amount) -> String {
    match need {
        Amount { most: u64::MAX, .. } => "as many as there are requests a minute".to_owned(),
        Amount { certain, most } if certain == most => format!("{} for each address", Count(most)),
        Amount { most, .. } => format!("up to {} for each address", Count(most)),
    }
}

/// What sentences are made from.
struct Ask<'a> {
    machine: &'a Machine,
    needs: &'a Needs,
    ports: Ports,
    held_ns: u64,
}

impl Ask<'_> {
    fn sentence(&self, needs: &str, number: u64) -> String {
        let why = match self.needs.churn {
            Some(Churn {
                rate: Some(rate), ..
            }) => format!(
                " ({} connections opened, each holding its port for {} after its end)",
                format_rate(rate),
                Nanoseconds(self.held_ns)
            ),
            _ => String::new(),
        };
        let (subject, free) = (&self.needs.subject, Count(self.ports.free()));
        let number = Count(number);
        format!(
            "{subject} {needs} {number} local ports for each address it connects to{why}, and {free} are free"
        )
    }

    /// Connections are opened as fast as they go: nobody knows beforehand how fast that is.
    fn unpaced(&self) -> (String, String) {
        let free = self.ports.free();
        let bearable = u128::from(free) * u128::from(SECOND_NS) / u128::from(self.held_ns.max(1));
        let bearable = u64::try_from(bearable).unwrap_or(u64::MAX);
        let (subject, held) = (&self.needs.subject, Nanoseconds(self.held_ns));
        let sentence = format!(
            "{subject} opens connections as fast as they go, each holding a local port for {held} after its end, and {} are free: \
             more than {} a second use them up",
            Count(free),
            Count(bearable)
        );
        let advice = match free < self.widest() {
            true => format!("{WIDEN}, or {KEEP}"),
            false => KEEP.to_owned(),
        };
        (sentence, advice)
    }

    /// How many there can be on one machine to one address.
    fn widest(&self) -> u64 {
        let widest = Ports {
            first: FIRST_PORT,
            last: u16::MAX,
            ..self.ports
        };
        widest.free()
    }

    /// The least change that gives room for `number`.
    fn advice(&self, number: u64) -> String {
        let (free, widest) = (self.ports.free(), self.widest());
        if number <= widest {
            return WIDEN.to_owned();
        }
        let Some(churn) = self.needs.churn else {
            let machines = number.div_ceil(widest.max(1));
            return format!("spread the load over {} machines", Count(machines));
        };
        let reusable = Machine {
            time_wait_reuse: Some(1),
            ..self.machine.clone()
        };
        let held_ns = reusable.port_is_held_ns(self.needs.to_loopback);
        let number = need(self.machine, self.needs, held_ns);
        let number = if churn.is_certain {
            number.certain
        } else {
            number.most
        };
        match self.held_ns == TIME_WAIT_NS {
            true if number <= free => REUSE.to_owned(),
            true if number <= widest => format!("{WIDEN} net.ipv4.tcp_tw_reuse=1"),
            _ => KEEP.to_owned(),
        }
    }
}
