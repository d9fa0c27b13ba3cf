-- The adaptation protocol of Gannet, for Wireshark and tshark:
--   tshark -X lua_script:gannet-adaptation.lua -r FILE
-- Made from the table of messages in gannet_wire::adaptation; docs/bearer-adaptation.md says what all of it means.

local protocol = Proto("gannet_adaptation", "Gannet adaptation protocol")
local fields = {}
local VERSION = 1
local HEADER_LEN = 8
local SEGMENT_LEN = 4
local TRAILER_LEN = 28
local MAC_LEN = 16
local FLAG_SEGMENT = 128
local FLAG_AUTHENTICATED = 64
local IDENTITY_PTMSI = 0
local TAG_NAME = 1
local ETHERTYPE = 34997
local UDP_PORT = 34997

fields["version"] = ProtoField.uint8("gannet_adaptation.version", "Version", base.DEC, nil, 0xe0)
fields["type"] = ProtoField.uint8("gannet_adaptation.type", "Type", base.DEC, { [1] = "LL-PDU", [2] = "Beacon", [3] = "Solicit", [4] = "Reachable", [5] = "Link quality report", [6] = "Probe", [7] = "Probe answer", [8] = "Paging for packet services", [9] = "Paging for circuit-switched services", [10] = "Suspend", [11] = "Suspend acknowledgement", [12] = "Resume", [13] = "Release", [14] = "Hello", [15] = "Welcome" }, 0x1f)
fields["segment"] = ProtoField.bool("gannet_adaptation.segment", "A piece of an LL-PDU", 8, nil, 0x80)
fields["authenticated"] = ProtoField.bool("gannet_adaptation.authenticated", "Authenticated", 8, nil, 0x40)
fields["length"] = ProtoField.uint16("gannet_adaptation.length", "Length", base.DEC)
fields["tlli"] = ProtoField.uint32("gannet_adaptation.tlli", "TLLI", base.HEX)
fields["segment.datagram"] = ProtoField.uint16("gannet_adaptation.segment.datagram", "LL-PDU", base.DEC)
fields["segment.last"] = ProtoField.bool("gannet_adaptation.segment.last", "Last piece", 8, nil, 0x80)
fields["segment.number"] = ProtoField.uint8("gannet_adaptation.segment.number", "Piece", base.DEC, nil, 0x7f)
fields["piece"] = ProtoField.bytes("gannet_adaptation.piece", "Piece of an LL-PDU")
fields["padding"] = ProtoField.bytes("gannet_adaptation.padding", "Padding")
fields["option.name"] = ProtoField.string("gannet_adaptation.option.name", "Name of the access point")
fields["option.unknown"] = ProtoField.bytes("gannet_adaptation.option.unknown", "Unknown option")
fields["trailer.session"] = ProtoField.uint32("gannet_adaptation.trailer.session", "Session or key", base.HEX)
fields["trailer.packet"] = ProtoField.uint64("gannet_adaptation.trailer.packet", "Packet number", base.DEC)
fields["trailer.mac"] = ProtoField.bytes("gannet_adaptation.trailer.mac", "MAC")
fields["beacon.cell.mcc"] = ProtoField.string("gannet_adaptation.beacon.cell.mcc", "Cell: MCC")
fields["beacon.cell.mnc"] = ProtoField.string("gannet_adaptation.beacon.cell.mnc", "Cell: MNC")
fields["beacon.cell.lac"] = ProtoField.uint16("gannet_adaptation.beacon.cell.lac", "Cell: location area code", base.DEC)
fields["beacon.cell.rac"] = ProtoField.uint8("gannet_adaptation.beacon.cell.rac", "Cell: routing area code", base.DEC)
fields["beacon.cell.ci"] = ProtoField.uint16("gannet_adaptation.beacon.cell.ci", "Cell: cell identity", base.DEC)
fields["beacon.boot"] = ProtoField.uint64("gannet_adaptation.beacon.boot", "Boot", base.HEX)
fields["beacon.interval_ms"] = ProtoField.uint16("gannet_adaptation.beacon.interval_ms", "Interval", base.DEC)
fields["beacon.ll_pdu_max"] = ProtoField.uint16("gannet_adaptation.beacon.ll_pdu_max", "Longest LL-PDU", base.DEC)
fields["beacon.mode"] = ProtoField.uint8("gannet_adaptation.beacon.mode", "Network mode of operation", base.DEC, { [1] = "I", [2] = "II", [3] = "III" })
fields["beacon.load"] = ProtoField.uint8("gannet_adaptation.beacon.load", "Load", base.DEC, { [255] = "not known" })
fields["beacon.flags"] = ProtoField.uint8("gannet_adaptation.beacon.flags", "Flags", base.HEX)
fields["beacon.flags.authentication"] = ProtoField.bool("gannet_adaptation.beacon.flags.authentication", "Authentication is demanded", 8, nil, 0x80)
fields["beacon.flags.in_service"] = ProtoField.bool("gannet_adaptation.beacon.flags.in_service", "The cell is in service", 8, nil, 0x40)
fields["reachable.cell.mcc"] = ProtoField.string("gannet_adaptation.reachable.cell.mcc", "Cell: MCC")
fields["reachable.cell.mnc"] = ProtoField.string("gannet_adaptation.reachable.cell.mnc", "Cell: MNC")
fields["reachable.cell.lac"] = ProtoField.uint16("gannet_adaptation.reachable.cell.lac", "Cell: location area code", base.DEC)
fields["reachable.cell.rac"] = ProtoField.uint8("gannet_adaptation.reachable.cell.rac", "Cell: routing area code", base.DEC)
fields["reachable.cell.ci"] = ProtoField.uint16("gannet_adaptation.reachable.cell.ci", "Cell: cell identity", base.DEC)
fields["link_report.sent"] = ProtoField.uint32("gannet_adaptation.link_report.sent", "Sent", base.DEC)
fields["link_report.received"] = ProtoField.uint32("gannet_adaptation.link_report.received", "Received", base.DEC)
fields["link_report.level"] = ProtoField.int8("gannet_adaptation.link_report.level", "Level", base.DEC, { [127] = "not known" })
fields["probe.token"] = ProtoField.uint64("gannet_adaptation.probe.token", "Token", base.HEX)
fields["probe_answer.token"] = ProtoField.uint64("gannet_adaptation.probe_answer.token", "Token", base.HEX)
fields["paging_ps.identity.kind"] = ProtoField.uint8("gannet_adaptation.paging_ps.identity.kind", "Identity", base.DEC, { [0] = "P-TMSI", [1] = "IMSI" })
fields["paging_ps.identity.ptmsi"] = ProtoField.uint32("gannet_adaptation.paging_ps.identity.ptmsi", "P-TMSI", base.HEX)
fields["paging_ps.identity.imsi"] = ProtoField.string("gannet_adaptation.paging_ps.identity.imsi", "IMSI")
fields["paging_cs.identity.kind"] = ProtoField.uint8("gannet_adaptation.paging_cs.identity.kind", "Identity", base.DEC, { [0] = "P-TMSI", [1] = "IMSI" })
fields["paging_cs.identity.ptmsi"] = ProtoField.uint32("gannet_adaptation.paging_cs.identity.ptmsi", "P-TMSI", base.HEX)
fields["paging_cs.identity.imsi"] = ProtoField.string("gannet_adaptation.paging_cs.identity.imsi", "IMSI")
fields["suspend.rai.mcc"] = ProtoField.string("gannet_adaptation.suspend.rai.mcc", "Routing area: MCC")
fields["suspend.rai.mnc"] = ProtoField.string("gannet_adaptation.suspend.rai.mnc", "Routing area: MNC")
fields["suspend.rai.lac"] = ProtoField.uint16("gannet_adaptation.suspend.rai.lac", "Routing area: location area code", base.DEC)
fields["suspend.rai.rac"] = ProtoField.uint8("gannet_adaptation.suspend.rai.rac", "Routing area: routing area code", base.DEC)
fields["suspend_ack.reference"] = ProtoField.uint8("gannet_adaptation.suspend_ack.reference", "Suspend reference number", base.DEC)
fields["resume.rai.mcc"] = ProtoField.string("gannet_adaptation.resume.rai.mcc", "Routing area: MCC")
fields["resume.rai.mnc"] = ProtoField.string("gannet_adaptation.resume.rai.mnc", "Routing area: MNC")
fields["resume.rai.lac"] = ProtoField.uint16("gannet_adaptation.resume.rai.lac", "Routing area: location area code", base.DEC)
fields["resume.rai.rac"] = ProtoField.uint8("gannet_adaptation.resume.rai.rac", "Routing area: routing area code", base.DEC)
fields["resume.reference"] = ProtoField.uint8("gannet_adaptation.resume.reference", "Suspend reference number", base.DEC)
fields["release.cause"] = ProtoField.uint8("gannet_adaptation.release.cause", "Cause", base.DEC, { [1] = "the mobile leaves", [2] = "the access point stops", [3] = "not known", [4] = "no room" })
fields["hello.key"] = ProtoField.uint32("gannet_adaptation.hello.key", "Key", base.DEC)
fields["hello.random"] = ProtoField.bytes("gannet_adaptation.hello.random", "Random number of the mobile")
fields["hello.mac"] = ProtoField.bytes("gannet_adaptation.hello.mac", "MAC")
fields["welcome.key"] = ProtoField.uint32("gannet_adaptation.welcome.key", "Key", base.DEC)
fields["welcome.session"] = ProtoField.uint32("gannet_adaptation.welcome.session", "Session", base.DEC)
fields["welcome.random"] = ProtoField.bytes("gannet_adaptation.welcome.random", "Random number of the access point")
fields["welcome.of_mobile"] = ProtoField.bytes("gannet_adaptation.welcome.of_mobile", "Random number of the mobile")
fields["welcome.mac"] = ProtoField.bytes("gannet_adaptation.welcome.mac", "MAC")
protocol.fields = fields

