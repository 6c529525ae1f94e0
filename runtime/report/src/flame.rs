//! A guest's profile as a flame graph: a drawing in SVG, without scripts, that any browser shows.
//!
//! ```text
//!              ┌────────┐
//!   ┌──────────┤ parse  ├──────┐      a function stands on its caller, and is as wide as its share of all samples;
//!   │  check   └────────┘      │      what is open to the top was running itself
//!   ├──────────────────────────┴──┐
//!   │  run                        │
//!   └─────────────────────────────┘
//! ```
//!
//! The same profile gives the same bytes: the order is that of names, and so are the colours. Names come from a guest that nobody
//! vouches for, so they are made inert: markup is escaped, and characters that XML does not allow, or that turn the direction of
//! text around, are replaced.

use std::fmt::Write as _;

use nettare_core::profile::{Folded, FrameKind, Function, Profile};

/// Pixels of the whole drawing, and around the graph.
const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 10.0;
/// Pixels above the graph, for the title and the legend.
const HEAD: f64 = 64.0;
/// Pixels of one function, from its base to the base of those on it.
const ROW: f64 = 18.0;
/// Pixels of one letter of a label.
const LETTER: f64 = 6.65;
/// What is narrower, in pixels, is not drawn.
const NARROWEST: f64 = 0.5;

const STYLE: &str = "text{font-family:ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:11px;fill:#1b1b1b;\
pointer-events:none}.h{font-family:system-ui,'Helvetica Neue',Arial,'DejaVu Sans',sans-serif;font-size:17px;font-weight:600}\
.l{font-family:system-ui,'Helvetica Neue',Arial,'DejaVu Sans',sans-serif;font-size:12px;fill:#4a4a4a}\
rect.f{stroke:#fdfdfb;stroke-width:.6}rect.f:hover{stroke:#1b1b1b;stroke-width:1.2}";

/// Draws a profile of the guest called `name`.
pub fn encode(profile: &Profile, name: &str) -> Vec<u8> {
    let folded = profile.folded();
    let total = profile.weight();
    let mut frames = frames(&folded);
    frames.retain(|frame| width(frame.until - frame.from, total) >= NARROWEST);
    let deepest = frames.iter().map(|frame| frame.depth).max().unwrap_or(0);
    let base = HEAD + rows(deepest + 1) * ROW;
    let mut svg = String::new();
    head(&mut svg, profile, name, base + MARGIN);
    for frame in &frames {
        draw(&mut svg, frame, total, base);
    }
    if total == 0 {
        let line =
            "No samples: the guest used too little CPU time to be met. Let the run last longer.";
        text(&mut svg, "l", MARGIN, HEAD + 13.0, line);
    }
    svg.push_str("</svg>\n");
    svg.into_bytes()
}

/// A function on a stack, and the samples that it covers.
#[derive(Debug)]
struct Frame<'a> {
    /// None for the whole.
    function: Option<&'a Function>,
    depth: usize,
    from: u64,
    until: u64,
    /// Samples in which it was the innermost.
    itself: u64,
}

/// What is drawn, from stacks in the order of their names: a function goes on as long as the next stack begins alike.
fn frames<'a>(folded: &[Folded<'a>]) -> Vec<Frame<'a>> {
    let open = |function, depth, from| Frame {
        function,
        depth,
        from,
        until: from,
        itself: 0,
    };
    let mut done = Vec::new();
    let mut stack = vec![open(None, 0, 0)];
    let mut at = 0;
    for Folded {
        stack: functions,
        weight,
    } in folded
    {
        let common = stack[1..]
            .iter()
            .zip(functions)
            .take_while(|(frame, function)| frame.function == Some(**function))
            .count();
        for mut frame in stack.drain(common + 1..) {
            frame.until = at;
            done.push(frame);
        }
        for function in &functions[common..] {
            stack.push(open(Some(*function), stack.len(), at));
        }
        at += weight;
        if let Some(innermost) = stack.last_mut() {
            innermost.itself += weight;
        }
    }
    for mut frame in stack {
        frame.until = at;
        done.push(frame);
    }
    done.sort_by_key(|frame| (frame.depth, frame.from));
    done
}

