//! One line and those before it: what keys do to it, and the octets that show it on a terminal.

use super::telnet::Key;
use crate::grammar::secrets::has_key;
use std::collections::VecDeque;

/// Characters of a line.
pub const LINE_MAX: usize = 1024;
/// Lines that are remembered.
pub const HISTORY_MAX: usize = 32;

/// A line while it is typed.
#[derive(Debug, Clone, Default)]
pub struct LineEditor {
    line: Vec<u8>,
    cursor: usize,
    history: VecDeque<String>,
    /// How far back one has gone; 0 is the line itself.
    back: usize,
}

impl LineEditor {
    /// What stands before the cursor.
    #[must_use]
    pub fn before_cursor(&self) -> String {
        String::from_utf8_lossy(self.line.get(..self.cursor).unwrap_or(&self.line)).into_owned()
    }

    /// Whether nothing was typed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.line.is_empty()
    }

    /// The lines that are remembered, the oldest first.
    pub fn history(&self) -> impl Iterator<Item = &str> + '_ {
        self.history.iter().map(String::as_str)
    }

    /// Ends the line, remembers it unless it has a key in it, and gives it.
    pub fn take(&mut self) -> String {
        let line = String::from_utf8_lossy(&self.line).into_owned();
        if !line.trim().is_empty() && !has_key(&line) && self.history.back() != Some(&line) {
            if self.history.len() == HISTORY_MAX {
                self.history.pop_front();
            }
            self.history.push_back(line.clone());
        }
        self.forget();
        line
    }

    /// Forgets the line.
    pub fn forget(&mut self) {
        self.line.clear();
        self.cursor = 0;
        self.back = 0;
    }

    /// Types text at the cursor.
    pub fn insert(&mut self, text: &str, out: &mut Vec<u8>) {
        for octet in text.bytes().filter(|octet| matches!(octet, 0x20..=0x7e)) {
            self.key(Key::Char(octet), out);
        }
    }

    /// Draws the line again behind a prompt that was just written.
    pub fn draw(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.line);
        left(self.line.len() - self.cursor, out);
    }

    /// Does what a key that edits says; false where it does not edit.
    pub fn key(&mut self, key: Key, out: &mut Vec<u8>) -> bool {
        match key {
            Key::Char(octet) => {
                if self.line.len() < LINE_MAX {
                    self.line.insert(self.cursor, octet);
                    out.extend_from_slice(self.line.get(self.cursor..).unwrap_or_default());
                    self.cursor += 1;
                    left(self.line.len() - self.cursor, out);
                }
            }
            Key::Backspace => self.remove(self.cursor.saturating_sub(1), self.cursor, out),
            Key::Delete => self.remove(self.cursor, (self.cursor + 1).min(self.line.len()), out),
            Key::KillToStart => self.remove(0, self.cursor, out),
            Key::KillToEnd => self.remove(self.cursor, self.line.len(), out),
            Key::KillWord => {
                let before = self.line.get(..self.cursor).unwrap_or_default();
                let word = before.trim_ascii_end();
                let start = word.iter().rposition(|octet| *octet == b' ').map_or(0, |blank| blank + 1);
                self.remove(start, self.cursor, out);
            }
            Key::Left => self.go(self.cursor.saturating_sub(1), out),
            Key::Right => self.go((self.cursor + 1).min(self.line.len()), out),
            Key::Home => self.go(0, out),
            Key::End => self.go(self.line.len(), out),
            Key::Up if self.back < self.history.len() => self.recall(self.back + 1, out),
            Key::Down if self.back > 0 => self.recall(self.back - 1, out),
            Key::Up | Key::Down => {}
            _ => return false,
        }
        true
    }

    fn remove(&mut self, from: usize, to: usize, out: &mut Vec<u8>) {
        if from >= to {
            return;
        }
        self.go(from, out);
        self.line.drain(from..to);
        let rest = self.line.get(from..).unwrap_or_default();
        out.extend_from_slice(rest);
        out.extend(core::iter::repeat_n(b' ', to - from));
        left(rest.len() + to - from, out);
    }

    fn go(&mut self, to: usize, out: &mut Vec<u8>) {
        if to < self.cursor {
            left(self.cursor - to, out);
        } else {
            out.extend_from_slice(self.line.get(self.cursor..to).unwrap_or_default());
        }
        self.cursor = to;
    }

    fn recall(&mut self, back: usize, out: &mut Vec<u8>) {
        let place = self.history.len().checked_sub(back);
        let line = place.and_then(|place| self.history.get(place)).cloned().unwrap_or_default();
        self.go(self.line.len(), out);
        self.remove(0, self.line.len(), out);
        self.insert(&line, out);
        self.back = back;
    }
}

fn left(columns: usize, out: &mut Vec<u8>) {
    out.extend(core::iter::repeat_n(0x08, columns));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a terminal of one line shows.
    fn shown(octets: &[u8]) -> String {
        let mut line: Vec<u8> = Vec::new();
        let mut column = 0;
        for octet in octets {
            if *octet == 0x08 {
                column -= 1;
                continue;
            }
            if column == line.len() {
                line.push(*octet);
            } else {
                line[column] = *octet;
            }
            column += 1;
        }
        String::from_utf8(line).unwrap().trim_end().to_owned()
    }

    #[test]
    fn the_terminal_shows_the_line() {
        let mut editor = LineEditor::default();
        let mut out = Vec::new();
        editor.insert("show runing", &mut out);
        for key in [Key::Left, Key::Left, Key::Left, Key::Char(b'n'), Key::Home, Key::Delete, Key::Char(b'S')]
        {
            editor.key(key, &mut out);
        }
        assert_eq!(shown(&out), "Show running");
        editor.key(Key::End, &mut out);
        editor.key(Key::KillWord, &mut out);
        assert_eq!(shown(&out), "Show");
        editor.key(Key::KillToStart, &mut out);
        assert_eq!(shown(&out), "");
        assert!(editor.is_empty());
    }

    #[test]
    fn history_comes_back() {
        let mut editor = LineEditor::default();
        let mut out = Vec::new();
        for line in ["one", "two", "two", "  "] {
            editor.insert(line, &mut out);
            editor.take();
        }
        assert_eq!(editor.history().collect::<Vec<_>>(), ["one", "two"]);
        for (key, line) in
            [(Key::Up, "two"), (Key::Up, "one"), (Key::Up, "one"), (Key::Down, "two"), (Key::Down, "")]
        {
            editor.key(key, &mut out);
            assert_eq!(editor.before_cursor(), line);
        }
    }

    #[test]
    fn no_key_is_remembered() {
        let mut editor = LineEditor::default();
        for line in ["bss", "sim comp128v1 ki 000102030405060708090a0b0c0d0e0f", "sim comp128v1 ki 0001"] {
            editor.insert(line, &mut Vec::new());
            assert_eq!(editor.take(), line);
        }
        assert_eq!(editor.history().collect::<Vec<_>>(), ["bss"]);
    }

    #[test]
    fn lines_and_history_are_bounded() {
        let mut editor = LineEditor::default();
        for number in 0..2 * HISTORY_MAX {
            editor.insert(&format!("{number:.<width$}", width = 2 * LINE_MAX), &mut Vec::new());
            assert_eq!(editor.take().len(), LINE_MAX);
            editor.insert(&number.to_string(), &mut Vec::new());
            editor.take();
        }
        assert_eq!(editor.history().count(), HISTORY_MAX);
    }
}
