//! The dissector in Lua.

use gannet_wire::adaptation::{
    ETHERTYPE, FLAG_AUTHENTICATED, FLAG_SEGMENT, FieldLayout, Form, HEADER_LEN, Identity, Level, Load,
    MAC_LEN, MessageLayout, SEGMENT_LEN, TABLE, TRAILER_LEN, Tail, UDP_PORT, VERSION, tag,
};
use std::fmt::Write as _;

const PREFIX: &str = "gannet_adaptation";

const HEAD: &str = r#"-- The adaptation protocol of Gannet, for Wireshark and tshark:
--   tshark -X lua_script:gannet-adaptation.lua -r FILE
-- Made from the table of messages in gannet_wire::adaptation; docs/bearer-adaptation.md says what all of it means.

local protocol = Proto("gannet_adaptation", "Gannet adaptation protocol")
local fields = {}
"#;

/// What the code of the dissector is like whatever messages there are.
const CODE: &str = r#"
local function digits(first, second)
  return string.format("%x%x%x", first % 16, math.floor(first / 16), second % 16)
end

-- MCC and MNC (04.08 clause 10.5.5.15).
local function plmn(octets)
  local a, b, c = octets(0, 1):uint(), octets(1, 1):uint(), octets(2, 1):uint()
  local mnc = string.format("%x%x", c % 16, math.floor(c / 16))
  if b < 0xf0 then mnc = mnc .. string.format("%x", math.floor(b / 16)) end
  return digits(a, b), mnc
end

local function tbcd(octets)
  local text = ""
  for at = 0, octets:len() - 1 do
    local octet = octets(at, 1):uint()
    for _, digit in ipairs({ octet % 16, math.floor(octet / 16) }) do
      if digit < 10 then text = text .. digit end
    end
  end
  return text
end

local show = {}

function show.plain(tree, name, octets)
  tree:add(fields[name], octets)
end

function show.flags(tree, name, octets, bits)
  local below = tree:add(fields[name], octets)
  for _, bit in ipairs(bits) do below:add(fields[name .. "." .. bit], octets) end
end

function show.rai(tree, name, octets)
  local mcc, mnc = plmn(octets)
  tree:add(fields[name .. ".mcc"], octets(0, 3), mcc)
  tree:add(fields[name .. ".mnc"], octets(0, 3), mnc)
  tree:add(fields[name .. ".lac"], octets(3, 2))
  tree:add(fields[name .. ".rac"], octets(5, 1))
end

function show.cell(tree, name, octets)
  show.rai(tree, name, octets)
  tree:add(fields[name .. ".ci"], octets(6, 2))
end

function show.identity(tree, name, octets)
  tree:add(fields[name .. ".kind"], octets(0, 1))
  if octets(0, 1):uint() == IDENTITY_PTMSI then
    tree:add(fields[name .. ".ptmsi"], octets(1, 4))
  else
    tree:add(fields[name .. ".imsi"], octets(1, 8), tbcd(octets(1, 8)))
  end
end

local tails = {}

function tails.options(tree, octets)
  local at = 0
  while at + 2 <= octets:len() do
    local kind, length = octets(at, 1):uint(), octets(at + 1, 1):uint()
    if at + 2 + length > octets:len() then return false end
    if kind == TAG_NAME and length > 0 then
      tree:add_packet_field(fields["option.name"], octets(at + 2, length), ENC_UTF_8)
    else
      tree:add(fields["option.unknown"], octets(at, 2 + length))
    end
    at = at + 2 + length
  end
  return at == octets:len()
end

function tails.padding(tree, octets)
  tree:add(fields["padding"], octets)
  return true
end

local short = ProtoExpert.new("gannet_adaptation.short", "Not as long as it says", expert.group.MALFORMED, expert.severity.ERROR)
protocol.experts = { short }

-- What a message of this type has between its header and its trailer.
local function dissect_message(octets, tree, message)
  local at = 0
  for _, item in ipairs(message.items) do
    if at + item.len > octets:len() then return false end
    show[item.form](tree, item.name, octets(at, item.len), item.bits)
    at = at + item.len
  end
  if at == octets:len() then return true end
  local tail = tails[message.tail]
  return tail ~= nil and tail(tree, octets(at))
end