fn head(svg: &mut String, profile: &Profile, name: &str, height: f64) {
    let title = format!("CPU time of {name}");
    let legend = format!(
        "{} of virtual user {}, {} s of CPU time in {} s. As wide as its share; what is open to the top was running itself. \
         Blue is the host.",
        samples(profile.weight()),
        profile.vu,
        seconds(profile.cpu_ns),
        seconds(profile.duration_ns),
    );
    // Writing to a string cannot fail.
    let _ = write!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         role=\"img\">\n<title>{}</title>\n<style>{STYLE}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fdfdfb\"/>\n",
        escaped(&title)
    );
    text(svg, "h", MARGIN, 27.0, &cut(&title, 100));
    text(svg, "l", MARGIN, 48.0, &legend);
}

fn draw(svg: &mut String, frame: &Frame<'_>, total: u64, base: f64) {
    let weight = frame.until - frame.from;
    let (x, wide) = (MARGIN + width(frame.from, total), width(weight, total));
    let y = base - rows(frame.depth + 1) * ROW;
    let name = frame.function.map_or("all", |function| &function.name);
    let _ = write!(
        svg,
        "<g><title>{}: {:.1} % of all ({}), {:.1} % in itself</title>\
         <rect class=\"f\" x=\"{x:.2}\" y=\"{y}\" width=\"{wide:.2}\" height=\"{ROW}\" rx=\"1.5\" fill=\"{}\"/>",
        escaped(name),
        100.0 * share(weight, total),
        samples(weight),
        100.0 * share(frame.itself, total),
        colour(frame.function),
    );
    if let Some(label) = label(name, wide) {
        text(svg, "n", x + 4.0, y + 12.5, &label);
    }
    svg.push_str("</g>\n");
}

/// Pixels that so many of all samples take.
fn width(samples: u64, total: u64) -> f64 {
    (WIDTH - 2.0 * MARGIN) * share(samples, total)
}

fn text(svg: &mut String, class: &str, x: f64, y: f64, text: &str) {
    let _ = write!(
        svg,
        "<text class=\"{class}\" x=\"{x:.2}\" y=\"{y}\">{}</text>",
        escaped(text)
    );
}

/// What fits: the name, or its last part, or that without the types it is for, or the beginning of that.
fn label(name: &str, width: f64) -> Option<String> {
    let room = letters(width);
    if room < 3 {
        return None;
    }
    let last = last_part(name);
    let fits = |text: &&str| text.chars().count() <= room;
    let short = last
        .split_once("::<")
        .map_or(last, |(function, _)| function);
    let best = [name, last].into_iter().find(fits).unwrap_or(short);
    Some(cut(best, room))
}

/// `method` of `<shop::Cart as core::fmt::Display>::method`, `burn::{{closure}}` of `shop::burn::{{closure}}`: the last part of
/// a path, with the one before if it says too little alone.
fn last_part(name: &str) -> &str {
    let mut parts = vec![0];
    let (mut nested, mut before) = (0_i32, ' ');
    for (at, letter) in name.char_indices() {
        match letter {
            '<' | '(' | '[' | '{' => nested += 1,
            // The head of an arrow closes nothing.
            '>' if before == '-' => {}
            '>' | ')' | ']' | '}' => nested -= 1,
            ':' if before == ':' && nested <= 0 => parts.push(at + 1),
            _ => {}
        }
        before = letter;
    }
    let says_something =
        |at: &&usize| !name[**at..].starts_with(['<', '{']) && !name[**at..].is_empty();
    let from = parts.iter().rev().find(says_something);
    &name[from.copied().unwrap_or(0)..]
}

/// The beginning of a text that is too long, with a mark.
fn cut(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    let kept: String = text.chars().take(letters.saturating_sub(1)).collect();
    kept + "…"
}

