//! What makes a figure readable, measured on its SVG text.

use crate::{CURVES_MAX, text};
use std::collections::BTreeSet;

/// Where a reader sees a figure, and the smallest text there, in px.
const WIDTH: f64 = 800.0;
const TEXT_MIN: f64 = 12.0;
/// Contrast with the background of text and of lines (WCAG 2.1, 1.4.3 and 1.4.11).
const TEXT_CONTRAST: f64 = 4.5;
const LINE_CONTRAST: f64 = 3.0;

/// An element: its name, its attributes as they stand, and the text after it.
struct Element<'a> {
    tag: &'a str,
    attributes: &'a str,
    text: &'a str,
}

impl<'a> Element<'a> {
    fn all(svg: &'a str) -> impl Iterator<Item = Self> {
        svg.split('<').skip(1).filter_map(|piece| {
            let (inner, text) = piece.split_once('>')?;
            let (tag, attributes) = inner.split_once(char::is_whitespace).unwrap_or((inner, ""));
            Some(Self { tag, attributes, text: text.trim() })
        })
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        let (before, after) = self.attributes.split_once(&format!("{name}=\""))?;
        (before.is_empty() || before.ends_with(char::is_whitespace)).then_some(())?;
        after.split_once('"').map(|(value, _)| value)
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.get(name)?.parse().ok()
    }
}

/// Luminance of `#rrggbb` (WCAG 2.1).
fn luminance(colour: &str) -> Option<f64> {
    let channel = |at: usize| {
        let part =
            f64::from(u8::from_str_radix(colour.strip_prefix('#')?.get(at..at + 2)?, 16).ok()?) / 255.0;
        Some(if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) })
    };
    Some(0.2126 * channel(0)? + 0.7152 * channel(2)? + 0.0722 * channel(4)?)
}

fn contrast_with_white(colour: &str) -> Result<f64, String> {
    let of = luminance(colour).ok_or_else(|| format!("'{colour}' is no colour"))?;
    Ok(1.05 / (of + 0.05))
}

/// Says what makes a figure hard to read.
///
/// # Errors
/// The first of it, in a sentence.
pub fn legible(svg: &str) -> Result<(), String> {
    let root = Element::all(svg).find(|element| element.tag == "svg").ok_or("no SVG")?;
    let (Some(width), Some(height)) = (root.number("width"), root.number("height")) else {
        return Err("no size".to_owned());
    };
    texts(svg, (width, height))?;
    background(svg, (width, height))?;
    let panels: Vec<&str> = svg.split("<g class=\"panel\">").skip(1).collect();
    if panels.is_empty() {
        return Err("no panel".to_owned());
    }
    panels.into_iter().try_for_each(series)
}

/// Every text is large enough, dark enough, within the figure, and on no other.
fn texts(svg: &str, (width, height): (f64, f64)) -> Result<(), String> {
    let mut boxes: Vec<([f64; 4], &str)> = Vec::new();
    for element in Element::all(svg).filter(|element| element.tag == "text") {
        let said = element.text;
        let size = element.number("font-size").ok_or_else(|| format!("'{said}' has no size"))?;
        let seen = size * WIDTH / width;
        if seen < TEXT_MIN {
            return Err(format!("'{said}' has {seen:.1} px where the figure has {WIDTH} px"));
        }
        let contrast = contrast_with_white(element.get("fill").unwrap_or("#000000"))?;
        if contrast < TEXT_CONTRAST {
            return Err(format!("'{said}' has a contrast of {contrast:.1}"));
        }
        let (x, y) = (element.number("x").unwrap_or(0.0), element.number("y").unwrap_or(0.0));
        let wide = text::width(&said.replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"), size);
        let left = match element.get("text-anchor") {
            Some("middle") => x - wide / 2.0,
            Some("end") => x - wide,
            _ => x,
        };
        let here = [left, y - size * 0.75, left + wide, y];
        if here[0] < 0.0 || here[1] < 0.0 || here[2] > width || here[3] > height {
            return Err(format!("'{said}' leaves the figure"));
        }
        let meets = |other: &[f64; 4]| {
            here[0] < other[2] && other[0] < here[2] && here[1] < other[3] && other[1] < here[3]
        };
        if let Some((_, other)) = boxes.iter().find(|(other, _)| meets(other)) {
            return Err(format!("'{said}' stands on '{other}'"));
        }
        boxes.push((here, said));
    }
    Ok(())
}

/// The first shape is a white rectangle as large as the figure, so that the page's own colour does not matter.
fn background(svg: &str, (width, height): (f64, f64)) -> Result<(), String> {
    let first = Element::all(svg).find(|element| !["svg", "title", "/title"].contains(&element.tag));
    let covers = first.is_some_and(|element| {
        let whole = (element.number("width"), element.number("height")) == (Some(width), Some(height));
        element.tag == "rect"
            && whole
            && element.get("fill") == Some("#ffffff")
            && element.get("opacity").is_none()
    });
    if covers { Ok(()) } else { Err("no background of its own".to_owned()) }
}

/// A panel's curves are few, dark enough, and told apart by marks, and by colour or dashes as well.
fn series(panel: &str) -> Result<(), String> {
    let (mut marks, mut looks) = (BTreeSet::new(), BTreeSet::new());
    let all: Vec<&str> = panel.split("<g class=\"series\"").skip(1).collect();
    if all.len() > CURVES_MAX {
        return Err(format!("{} series in a panel", all.len()));
    }
    for one in all {
        let one = one.split("</g>").next().unwrap_or(one);
        let is_bar = |element: &Element<'_>| element.get("height").is_some();
        if let Some(bar) = Element::all(one).find(is_bar) {
            // Bars are told apart by their colour and by their order, which is that of the legend.
            let fill = bar.get("fill").unwrap_or("none");
            let contrast = contrast_with_white(fill)?;
            if contrast < LINE_CONTRAST || !looks.insert((fill, Some("bar"))) {
                return Err(format!(
                    "bars of {fill} cannot be told apart, or have a contrast of {contrast:.1}"
                ));
            }
            continue;
        }
        let line = Element::all(one).find(|element| element.get("clip-path").is_some()).ok_or("no line")?;
        let stroke = line.get("stroke").unwrap_or("none");
        let contrast = contrast_with_white(stroke)?;
        if contrast < LINE_CONTRAST {
            return Err(format!("{stroke} has a contrast of {contrast:.1}"));
        }
        if !looks.insert((stroke, line.get("stroke-dasharray"))) {
            return Err(format!("two series with the same line of {stroke}"));
        }
        let mark = Element::all(one).find(|element| element.get("class") == Some("mark"));
        let shape = mark.map(|mark| (mark.get("d"), mark.get("fill") == Some("#ffffff")));
        if shape.is_some_and(|shape| !marks.insert(shape)) {
            return Err("two series with the same mark".to_owned());
        }
    }
    Ok(())
}