function protocol.dissector(buffer, pinfo, root)
  if buffer:len() < HEADER_LEN then return 0 end
  local first = buffer(0, 1):uint()
  if math.floor(first / 32) ~= VERSION then return 0 end
  pinfo.cols.protocol = "ADAPTATION"
  local flags, length = buffer(1, 1):uint(), buffer(2, 2):uint()
  local is_segment = flags >= FLAG_SEGMENT
  local is_authenticated = math.floor(flags / FLAG_AUTHENTICATED) % 2 == 1
  local finish = HEADER_LEN + length
  local whole = finish + (is_authenticated and TRAILER_LEN or 0)
  local tree = root:add(protocol, buffer(0, math.min(whole, buffer:len())))
  tree:add(fields["version"], buffer(0, 1))
  tree:add(fields["type"], buffer(0, 1))
  tree:add(fields["segment"], buffer(1, 1))
  tree:add(fields["authenticated"], buffer(1, 1))
  tree:add(fields["length"], buffer(2, 2))
  tree:add(fields["tlli"], buffer(4, 4))
  local start = HEADER_LEN
  if is_segment then start = start + SEGMENT_LEN end
  local message = messages[first % 32]
  if message == nil or whole > buffer:len() or start > finish then
    tree:add_proto_expert_info(short)
    return buffer:len()
  end
  pinfo.cols.info = message.title
  if is_segment then
    tree:add(fields["segment.datagram"], buffer(HEADER_LEN, 2))
    tree:add(fields["segment.last"], buffer(HEADER_LEN + 2, 1))
    tree:add(fields["segment.number"], buffer(HEADER_LEN + 2, 1))
  end
  if is_authenticated then
    tree:add(fields["trailer.session"], buffer(finish, 4))
    tree:add(fields["trailer.packet"], buffer(finish + 4, 8))
    tree:add(fields["trailer.mac"], buffer(finish + 12, MAC_LEN))
  end
  if message.tail == "ll_pdu" then
    if start == finish then
      tree:add_proto_expert_info(short)
    elseif is_segment then
      tree:add(fields["piece"], buffer(start, finish - start))
    else
      Dissector.get("llcgprs"):call(buffer(start, finish - start):tvb(), pinfo, root)
    end
  elseif start == finish then
    if #message.items > 0 then tree:add_proto_expert_info(short) end
  elseif not dissect_message(buffer(start, finish - start), tree, message) then
    tree:add_proto_expert_info(short)
  end
  return whole
end

DissectorTable.get("ethertype"):add(ETHERTYPE, protocol)
DissectorTable.get("udp.port"):add(UDP_PORT, protocol)
"#;

fn define(out: &mut String, kind: &str, name: &str, title: &str, rest: &str) {
    writeln!(out, "fields[\"{name}\"] = ProtoField.{kind}(\"{PREFIX}.{name}\", \"{title}\"{rest})").unwrap();
}

fn of_area(out: &mut String, name: &str, title: &str, has_cell: bool) {
    define(out, "string", &format!("{name}.mcc"), &format!("{title}: MCC"), "");
    define(out, "string", &format!("{name}.mnc"), &format!("{title}: MNC"), "");
    define(out, "uint16", &format!("{name}.lac"), &format!("{title}: location area code"), ", base.DEC");
    define(out, "uint8", &format!("{name}.rac"), &format!("{title}: routing area code"), ", base.DEC");
    if has_cell {
        define(out, "uint16", &format!("{name}.ci"), &format!("{title}: cell identity"), ", base.DEC");
    }
}

/// The fields of Wireshark for one of ours, and how it is shown.
fn field(out: &mut String, name: &str, field: &FieldLayout) -> (&'static str, String) {
    let (title, unsigned) = (field.title, format!("uint{}", field.len * 8));
    match field.form {
        Form::Unsigned => define(out, &unsigned, name, title, ", base.DEC"),
        Form::Hexadecimal => define(out, &unsigned, name, title, ", base.HEX"),
        Form::Octets => define(out, "bytes", name, title, ""),
        Form::Level => {
            let unknown = format!(", base.DEC, {{ [{}] = \"not known\" }}", Level::UNKNOWN);
            define(out, "int8", name, title, &unknown);
        }
        Form::Load => {
            let unknown = format!(", base.DEC, {{ [{}] = \"not known\" }}", Load::UNKNOWN);
            define(out, "uint8", name, title, &unknown);
        }
        Form::Names(names) => {
            let names: Vec<String> = names().iter().map(|(o, name)| format!("[{o}] = \"{name}\"")).collect();
            define(out, "uint8", name, title, &format!(", base.DEC, {{ {} }}", names.join(", ")));
        }
        Form::Flags(flags) => {
            define(out, "uint8", name, title, ", base.HEX");
            for (bit, short, text) in flags {
                let mask = format!(", 8, nil, {bit:#04x}");
                define(out, "bool", &format!("{name}.{short}"), text, &mask);
            }
            let bits: Vec<String> = flags.iter().map(|(_, short, _)| format!("\"{short}\"")).collect();
            return ("flags", format!(", bits = {{ {} }}", bits.join(", ")));
        }
        Form::Rai | Form::Cell => {
            let has_cell = matches!(field.form, Form::Cell);
            of_area(out, name, title, has_cell);
            return (if has_cell { "cell" } else { "rai" }, String::new());
        }
        Form::Identity => {
            let kinds = format!(
                ", base.DEC, {{ [{}] = \"P-TMSI\", [{}] = \"IMSI\" }}",
                Identity::PTMSI,
                Identity::IMSI
            );
            define(out, "uint8", &format!("{name}.kind"), title, &kinds);
            define(out, "uint32", &format!("{name}.ptmsi"), "P-TMSI", ", base.HEX");
            define(out, "string", &format!("{name}.imsi"), "IMSI", "");
            return ("identity", String::new());
        }
    }
    ("plain", String::new())
}

