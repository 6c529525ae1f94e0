//! The paper the summary is written on: sections, aligned tables, wrapped lines, colour.

/// What a piece of text is, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Strong,
    Faint,
    Good,
    Caution,
    Bad,
}

/// A cell of a table.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    text: String,
    tone: Tone,
    /// Figures stand to the right.
    right: bool,
}

impl Cell {
    pub(super) fn left(text: impl Into<String>) -> Cell {
        Cell {
            text: text.into(),
            tone: Tone::Plain,
            right: false,
        }
    }

    pub(super) fn right(text: impl Into<String>) -> Cell {
        Cell {
            right: true,
            ..Cell::left(text)
        }
    }

    pub(super) fn tone(self, tone: Tone) -> Cell {
        Cell { tone, ..self }
    }
}

/// Columns between the cells of a table.
const GAP: &str = "  ";
/// Where everything under a title begins.
const INDENT: &str = "  ";

/// A page under way.
#[derive(Debug)]
pub(super) struct Page {
    width: usize,
    colour: bool,
    text: String,
}

impl Page {
    pub(super) fn new(width: usize, colour: bool) -> Page {
        Page {
            width,
            colour,
            text: String::new(),
        }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Begins a section.
    pub(super) fn title(&mut self, title: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        let title = self.paint(&safe(title), Tone::Strong);
        self.line(&title);
    }

    /// A paragraph under the title, wrapped at the page's width.
    pub(super) fn paragraph(&mut self, text: &str, tone: Tone) {
        for line in wrap(&safe(text), self.width - INDENT.len()) {
            let line = self.paint(&line, tone);
            self.line(&format!("{INDENT}{line}"));
        }
    }

    /// A label and what belongs to it, wrapped beside the label.
    pub(super) fn field(&mut self, label: &str, text: &str, tone: Tone) {
        const LABEL: usize = 12;
        let label = self.paint(&format!("{:<LABEL$}", safe(label)), Tone::Faint);
        let mut first = Some(label);
        for line in wrap(&safe(text), self.width - INDENT.len() - LABEL) {
            let line = self.paint(&line, tone);
            let label = first.take().unwrap_or_else(|| " ".repeat(LABEL));
            self.line(&format!("{INDENT}{label}{line}"));
        }
    }

    /// A table with aligned columns. When the page is too narrow for all, first cells that do not fit beside the rest of their
    /// row stand on a line of their own above it.
    pub(super) fn table(&mut self, rows: &[Vec<Cell>]) {
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut widths = vec![0; columns];
        for row in rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(columns_of(&cell.text));
            }
        }
        let all: usize =
            widths.iter().sum::<usize>() + GAP.len() * columns.saturating_sub(1) + INDENT.len();
        if let Some(first) = widths.first_mut() {
            *first = first.saturating_sub(all.saturating_sub(self.width)).max(8);
        }
        for row in rows {
            match row.first() {
                Some(first) if columns_of(&first.text) > widths[0] => {
                    self.paragraph(&first.text, first.tone);
                    let rest = [Cell::left("")].into_iter().chain(row[1..].iter().cloned());
                    self.row(&rest.collect::<Vec<_>>(), &widths);
                }
                _ => self.row(row, &widths),
            }
        }
    }

    /// The page's text.
    pub(super) fn finish(self) -> String {
        self.text
    }

    fn row(&mut self, row: &[Cell], widths: &[usize]) {
        let mut line = INDENT.to_owned();
        for (at, (cell, width)) in row.iter().zip(widths).enumerate() {
            if at > 0 {
                line.push_str(GAP);
            }
            let text = shorten(&safe(&cell.text), *width);
            let pad = " ".repeat(width.saturating_sub(columns_of(&text)));
            let text = self.paint(&text, cell.tone);
            match cell.right {
                true => line.extend([pad, text]),
                false => line.extend([text, pad]),
            }
        }
        self.line(&line);
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn paint(&self, text: &str, tone: Tone) -> String {
        let code = match tone {
            Tone::Plain => return text.to_owned(),
            Tone::Strong => "1",
            Tone::Faint => "2",
            Tone::Good => "32",
            Tone::Caution => "33",
            Tone::Bad => "1;31",
        };
        match self.colour && !text.trim().is_empty() {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_owned(),
        }
    }
}

/// Columns a text takes. Names are counted by characters: a wide script may push its own row to the right, and nothing else.
fn columns_of(text: &str) -> usize {
    text.chars().count()
}

/// Names and messages come from servers and scenarios: nothing of them may move the cursor or change a colour.
fn safe(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// The text, or its beginning and a mark when it is longer.
fn shorten(text: &str, width: usize) -> String {
    match columns_of(text) > width {
        true => text
            .chars()
            .take(width.saturating_sub(1))
            .chain(['…'])
            .collect(),
        false => text.to_owned(),
    }
}

/// Lines of at most `width` columns, broken at blanks; a longer word stands alone and is cut.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let word = shorten(word, width);
        let line = lines.last_mut().map_or(0, |line| columns_of(line));
        let fits = line == 0 || line + 1 + columns_of(&word) <= width;
        match lines.last_mut() {
            Some(last) if fits => {
                if line > 0 {
                    last.push(' ');
                }
                last.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_broken_at_blanks() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(
            wrap("a extraordinarily long word", 8),
            ["a", "extraor…", "long", "word"]
        );
        assert_eq!(wrap("", 8), [""]);
    }

    #[test]
    fn what_a_server_says_cannot_move_the_cursor() {
        let mut page = Page::new(80, true);
        page.paragraph("\x1b[2Jgone\r\nnew\x07", Tone::Plain);
        assert_eq!(page.finish(), "  [2Jgone new\n");
    }

    #[test]
    fn a_name_too_long_for_its_column_stands_above_its_row() {
        let mut page = Page::new(24, false);
        page.table(&[
            vec![Cell::left("short"), Cell::right("1.00 ms")],
            vec![Cell::left("a rather long name"), Cell::right("2.00 ms")],
        ]);
        assert_eq!(
            page.finish(),
            "  short          1.00 ms\n  a rather long name\n                 2.00 ms\n"
        );
    }
}
