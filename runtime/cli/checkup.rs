//! What is asked of the machine before a run: from a plan and its guest to what they need, and what comes of the answer.
//!
//! `doctor` prints all of it; `run` and `quick` say what is wrong in a line each, and do not start what cannot end well.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use nettare_core::doctor::{
    Amount, Asked, Diagnosis, Finding, Needs, OWN_DESCRIPTORS, Severity, examine,
};
use nettare_core::plan::{Defaults, Plan, Scenario, Work};
use nettare_engine::vm::{Guest, Need};
use url::{Host, Url};

use crate::exit::Cause;
use crate::failure::Failure;
use crate::machine::{self, BYTES_PER_VU, Look};
use crate::ui::Ui;

/// Memory of one connection: 20 KiB of the process without TLS and 27 KiB with it, measured with 8,000 of them to a target on the same
/// machine, and what the kernel takes of its own for a socket.
const BYTES_PER_CONNECTION: u64 = 24 << 10;
const BYTES_PER_TLS_CONNECTION: u64 = 32 << 10;

/// A plan as a machine is asked about it.
pub(crate) struct Question {
    pub(crate) needs: Needs,
    /// Where the plan's requests go, as far as it says so.
    pub(crate) destinations: Vec<SocketAddr>,
}

/// A place that requests go to.
struct Destination {
    /// None for a name that only a resolver knows.
    address: Option<SocketAddr>,
    is_secure: bool,
}

/// What a plan needs. Memory is measured on virtual users of its guest, for `measure` says whether that is worth while.
pub(crate) fn question(
    plan: &Plan,
    guest: Option<&Guest>,
    measure: impl Fn(Amount, u64) -> bool,
) -> Question {
    let destinations: Vec<Destination> = plan
        .scenarios
        .iter()
        .flat_map(|scenario| destinations(plan, scenario))
        .collect();
    let is_loopback = |destination: &Destination| {
        destination
            .address
            .is_some_and(|address| address.ip().is_loopback())
    };
    let mut asked = Asked {
        to_loopback: !destinations.is_empty() && destinations.iter().all(is_loopback),
        ..Asked::default()
    };
    let vus = Needs::of(plan, &asked).virtual_users;
    let connection = match destinations.iter().any(|destination| destination.is_secure) {
        true => BYTES_PER_TLS_CONNECTION,
        false => BYTES_PER_CONNECTION,
    };
    asked.bytes_per_vu = match guest {
        None => Some(connection),
        Some(guest) if measure(vus, guest.options().guest_memory_bytes) => {
            nettare_engine::bytes_per_vu(guest, &env(plan)).map(|bytes| bytes + connection)
        }
        Some(_) => None,
    };
    asked.memory_maps = guest.map(|guest| {
        guest
            .need()
            .memory_maps(u32::try_from(vus.most).unwrap_or(u32::MAX))
    });
    Question {
        needs: Needs::of(plan, &asked),
        destinations: destinations
            .into_iter()
            .filter_map(|destination| destination.address)
            .collect(),
    }
}

/// What is asked where there is no plan.
pub(crate) fn question_without_plan() -> Question {
    let maps = |vus| Need::default().memory_maps(vus);
    let (none, most) = (maps(0), maps(Defaults::MAX_VUS));
    let each = (most - none) / u64::from(Defaults::MAX_VUS);
    Question {
        needs: Needs::reference(BYTES_PER_VU, (each, none)),
        destinations: Vec::new(),
    }
}

/// Looks at the machine before a run, says what is wrong, and refuses a plan that cannot be run here unless `allow_invalid`.
pub(crate) fn before_run(
    ui: &Ui,
    plan: &Plan,
    guest: Option<&Guest>,
    allow_invalid: bool,
) -> Result<(), Failure> {
    let facts = |destinations| {
        machine::look(&Look {
            destinations,
            samples: false,
        })
    };
    let available = facts(Vec::new()).memory_bytes();
    // Where not even guests as large as they may be fill the memory, nothing needs measuring.
    let measure = |vus: Amount, guest_memory: u64| {
        available.is_none_or(|available| vus.most.saturating_mul(guest_memory) > available)
    };
    let Question {
        needs,
        destinations,
    } = question(plan, guest, measure);
    machine::raise_descriptors(needs.connections.most.saturating_add(OWN_DESCRIPTORS));
    let diagnosis = examine(&facts(destinations), &needs);
    say(ui, &diagnosis, allow_invalid)
}

