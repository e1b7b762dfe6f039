//! Rows in columns, in as many columns as the terminal has room for.

use crate::wrap::{terminal, wrap};

/// Columns that the last column keeps at least, before its text is wrapped below its own beginning.
const LEAST: usize = 20;
/// Between two columns.
const GAP: usize = 2;

/// One column: what stands above it, and what becomes of it where there is little room.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    head: &'static str,
    right: bool,
    spare: Option<u8>,
}

impl Column {
    /// Words: they begin below each other.
    pub const fn words(head: &'static str) -> Self {
        Self { head, right: false, spare: None }
    }

    /// Numbers: they end below each other.
    pub const fn number(head: &'static str) -> Self {
        Self { head, right: true, spare: None }
    }

    /// Can be done without on a narrow terminal, that of the lowest `rank` first.
    #[must_use]
    pub const fn spare(self, rank: u8) -> Self {
        Self { spare: Some(rank), ..self }
    }
}

/// Rows of `N` cells. A table whose columns all have empty heads has no head.
#[derive(Debug, Clone)]
pub struct Table<const N: usize> {
    columns: [Column; N],
    indent: usize,
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    /// An empty table.
    pub const fn new(columns: [Column; N]) -> Self {
        Self { columns, indent: 0, rows: Vec::new() }
    }

    /// Lines begin with two spaces: they belong to a line above.
    #[must_use]
    pub fn indented(self) -> Self {
        Self { indent: 2, ..self }
    }

    /// One more row.
    pub fn row(&mut self, cells: [String; N]) {
        self.rows.push(cells);
    }

    /// The table with these rows, too.
    #[must_use]
    pub fn rows(mut self, rows: impl IntoIterator<Item = [String; N]>) -> Self {
        self.rows.extend(rows);
        self
    }

    /// The lines, the head first, for the terminal that there is; a log has room for all of it.
    pub fn lines(&self) -> Vec<String> {
        self.fitted(terminal())
    }

    /// The lines as one text that ends with a line break.
    pub fn text(&self) -> String {
        self.lines().into_iter().map(|line| line + "\n").collect()
    }

    fn fitted(&self, room: Option<usize>) -> Vec<String> {
        let heads = self.columns.map(|column| column.head.to_owned());
        let head = heads.iter().any(|head| !head.is_empty()).then_some(&heads);
        let rows: Vec<&[String; N]> = head.into_iter().chain(&self.rows).collect();
        let widths: [usize; N] =
            std::array::from_fn(|index| rows.iter().map(|row| length(&row[index])).max().unwrap_or(0));
        let shown = self.shown(&widths, room);
        rows.into_iter().flat_map(|row| self.line(row, &widths, &shown, room)).collect()
    }

    /// Which columns are shown: all but those that are spare and find no room.
    fn shown(&self, widths: &[usize; N], room: Option<usize>) -> Vec<usize> {
        let mut shown: Vec<usize> = (0..N).collect();
        let mut spare: Vec<usize> =
            shown.iter().copied().filter(|index| self.columns[*index].spare.is_some()).collect();
        spare.sort_by_key(|index| self.columns[*index].spare);
        for index in spare {
            let taken: usize = shown.iter().map(|index| widths[*index] + GAP).sum();
            if room.is_none_or(|room| self.indent + taken.saturating_sub(GAP) <= room) {
                break;
            }
            shown.retain(|other| *other != index);
        }
        shown
    }

    /// A row; the text of its last column continues below where that begins.
    fn line(&self, row: &[String; N], widths: &[usize; N], shown: &[usize], room: Option<usize>) -> Vec<String> {
        let Some((&last, before)) = shown.split_last() else { return Vec::new() };
        let mut line = " ".repeat(self.indent);
        for &index in before {
            line.push_str(&padded(&row[index], widths[index], self.columns[index].right));
            line.push_str(&" ".repeat(GAP));
        }
        let begins = length(&line);
        let (cell, column) = (&row[last], &self.columns[last]);
        match room.filter(|room| !column.right && begins + length(cell) > *room && begins + LEAST <= *room) {
            Some(room) => wrap(&line, begins, cell, room),
            None => vec![(line + &padded(cell, widths[last], column.right)).trim_end().to_owned()],
        }
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

fn padded(text: &str, width: usize, right: bool) -> String {
    if right { format!("{text:>width$}") } else { format!("{text:<width$}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table<4> {
        let columns =
            [Column::words("name"), Column::words("version").spare(0), Column::number("bytes"), Column::words("for")];
        Table::new(columns).indented().rows(
            [
                ["cmake", "4.1.2", "96 MB", "projects that build with CMake, or with Ninja"],
                ["zig", "0.14", "1 MB", "C++"],
            ]
            .map(|row| row.map(str::to_owned)),
        )
    }

    #[test]
    fn a_log_has_room_for_all() {
        insta::assert_snapshot!(table().fitted(None).join("\n"), @"
          name   version  bytes  for
          cmake  4.1.2    96 MB  projects that build with CMake, or with Ninja
          zig    0.14      1 MB  C++
        ");
    }

    #[test]
    fn a_narrow_terminal_loses_spare_columns_and_wraps_the_last() {
        insta::assert_snapshot!(table().fitted(Some(40)).join("\n"), @"
          name   bytes  for
          cmake  96 MB  projects that build with
                        CMake, or with Ninja
          zig     1 MB  C++
        ");
    }

    #[test]
    fn what_cannot_fit_stays_whole() {
        let text = table().fitted(Some(20)).join("\n");
        assert!(text.contains("projects that build with CMake, or with Ninja"), "{text}");
    }

    #[test]
    fn nothing_is_no_line() {
        assert_eq!(Table::new([Column::words("")]).text(), "");
    }
}