/// As XML's text: markup as entities, and what is not allowed, or could disguise other text, as a mark.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // XML 1.0, section 2.2, and the marks that turn text around (UAX #9).
            '\u{FFFE}' | '\u{FFFF}' | '\u{61C}' | '\u{200E}' | '\u{200F}' => {
                escaped.push('\u{FFFD}')
            }
            '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => escaped.push('\u{FFFD}'),
            control if control.is_control() => escaped.push('\u{FFFD}'),
            other => escaped.push(other),
        }
    }
    escaped
}

/// A light colour that is the name's own: warm for guests, blue for the host, grey for those without a name.
fn colour(function: Option<&Function>) -> String {
    let Some(function) = function else {
        return "#e4e2dc".to_owned();
    };
    let hash = fnv(&function.name);
    let part = |shift: u32, span: u32| (hash >> shift) % span;
    let (red, green, blue) = match function.kind {
        FrameKind::Named => (240 + part(0, 15), 168 + part(8, 60), 100 + part(16, 50)),
        FrameKind::Host => (158 + part(0, 16), 192 + part(8, 16), 226 + part(16, 16)),
        FrameKind::Unnamed => {
            let grey = 200 + part(0, 30);
            (grey, grey, grey - 8)
        }
    };
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// FNV-1a, folded: the same in every release, which the standard library's hash does not promise.
fn fnv(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash: u32, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a share is drawn to a hundredth of a pixel"
)]
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    part as f64 / whole as f64
}

#[expect(clippy::cast_precision_loss, reason = "a stack has few functions")]
fn rows(count: usize) -> f64 {
    count as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a drawing has a few hundred letters in a line"
)]
fn letters(width: f64) -> usize {
    ((width - 7.0) / LETTER).max(0.0) as usize
}

fn samples(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let word = if count == 1 { "sample" } else { "samples" };
    format!("{grouped} {word}")
}

