//! Tables in Markdown, aligned so that the file itself can be read.

/// A table: names in the first column, figures in the others.
#[derive(Debug)]
pub(crate) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub(crate) fn new<'a>(header: impl IntoIterator<Item = &'a str>) -> Table {
        Table {
            header: header.into_iter().map(cell).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; what it lacks at its end stays empty.
    pub(crate) fn row<T: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = T>) {
        let mut row: Vec<String> = cells.into_iter().map(|text| cell(text.as_ref())).collect();
        row.resize(self.header.len(), String::new());
        self.rows.push(row);
    }

    /// The table as lines, the last one ended too.
    pub(crate) fn render(&self) -> String {
        let width = |column: usize| {
            let cells = std::iter::once(&self.header).chain(&self.rows);
            cells
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
                .max(3)
        };
        let widths: Vec<usize> = (0..self.header.len()).map(width).collect();
        let mut text = line(&self.header, &widths);
        text.push_str(&ruler(&widths));
        for row in &self.rows {
            text.push_str(&line(row, &widths));
        }
        text
    }
}

/// A bar would end the cell, a line break the table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn line(cells: &[String], widths: &[usize]) -> String {
    let padded = cells
        .iter()
        .zip(widths)
        .enumerate()
        .map(|(n, (cell, &width))| match n {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
    format!("| {} |\n", padded.collect::<Vec<_>>().join(" | "))
}

fn ruler(widths: &[usize]) -> String {
    let rules = widths.iter().enumerate().map(|(n, &width)| match n {
        0 => "-".repeat(width),
        _ => format!("{}:", "-".repeat(width - 1)),
    });
    format!("| {} |\n", rules.collect::<Vec<_>>().join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_left_and_figures_right() {
        let mut table = Table::new(["tool", "µs"]);
        table.row(["wrk", "7.70"]);
        table.row(["a|b"]);
        let expected = "\
| tool |   µs |
| ---- | ---: |
| wrk  | 7.70 |
| a\\|b |      |
";
        assert_eq!(table.render(), expected);
    }
}