fn say(ui: &Ui, diagnosis: &Diagnosis, allow_invalid: bool) -> Result<(), Failure> {
    for finding in diagnosis
        .of(Severity::Warning)
        .filter(|finding| finding.is_of_plan)
    {
        if let Some(complaint) = &finding.complaint {
            ui.warn(&format!("{}: {}", complaint.sentence, complaint.advice));
        }
    }
    let errors: Vec<_> = diagnosis
        .of(Severity::Error)
        .filter_map(|Finding { complaint, .. }| complaint.as_ref())
        .collect();
    let Some((first, others)) = errors.split_first() else {
        return Ok(());
    };
    if allow_invalid {
        for complaint in &errors {
            ui.warn(&format!(
                "{}: started all the same, by --allow-invalid",
                complaint.sentence
            ));
        }
        return Ok(());
    }
    for complaint in others {
        ui.warn(&format!("{}: {}", complaint.sentence, complaint.advice));
    }
    Err(Failure::new(Cause::Plan, &first.sentence).hint(format!(
        "{}; or start it all the same with --allow-invalid",
        first.advice
    )))
}

/// What guests of the plan's scenarios see as their environment.
fn env(plan: &Plan) -> std::collections::BTreeMap<String, String> {
    let scenarios = plan
        .scenarios
        .iter()
        .flat_map(|scenario| scenario.env.clone());
    plan.run.env.clone().into_iter().chain(scenarios).collect()
}

/// Where a scenario's requests go: the URL of `quick`, or the URLs that a guest is told in its environment.
fn destinations(plan: &Plan, scenario: &Scenario) -> Vec<Destination> {
    let urls: Vec<Url> = match &scenario.work {
        Work::Request(request) => Url::parse(&request.url).into_iter().collect(),
        Work::Guest { .. } => {
            let values = plan.run.env.values().chain(scenario.env.values());
            values.filter_map(|value| Url::parse(value).ok()).collect()
        }
    };
    urls.iter().filter_map(destination).collect()
}

fn destination(url: &Url) -> Option<Destination> {
    let is_secure = url.scheme() == "https";
    if !is_secure && url.scheme() != "http" {
        return None;
    }
    let address = match url.host()? {
        Host::Ipv4(address) => Some(IpAddr::V4(address)),
        Host::Ipv6(address) => Some(IpAddr::V6(address)),
        // Tried first for this name.
        Host::Domain("localhost") => Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        Host::Domain(_) => None,
    };
    let port = url.port_or_known_default()?;
    Some(Destination {
        address: address.map(|address| SocketAddr::new(address, port)),
        is_secure,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_tell_where_requests_go() {
        let rows = [
            (
                "http://127.0.0.1:8080/a",
                Some(Some("127.0.0.1:8080")),
                "an address",
            ),
            (
                "https://[::1]/",
                Some(Some("[::1]:443")),
                "with the scheme's port",
            ),
            (
                "http://localhost/",
                Some(Some("127.0.0.1:80")),
                "the name of this machine",
            ),
            ("http://shop.example/", Some(None), "a name for a resolver"),
            ("ftp://127.0.0.1/", None, "nothing that is loaded"),
            ("data:text/plain,x", None, "no host"),
        ];
        for (url, expected, why) in rows {
            let found =
                destination(&Url::parse(url).unwrap()).map(|destination| destination.address);
            let expected = expected.map(|address| address.map(|text| text.parse().unwrap()));
            assert_eq!(found, expected, "{why}");
        }
    }
}
