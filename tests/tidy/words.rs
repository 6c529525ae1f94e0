//! What shipped text does not say.
//!
//! The patterns are written with a class of one letter (`TO[D]O`), so that this file keeps the rules it states.

use regex::RegexBuilder;

use super::tree::{File, Tree};
use super::{Breach, Rule};

/// A kind of words that shipped text does without.
pub(super) struct Ban {
    /// The rule as it is told.
    pub(super) rule: Rule,
    /// Regular expressions, in whatever case.
    patterns: &'static [&'static str],
    /// What matches a pattern and is meant otherwise.
    except: &'static [&'static str],
    /// Endings of the paths of the files it is about; none means all text.
    endings: &'static [&'static str],
}

/// One row a rule.
pub(super) const BANS: &[Ban] = &[
    Ban {
        rule: Rule {
            name: "unfinished work",
            why: "a mark in the code is a promise that nobody keeps.",
            remedy: "finish it, or leave it out and say so where a user would look.",
        },
        patterns: &[
            r"\bTO[D]O\b",
            r"\bFIX[M]E\b",
            r"\bXX[X]\b",
            r"\bHAC[K]\b",
            r"\bfor no[w]\b",
            r"\bnot yet implemente[d]\b",
            r"\((?:being|to be) writte[n]\)",
            r"\blorem ipsu[m]\b",
        ],
        except: &[],
        endings: &[],
    },
    Ban {
        rule: Rule {
            name: "belittling words",
            why: "what is easy for the writer need not be for the reader, and saying so explains nothing.",
            remedy: "leave the word out, or give the reason.",
        },
        patterns: &[
            r"\bsimpl[y]\b",
            r"\bobviousl[y]\b",
            r"\btriviall[y]\b",
            r"\bof cours[e]\b",
            r"\bneedless to sa[y]\b",
        ],
        except: &[],
        endings: &[],
    },
    Ban {
        rule: Rule {
            name: "advertising",
            why: "a figure convinces, an adjective does not.",
            remedy: "give the figure and how it was measured, or leave the word out.",
        },
        patterns: &[
            r"\bblazin[g]\b",
            r"\blightning[- ]fas[t]\b",
            r"\bseamles[s]",
            r"\beffortles[s]",
            r"\bcutting[- ]edg[e]\b",
            r"\bstate[- ]of[- ]the[- ]ar[t]\b",
            r"\bleverag[e]",
            r"\brevolutionar[y]\b",
            r"\bworld[- ]clas[s]\b",
        ],
        except: &[],
        endings: &[],
    },
    Ban {
        rule: Rule {
            name: "the making of",
            why: "the text is for whoever uses and keeps the project, not about how a part of it came to be written.",
            remedy: "say what is so and why; leave out who was asked to do it.",
        },
        patterns: &[
            r"\b(?:an?|the|this|that|each|every|another|coding|AI) agen[t]s?\b",
            r"\bsub-?agen[t]s?\b",
            r"\bagent[s] (?:are|were|have|do|will|must|may|can)\b",
            r"\blanguage mode[l]s?\b",
            r"\bLL[M]s?\b",
            r"\bchatbo[t]s?\b",
            r"\bAI[- ]generate[d]\b",
            r"\bhelper sessio[n]s?\b",
            r"\bthe architec[t]\b",
            r"\bissue #?\d+",
            r"\bthis issu[e]\b",
            r"\bthe issu[e]'s\b",
            r"\bas requeste[d]\b",
        ],
        except: &[],
        endings: &[],
    },
    Ban {
        rule: Rule {
            name: "paths of one machine",
            why: "a path that exists on one machine misleads on every other.",
            remedy: "name the path from the repository's root, or by an environment variable.",
        },
        patterns: &[r"(?:^|[^\w.$}])/(?:wor[k]|roo[t]|hom[e]|User[s]|farm)/"],
        except: &[],
        endings: &[],
    },
    Ban {
        rule: Rule {
            name: "registry hosts",
            why: "which mirror a registry is reached by is a setting of the machine, not of the project.",
            remedy: "name the registry's client (`cargo`, `npm`, `pip`, `apt-get`) and let it find its host.",
        },
        patterns: &[
            r"https?://(?:stati[c]|inde[x]|registr[y]|file[s]|prox[y]|de[b]|repo1?)\.",
            r"\binde[x]\.crates\.io",
        ],
        except: &[],
        endings: &[],
    },
    Ban {
        rule: Rule {
            name: "latency without a name",
            why: "gross, tare and net differ by orders of magnitude; a report that says `latency` alone says nothing.",
            remedy: "say gross, tare or net.",
        },
        patterns: &[r"latency[_-]?(?:ns|us|ms|p\d+)\b"],
        except: &[r"(?:gross|tare|net)[_-]latency[_-]?(?:ns|us|ms|p\d+)"],
        endings: &[".rs", ".json", ".wit"],
    },
];

