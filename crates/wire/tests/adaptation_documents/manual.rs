//! The tables of octets, as the manual has them.

use gannet_wire::adaptation::{FieldLayout, Form, HEADER_LEN, MessageLayout, TABLE, Tail, Way};
use std::fmt::Write as _;

pub const BEGIN: &str = "<!-- The tables from here are made from the code. -->\n";
pub const END: &str = "<!-- End of these tables. -->\n";

fn octets(at: usize, len: usize) -> String {
    if len == 1 { at.to_string() } else { format!("{at} to {}", at + len - 1) }
}

/// What a field is, with the values that it can have.
fn meaning(field: &FieldLayout) -> String {
    let values = match field.form {
        Form::Names(names) => {
            names().iter().map(|(octet, name)| format!("{octet}: {name}")).collect::<Vec<_>>().join("; ")
        }
        Form::Flags(flags) => {
            flags.iter().map(|(bit, _, text)| format!("{bit:#04x}: {text}")).collect::<Vec<_>>().join("; ")
        }
        Form::Identity => {
            "The first octet is 0: four octets of P-TMSI and four of zeros; or 1: eight octets of IMSI as TBCD"
                .to_owned()
        }
        Form::Unsigned
        | Form::Hexadecimal
        | Form::Level
        | Form::Load
        | Form::Octets
        | Form::Rai
        | Form::Cell => return field.text.to_owned(),
    };
    format!("{} {values}", field.text)
}

fn message(out: &mut String, message: &MessageLayout) {
    let way = match message.way {
        Way::Down => "the access point",
        Way::Up => "a mobile",
        Way::Both => "both",
    };
    let (number, title, text) = (message.kind.number(), message.title, message.text);
    write!(out, "\n### Type {number}: {title}\n\n{text} Sent by {way}.\n\n").unwrap();
    out.push_str("| octets | field | meaning |\n|---|---|---|\n");
    let mut at = HEADER_LEN;
    for field in message.fields {
        writeln!(out, "| {} | {} | {} |", octets(at, field.len), field.title, meaning(field)).unwrap();
        at += field.len;
    }
    match message.tail {
        Tail::None => {}
        Tail::LlPdu => writeln!(out, "| {at} to the end | LL-PDU | at least one octet |").unwrap(),
        Tail::Options => {
            let text = "each: tag (1), length (1), value; tag 1 is a name in UTF-8, 1 to 32 octets";
            writeln!(out, "| {at} to the end | Options | {text} |").unwrap();
        }
        Tail::Padding => writeln!(out, "| {at} to the end | Padding | zeros |").unwrap(),
    }
}

pub fn text() -> String {
    let mut all: Vec<&MessageLayout> = TABLE.iter().collect();
    all.sort_by_key(|layout| layout.kind.number());
    let mut out = String::new();
    all.into_iter().for_each(|layout| message(&mut out, layout));
    out.push('\n');
    out
}