fn seconds(ns: u64) -> String {
    format!(
        "{}.{:02}",
        ns / 1_000_000_000,
        ns % 1_000_000_000 / 10_000_000
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use nettare_core::profile::Recording;
    use proptest::prelude::*;
    use quick_xml::events::Event;

    use super::*;

    /// A profile of these stacks, names separated by semicolons, each for that many ticks of a millisecond.
    pub(crate) fn profile(stacks: &[(&str, u32)]) -> Profile {
        let mut recording = Recording::new(1, 1_767_225_600_000_000_000, 1_000_000);
        let mut at_ns = 0;
        for (names, weight) in stacks {
            let ran_ns = u64::from(*weight) * 1_000_000;
            at_ns += ran_ns;
            let function = |name: &str| Function {
                name: name.to_owned(),
                kind: match name {
                    "[host call]" => FrameKind::Host,
                    name if name.starts_with("function ") => FrameKind::Unnamed,
                    _ => FrameKind::Named,
                },
            };
            let stack = names.split(';').map(function).collect();
            recording.ran(at_ns, ran_ns);
            recording.add(at_ns, *weight, stack);
        }
        recording.into_profile()
    }

    fn drawn(profile: &Profile, name: &str) -> String {
        String::from_utf8(encode(profile, name)).unwrap()
    }

    /// The names of all elements and the text in them, as a parser of XML sees them.
    fn parsed(svg: &str) -> (Vec<String>, String) {
        let mut reader = quick_xml::Reader::from_str(svg);
        let (mut elements, mut text) = (Vec::new(), String::new());
        loop {
            match reader.read_event().expect("it is XML") {
                Event::Start(element) | Event::Empty(element) => {
                    for attribute in element.attributes() {
                        attribute.expect("it has good attributes");
                    }
                    elements.push(String::from_utf8(element.name().as_ref().to_vec()).unwrap());
                }
                Event::Text(words) => text.push_str(&words.decode().unwrap()),
                Event::Eof => return (elements, text),
                _ => {}
            }
        }
    }

    #[test]
    fn a_small_graph_looks_like_this() {
        let profile = profile(&[
            ("run;shop::check;serde_json::de::parse", 6),
            ("run;shop::check", 1),
            ("run;<shop::Cart as nettare::Body>::encode;[host call]", 2),
            ("run;function 73", 1),
        ]);
        insta::assert_snapshot!(drawn(&profile, "shop.wasm"));
    }

    #[test]
    fn without_samples_it_says_so() {
        let (_, text) = parsed(&drawn(&Profile::default(), "idle.wasm"));
        assert!(
            text.contains("No samples") && text.contains("0 samples of"),
            "{text}"
        );
    }

    #[test]
    fn names_are_text_and_nothing_else() {
        let name = "</title><script>alert(1)</script>\u{1b}[2J\u{202e}&\0";
        let svg = drawn(&profile(&[(name, 5)]), name);
        let (elements, _) = parsed(&svg);
        assert!(!elements.contains(&"script".to_owned()), "{svg}");
        assert!(!svg.contains(['\u{1b}', '\0', '\u{202e}']), "{svg}");
    }

    #[test]
    fn a_long_name_is_told_by_its_last_part() {
        let rows = [
            ("shop::cart::total", "total", "a path"),
            (
                "<shop::Cart as core::fmt::Display>::fmt",
                "fmt",
                "a method of a trait",
            ),
            (
                "shop::burn::{{closure}}",
                "burn::{{closure}}",
                "a closure says nothing alone",
            ),
            (
                "serde::json::<shop::Catalog>",
                "json::<shop::Catalog>",
                "nor does a type",
            ),
            (
                "core::ops::Fn<(A) -> B>::call",
                "call",
                "an arrow closes nothing",
            ),
            ("malloc", "malloc", "one part"),
            ("a::", "a::", "a name that is none"),
            ("", "", "no name"),
        ];
        for (name, expected, sentence) in rows {
            assert_eq!(last_part(name), expected, "{sentence}");
        }
    }

    #[test]
    fn a_label_says_as_much_as_fits() {
        let name = "shop::json::<shop::Catalog>";
        let rows = [
            (300.0, Some(name)),
            (170.0, Some("json::<shop::Catalog>")),
            (60.0, Some("json")),
            (30.0, Some("js…")),
            (20.0, None),
        ];
        for (width, expected) in rows {
            assert_eq!(label(name, width).as_deref(), expected, "{width}");
        }
    }

    #[test]
    fn a_function_covers_those_that_it_called() {
        let profile = profile(&[("a;b", 3), ("a;c", 2), ("d", 5), ("a;b", 1)]);
        let folded = profile.folded();
        let found: Vec<(&str, usize, u64, u64, u64)> = frames(&folded)
            .iter()
            .map(|frame| {
                let name = frame.function.map_or("all", |function| &function.name);
                (name, frame.depth, frame.from, frame.until, frame.itself)
            })
            .collect();
        assert_eq!(
            found,
            [
                ("all", 0, 0, 11, 0),
                ("a", 1, 0, 6, 0),
                ("d", 1, 6, 11, 5),
                ("b", 2, 0, 4, 4),
                ("c", 2, 4, 6, 2),
            ]
        );
    }

    proptest! {
        #[test]
        fn whatever_the_names_the_drawing_is_xml(
            stacks in prop::collection::vec((any::<String>(), 0..1000_u32), 0..20),
            name in any::<String>(),
        ) {
            let stacks: Vec<(&str, u32)> = stacks.iter().map(|(names, weight)| (names.as_str(), *weight)).collect();
            let profile = profile(&stacks);
            let svg = drawn(&profile, &name);
            let (elements, _) = parsed(&svg);
            let known = ["svg", "title", "style", "rect", "text", "g"];
            prop_assert!(elements.iter().all(|element| known.contains(&element.as_str())));
            prop_assert_eq!(svg, drawn(&profile, &name));
        }

        #[test]
        fn the_last_part_is_the_end_of_the_name(name in any::<String>(), path in "[a:<>(){}é -]{0,12}") {
            prop_assert!(name.ends_with(last_part(&name)));
            prop_assert!(path.ends_with(last_part(&path)));
        }
    }
}