/// Every line that says what is banned.
pub(super) fn check(tree: &Tree, ban: &Ban) -> Vec<Breach> {
    let expression = |patterns: &[&str]| {
        let pattern = if patterns.is_empty() {
            r"[^\s\S]".to_owned()
        } else {
            patterns.join("|")
        };
        RegexBuilder::new(&pattern)
            .case_insensitive(true)
            .build()
            .expect("the patterns are regular expressions")
    };
    let (banned, except) = (expression(ban.patterns), expression(ban.except));
    let mut breaches = Vec::new();
    for file in tree
        .files()
        .filter(|file| is_ours(file) && ends_in(file, ban.endings))
    {
        for (index, line) in file.text.lines().enumerate() {
            if let Some(found) = banned.find(&except.replace_all(line, "")) {
                breaches.push(Breach::new(
                    &file.path,
                    index + 1,
                    format!("`{}`", found.as_str().trim()),
                ));
            }
        }
    }
    breaches
}

/// Whether people wrote it: lock files are a package manager's, licences their authors'.
fn is_ours(file: &File) -> bool {
    let name = file.path.rsplit('/').next().unwrap_or_default();
    let locks = [
        "Cargo.lock",
        "package-lock.json",
        "go.sum",
        "poetry.lock",
        "uv.lock",
    ];
    !locks.contains(&name) && !name.starts_with("LICENSE") && !name.ends_with(".snap.new")
}

fn ends_in(file: &File, endings: &[&str]) -> bool {
    endings.is_empty() || endings.iter().any(|ending| file.path.ends_with(ending))
}

mod tests {
    use super::*;

    fn found(rule: &str, path: &str, text: &str) -> Vec<String> {
        let ban = BANS
            .iter()
            .find(|ban| ban.rule.name == rule)
            .expect("the rule exists");
        check(&Tree::of(&[(path, text)]), ban)
            .into_iter()
            .map(|breach| format!("{} {}", breach.line, breach.what))
            .collect()
    }

    #[test]
    fn each_ban_finds_what_it_bans() {
        for (rule, path, line) in [
            (
                "unfinished work",
                "runtime/net/src/http.rs",
                concat!("// TO", "DO: pipelining"),
            ),
            (
                "unfinished work",
                "runtime/net/src/http.rs",
                concat!("//! (being ", "written)"),
            ),
            (
                "belittling words",
                "docs/guides/first.md",
                concat!("Sim", "ply run it."),
            ),
            (
                "advertising",
                "README.md",
                concat!("A blaz", "ing load tester."),
            ),
            (
                "the making of",
                "docs/decisions/0001.md",
                concat!("The ag", "ent decided."),
            ),
            (
                "the making of",
                "runtime/cli/main.rs",
                concat!("// See issue ", "#12."),
            ),
            (
                "paths of one machine",
                "CONTRIBUTING.md",
                concat!("cd /wo", "rk/main"),
            ),
            (
                "paths of one machine",
                "runtime/cli/main.rs",
                concat!("\"/ho", "me/me/x\""),
            ),
            (
                "registry hosts",
                "deny.toml",
                concat!("https://ind", "ex.example.org/"),
            ),
            (
                "latency without a name",
                "runtime/core/src/sample.rs",
                concat!("latency", "_ns: u64"),
            ),
        ] {
            assert_eq!(
                found(rule, path, &format!("fine\n{line}\n")).len(),
                1,
                "{rule}: {line}"
            );
        }
    }

    #[test]
    fn what_only_resembles_a_banned_word_is_left_alone() {
        for (rule, path, line) in [
            (
                "unfinished work",
                "docs/a.md",
                "A method, a hackathon, a XXL shirt; the file is to be written by hand.",
            ),
            (
                "the making of",
                "docs/a.md",
                "`--user-agent`, `USER_AGENT` and `user agent` name the header; architecture; a reissued ticket.",
            ),
            (
                "paths of one machine",
                "docs/a.md",
                "GET /root, docs/work/plan.md, $HOME/work/x, https://host.example/rooted/",
            ),
            (
                "registry hosts",
                "docs/a.md",
                "https://docs.rs/tokio and https://github.com/wg/wrk/issues/316",
            ),
            (
                "latency without a name",
                "runtime/core/src/sample.rs",
                "net_latency_ns: u64",
            ),
            (
                "latency without a name",
                "docs/a.md",
                concat!("other tools print latency", "_ms"),
            ),
        ] {
            assert_eq!(found(rule, path, line), [""; 0], "{rule}: {line}");
        }
    }

    #[test]
    fn a_breach_names_its_line_and_its_word_in_any_case() {
        assert_eq!(
            found(
                "belittling words",
                "a.md",
                concat!("\n\nIt is OBVIOUS", "LY so.")
            ),
            [concat!("3 `OBVIOUS", "LY`")]
        );
    }

    #[test]
    fn lock_files_are_not_ours() {
        assert_eq!(
            found(
                "registry hosts",
                "sdk/js/package-lock.json",
                concat!("https://regis", "try.example.org/")
            ),
            [""; 0]
        );
    }
}