local messages = {
  [1] = { title = "LL-PDU", tail = "ll_pdu", items = {
  } },
  [2] = { title = "Beacon", tail = "options", items = {
    { name = "beacon.cell", form = "cell", len = 8 },
    { name = "beacon.boot", form = "plain", len = 8 },
    { name = "beacon.interval_ms", form = "plain", len = 2 },
    { name = "beacon.ll_pdu_max", form = "plain", len = 2 },
    { name = "beacon.mode", form = "plain", len = 1 },
    { name = "beacon.load", form = "plain", len = 1 },
    { name = "beacon.flags", form = "flags", len = 1, bits = { "authentication", "in_service" } },
  } },
  [3] = { title = "Solicit", tail = "padding", items = {
  } },
  [4] = { title = "Reachable", tail = "none", items = {
    { name = "reachable.cell", form = "cell", len = 8 },
  } },
  [5] = { title = "Link quality report", tail = "none", items = {
    { name = "link_report.sent", form = "plain", len = 4 },
    { name = "link_report.received", form = "plain", len = 4 },
    { name = "link_report.level", form = "plain", len = 1 },
  } },
  [6] = { title = "Probe", tail = "none", items = {
    { name = "probe.token", form = "plain", len = 8 },
  } },
  [7] = { title = "Probe answer", tail = "none", items = {
    { name = "probe_answer.token", form = "plain", len = 8 },
  } },
  [8] = { title = "Paging for packet services", tail = "none", items = {
    { name = "paging_ps.identity", form = "identity", len = 9 },
  } },
  [9] = { title = "Paging for circuit-switched services", tail = "none", items = {
    { name = "paging_cs.identity", form = "identity", len = 9 },
  } },
  [10] = { title = "Suspend", tail = "none", items = {
    { name = "suspend.rai", form = "rai", len = 6 },
  } },
  [11] = { title = "Suspend acknowledgement", tail = "none", items = {
    { name = "suspend_ack.reference", form = "plain", len = 1 },
  } },
  [12] = { title = "Resume", tail = "none", items = {
    { name = "resume.rai", form = "rai", len = 6 },
    { name = "resume.reference", form = "plain", len = 1 },
  } },
  [13] = { title = "Release", tail = "none", items = {
    { name = "release.cause", form = "plain", len = 1 },
  } },
  [14] = { title = "Hello", tail = "none", items = {
    { name = "hello.key", form = "plain", len = 4 },
    { name = "hello.random", form = "plain", len = 16 },
    { name = "hello.mac", form = "plain", len = 16 },
  } },
  [15] = { title = "Welcome", tail = "none", items = {
    { name = "welcome.key", form = "plain", len = 4 },
    { name = "welcome.session", form = "plain", len = 4 },
    { name = "welcome.random", form = "plain", len = 16 },
    { name = "welcome.of_mobile", form = "plain", len = 16 },
    { name = "welcome.mac", form = "plain", len = 16 },
  } },
}

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