fn message(fields: &mut String, messages: &mut String, layout: &MessageLayout) {
    let tail = match layout.tail {
        Tail::None => "none",
        Tail::LlPdu => "ll_pdu",
        Tail::Options => "options",
        Tail::Padding => "padding",
    };
    let (number, title) = (layout.kind.number(), layout.title);
    writeln!(messages, "  [{number}] = {{ title = \"{title}\", tail = \"{tail}\", items = {{").unwrap();
    for of in layout.fields {
        let name = format!("{}.{}", layout.name, of.name);
        let (form, more) = field(fields, &name, of);
        let len = of.len;
        writeln!(messages, "    {{ name = \"{name}\", form = \"{form}\", len = {len}{more} }},").unwrap();
    }
    messages.push_str("  } },\n");
}

fn fields_of_the_header(out: &mut String, titles: &str) {
    define(out, "uint8", "version", "Version", ", base.DEC, nil, 0xe0");
    define(out, "uint8", "type", "Type", &format!(", base.DEC, {{ {titles} }}, 0x1f"));
    define(out, "bool", "segment", "A piece of an LL-PDU", &format!(", 8, nil, {FLAG_SEGMENT:#04x}"));
    define(out, "bool", "authenticated", "Authenticated", &format!(", 8, nil, {FLAG_AUTHENTICATED:#04x}"));
    define(out, "uint16", "length", "Length", ", base.DEC");
    define(out, "uint32", "tlli", "TLLI", ", base.HEX");
    define(out, "uint16", "segment.datagram", "LL-PDU", ", base.DEC");
    define(out, "bool", "segment.last", "Last piece", ", 8, nil, 0x80");
    define(out, "uint8", "segment.number", "Piece", ", base.DEC, nil, 0x7f");
    define(out, "bytes", "piece", "Piece of an LL-PDU", "");
    define(out, "bytes", "padding", "Padding", "");
    define(out, "string", "option.name", "Name of the access point", "");
    define(out, "bytes", "option.unknown", "Unknown option", "");
    define(out, "uint32", "trailer.session", "Session or key", ", base.HEX");
    define(out, "uint64", "trailer.packet", "Packet number", ", base.DEC");
    define(out, "bytes", "trailer.mac", "MAC", "");
}

pub fn text() -> String {
    let mut all: Vec<&MessageLayout> = TABLE.iter().collect();
    all.sort_by_key(|layout| layout.kind.number());
    let titles: Vec<String> =
        all.iter().map(|of| format!("[{}] = \"{}\"", of.kind.number(), of.title)).collect();
    let (mut fields, mut messages) = (String::new(), String::new());
    fields_of_the_header(&mut fields, &titles.join(", "));
    all.into_iter().for_each(|layout| message(&mut fields, &mut messages, layout));
    let mut constants = String::new();
    for (name, value) in [
        ("VERSION", usize::from(VERSION)),
        ("HEADER_LEN", HEADER_LEN),
        ("SEGMENT_LEN", SEGMENT_LEN),
        ("TRAILER_LEN", TRAILER_LEN),
        ("MAC_LEN", MAC_LEN),
        ("FLAG_SEGMENT", FLAG_SEGMENT.into()),
        ("FLAG_AUTHENTICATED", FLAG_AUTHENTICATED.into()),
        ("IDENTITY_PTMSI", Identity::PTMSI.into()),
        ("TAG_NAME", tag::NAME.into()),
        ("ETHERTYPE", ETHERTYPE.into()),
        ("UDP_PORT", UDP_PORT.into()),
    ] {
        writeln!(constants, "local {name} = {value}").unwrap();
    }
    let parts = [HEAD, &constants, "\n", &fields, "protocol.fields = fields\n", "\nlocal messages = {\n"];
    [&parts.concat(), &messages, "}\n", CODE].concat()
}
