//! What a machine was found to have and to lack, for a terminal.

use nettare_core::doctor::{Diagnosis, Finding, Severity};

use super::TextOptions;
use super::page::{Cell, Page, Tone};

/// The findings as a table, and below it what to do about those that are not good. `plan` is the plan in words; empty where the
/// machine was looked at for itself.
pub fn diagnosis(diagnosis: &Diagnosis, plan: &[String], options: &TextOptions) -> String {
    let mut page = Page::new(options.width.clamp(80, 120), options.colour);
    match plan {
        [] => page.title("This machine, for a run of up to 10,000 virtual users"),
        sentences => {
            page.title("This machine, for the plan");
            for sentence in sentences {
                page.paragraph(sentence, Tone::Plain);
            }
        }
    }
    let head = ["", "", "needed", "there is"].map(|text| Cell::left(text).tone(Tone::Faint));
    let rows = diagnosis.findings.iter().map(row);
    page.table(&[head.to_vec()].into_iter().chain(rows).collect::<Vec<_>>());
    advice(&mut page, diagnosis);
    page.title(conclusion(diagnosis, plan.is_empty()));
    page.finish()
}

fn conclusion(diagnosis: &Diagnosis, is_without_plan: bool) -> &'static str {
    let mut unknown = diagnosis.of(Severity::Unknown);
    match diagnosis.result {
        Severity::Error if is_without_plan => "This machine is not fit for load as it is.",
        Severity::Error => "This machine cannot run the plan.",
        Severity::Warning => "It can be run; read the warnings.",
        _ if unknown.any(|finding| finding.is_of_plan) => {
            "Nothing stands in the way, as far as the machine tells."
        }
        _ => "Nothing stands in the way.",
    }
}

fn row(finding: &Finding) -> Vec<Cell> {
    vec![
        Cell::left(finding.severity.as_str()).tone(tone(finding.severity)),
        Cell::left(finding.rule),
        Cell::left(&finding.needs),
        Cell::left(&finding.has),
    ]
}

fn advice(page: &mut Page, diagnosis: &Diagnosis) {
    let grave = [Severity::Error, Severity::Warning];
    let complaints: Vec<_> = grave
        .into_iter()
        .flat_map(|severity| diagnosis.of(severity))
        .filter_map(|finding| Some((finding.severity, finding.complaint.as_ref()?)))
        .collect();
    if complaints.is_empty() {
        return;
    }
    page.title("What to do");
    for (severity, complaint) in complaints {
        let sentence = format!("{}: {}", severity.as_str(), complaint.sentence);
        page.paragraph(&sentence, tone(severity));
        page.paragraph(&format!("→ {}", complaint.advice), Tone::Strong);
    }
}

fn tone(severity: Severity) -> Tone {
    match severity {
        Severity::Ok => Tone::Good,
        Severity::Unknown => Tone::Faint,
        Severity::Warning => Tone::Caution,
        Severity::Error => Tone::Bad,
    }
}

#[cfg(test)]
mod tests {
    use nettare_core::doctor::{Cpus, Descriptors, Machine, MemoryMaps, Needs, Ports, examine};

    use super::*;

    /// A machine of a usual kind.
    fn machine() -> Machine {
        Machine {
            ports: Some(Ports {
                first: 32_768,
                last: 60_999,
                reserved: 0,
                in_use: 3,
            }),
            time_wait_reuse: Some(2),
            descriptors: Some(Descriptors {
                hard: Some(524_288),
                soft: Some(1_024),
            }),
            memory_available_bytes: Some(24_000_000_000),
            memory_maps: Some(MemoryMaps { most: 65_530 }),
            cpus: Some(Cpus {
                allowed: 4,
                quota: None,
            }),
            steal: Some(0.001),
            clock_source: Some("tsc".to_owned()),
            invariant_tsc: Some(true),
            accept_queue: Some(4_096),
            kernel_stamps: Some(true),
            ..Machine::default()
        }
    }

    fn printed(machine: &Machine) -> String {
        let needs = Needs::reference(256 << 10, (6, 2_096));
        let options = TextOptions::default();
        diagnosis(&examine(machine, &needs), &[], &options)
    }

    #[test]
    fn a_usual_machine() {
        insta::assert_snapshot!("diagnosis-usual", printed(&machine()));
    }

    #[test]
    fn a_machine_with_many_shortcomings() {
        let poor = Machine {
            ports: Some(Ports {
                first: 32_768,
                last: 32_967,
                reserved: 2,
                in_use: 150,
            }),
            descriptors: Some(Descriptors {
                hard: Some(4_096),
                soft: Some(4_096),
            }),
            memory_available_bytes: Some(8_000_000_000),
            cgroup_memory_bytes: Some(500_000_000),
            memory_maps: Some(MemoryMaps { most: 30_000 }),
            cpus: Some(Cpus {
                allowed: 4,
                quota: Some(0.5),
            }),
            steal: Some(0.123),
            clock_source: Some("hpet".to_owned()),
            accept_queue: Some(128),
            kernel_stamps: Some(false),
            governor: Some("powersave".to_owned()),
            ..machine()
        };
        insta::assert_snapshot!("diagnosis-poor", printed(&poor));
    }

    #[test]
    fn a_machine_that_tells_nothing() {
        insta::assert_snapshot!("diagnosis-unknown", printed(&Machine::default()));
    }

    #[test]
    fn colour_only_repeats_what_the_words_say() {
        let needs = Needs::reference(256 << 10, (6, 2_096));
        let found = examine(&machine(), &needs);
        let in_colour = diagnosis(
            &found,
            &[],
            &TextOptions {
                colour: true,
                ..TextOptions::default()
            },
        );
        let plain = diagnosis(&found, &[], &TextOptions::default());
        assert!(in_colour.contains("\x1b[32mok"), "{in_colour}");
        let mut stripped = in_colour;
        while let Some(at) = stripped.find("\x1b[") {
            let end = at + stripped[at..].find('m').expect("it ends") + 1;
            stripped.replace_range(at..end, "");
        }
        assert_eq!(stripped, plain);
    }
}
