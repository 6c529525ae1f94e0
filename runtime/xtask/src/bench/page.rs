//! The page that docs/benchmarks.md is.

use super::Bench;
use super::generators::Generator;
use super::goals::Goal;
use crate::measure::machine;
use crate::measure::server;
use crate::measure::table::Table;

/// The whole page, as it is written.
pub(crate) fn render(
    bench: &Bench<'_>,
    generators: &[Generator],
    sections: [&str; 5],
    goals: &[Goal],
) -> anyhow::Result<String> {
    let mut versions = vec![server::nginx_version()];
    for generator in generators {
        if !versions.contains(&generator.version) {
            versions.push(generator.version.clone());
        }
    }
    let head = Head {
        machine: machine::describe(&versions)?,
        date: machine::date()?,
        commit: machine::commit()?,
        crowd: bench.arguments.crowd,
    };
    Ok(assemble(&head, &sections, goals))
}

struct Head {
    machine: String,
    date: String,
    commit: String,
    crowd: u32,
}

fn assemble(head: &Head, sections: &[&str], goals: &[Goal]) -> String {
    let Head {
        machine,
        date,
        commit,
        crowd,
    } = head;
    let mut table = Table::new(["goal", "limit", "measured", ""]);
    for goal in goals {
        table.row([
            goal.what.clone(),
            goal.allowed(),
            goal.measured(),
            goal.verdict().to_owned(),
        ]);
    }
    format!(
        "# Benchmarks

What Nettare costs, beside the tools people use already. Written by `cargo xtask bench`, which measures all of it in one run: the
server is pinned to one CPU and each generator, one at a time, to another. Rounds are interleaved, figures are medians over
rounds, and ratios are the medians of each round's ratios.

{machine} Measured on {date} at {commit}.

{}
{}
To measure again: `cargo xtask bench`. It needs nginx and wrk, takes hey, oha and k6 along where they are installed, and opens
{crowd} connections to itself.
",
        table.render(),
        sections.join("\n"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_tells_machine_goals_and_sections_in_this_order() {
        let head = Head {
            machine: "A machine. Tools.".to_owned(),
            date: "2030-01-01".to_owned(),
            commit: "abc".to_owned(),
            crowd: 10_000,
        };
        let goals = [Goal::at_most("memory", 120.0, 96.0, " KiB")];
        let page = assemble(&head, &["## One\n\ntext\n", "## Two\n\ntext\n"], &goals);
        let places = [
            "A machine. Tools. Measured on 2030-01-01 at abc.",
            "| memory | at most 96.0 KiB |  120 KiB | missed |",
            "## One",
            "## Two",
        ];
        let found: Vec<_> = places.iter().map(|place| page.find(place)).collect();
        assert!(found.iter().all(Option::is_some), "{page}");
        assert!(found.is_sorted(), "{page}");
    }
}
