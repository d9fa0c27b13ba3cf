//! How wide text is, about: the widths of a wide sans-serif font, since no font comes with a figure.

/// Width of text in px; bold text is a tenth wider.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | '\'' | '|' | '!' | '.' | ',' | ':' | ';' | ' ' | '·' => 0.32,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '/' | '-' | '"' => 0.41,
        'm' | 'M' | 'W' | '%' | '@' | '—' => 0.96,
        'w' | 'N' | 'G' | 'O' | 'Q' | 'D' | 'H' | 'U' | '×' | '+' | '=' | '<' | '>' | '±' | '→' | '↑' => {
            0.83
        }
        'A'..='Z' | '0'..='9' => 0.66,
        _ => 0.61,
    };
    text.chars().map(em).sum::<f64>() * size
}

/// Lines that are no wider than `most` px; a word that is stands alone.
pub(crate) fn wrapped(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(" ", size) + width(word, size) <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// With what XML reads otherwise written as entities.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
