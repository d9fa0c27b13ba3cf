//! One connection of the control interface.

use super::message::MALFORMED;
use super::variables::{Query, refuse_to_set};
use super::{Control, EXTENSION, Message, UNKNOWN};
use crate::connections::{Answers, Conversation, Limits, News};
use gannet_machine::time::Duration;
use gannet_proto::ipa_stream::Splitter;
use gannet_wire::ipa::{self, Ccm};

/// How much the control interface may take.
pub const LIMITS: Limits = Limits {
    connections: 16,
    patience: Duration::from_secs(3600),
    renewed: true,
    output_octets: 1 << 16,
    news_octets: 1 << 20,
};

/// Octets of a request at most.
const REQUEST_MAX: usize = 4096;

/// A search for a group among the parts of a node.
#[derive(Debug)]
struct Search {
    id: String,
    variable: String,
    part: usize,
}

/// One connection.
#[derive(Debug)]
pub struct Dialogue {
    splitter: Splitter,
    search: Option<Search>,
    over: bool,
}

impl Conversation for Dialogue {
    fn begin() -> Self {
        Self { splitter: Splitter::new(REQUEST_MAX), search: None, over: false }
    }

    fn input(&mut self, octets: &[u8]) {
        self.splitter.push(octets);
    }

    fn is_over(&self) -> bool {
        self.over
    }
}

impl<H: Control> Answers<H> for Dialogue {
    const HEARS_NEWS: bool = true;

    /// TRAPs.
    fn news(host: &mut H, news: &mut News) {
        for (variable, value) in host.traps() {
            news.add(|output| put(&Message::Trap { id: "0", variable, value: &value }, output));
        }
    }

    /// One request, or one part of a search.
    fn proceed(&mut self, host: &mut H, output: &mut Vec<u8>) -> bool {
        if let Some(search) = self.search.take() {
            self.search = search.step(host, output);
            return true;
        }
        match self.splitter.next_message() {
            Ok(Some(message)) => self.search = take(&message, host, output),
            Ok(None) => return false,
            // What comes behind it cannot be found.
            Err(_) if !self.over => {
                put(&MALFORMED.answer(), output);
                self.over = true;
                return false;
            }
            Err(_) => return false,
        }
        true
    }
}

fn put(message: &Message<'_>, output: &mut Vec<u8>) {
    if ipa::put_extension(EXTENSION, message.to_string().as_bytes(), output) {
        return;
    }
    if let Message::GetReply { id, .. } | Message::SetReply { id, .. } = message {
        put(&Message::Error { id, reason: "The value is longer than a message" }, output);
    }
}

/// Takes a message of the multiplex.
fn take(message: &ipa::Message<'_>, host: &mut dyn Control, output: &mut Vec<u8>) -> Option<Search> {
    match message.extension() {
        Some((EXTENSION, content)) => match Message::parse(content) {
            Ok(message) => answer(&message, host, output),
            Err(malformed) => {
                put(&malformed.answer(), output);
                None
            }
        },
        None if message.protocol == ipa::PROTOCOL_CCM => {
            if Ccm::parse(message.payload) == Ok(Ccm::Ping) {
                Ccm::Pong.emit(output);
            }
            None
        }
        _ => {
            put(&MALFORMED.answer(), output);
            None
        }
    }
}

fn answer(message: &Message<'_>, host: &mut dyn Control, output: &mut Vec<u8>) -> Option<Search> {
    match message {
        Message::Get { id, variable } => return get(id, variable, host, output),
        Message::Set { id, variable, .. } => {
            let reason = refuse_to_set(variable, host.get(variable).is_some());
            put(&Message::Error { id, reason }, output);
        }
        Message::GetReply { id, .. } | Message::SetReply { id, .. } | Message::Trap { id, .. } => {
            put(&Message::Error { id, reason: "Trying to execute something not GET or SET" }, output);
        }
        // An answer to it would go back and forth for ever.
        Message::Error { .. } => {}
    }
    None
}

fn get(id: &str, variable: &str, host: &mut dyn Control, output: &mut Vec<u8>) -> Option<Search> {
    match Query::parse(variable) {
        Some(Ok(_)) => {
            return Some(Search { id: id.to_owned(), variable: variable.to_owned(), part: 0 });
        }
        Some(Err(reason)) => put(&Message::Error { id, reason }, output),
        None => match host.get(variable) {
            Some(Ok(value)) => put(&Message::GetReply { id, variable, value: &value }, output),
            Some(Err(reason)) => put(&Message::Error { id, reason: &reason }, output),
            None => put(&Message::Error { id, reason: UNKNOWN }, output),
        },
    }
    None
}

impl Search {
    /// Looks through one part; what is left to do where there is another.
    fn step(self, host: &mut dyn Control, output: &mut Vec<u8>) -> Option<Self> {
        let Self { id, variable, part } = self;
        let Some(Ok(query)) = Query::parse(&variable) else { return None };
        let mut groups = Vec::new();
        let more = host.groups(part, &mut groups);
        let found = match groups.iter().find(|group| query.is_of(group)) {
            Some(group) => query.answer(group, host.rates()),
            None if more => return Some(Self { id, variable, part: part + 1 }),
            None => Err(query.no_group()),
        };
        match found {
            Ok(value) => put(&Message::GetReply { id: &id, variable: &variable, value: &value }, output),
            Err(reason) => put(&Message::Error { id: &id, reason }, output),
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::tests::groups;
    use crate::metrics::{Group, Rates, Source};
    use proptest::prelude::*;

    struct Node(Rates);

    impl Source for Node {
        fn element(&self) -> &'static str {
            "sgsn"
        }

        fn groups(&mut self, part: usize, into: &mut Vec<Group>) -> bool {
            into.extend(groups().into_iter().nth(part));
            part < 2
        }
    }

    impl Control for Node {
        fn get(&mut self, variable: &str) -> Option<Result<String, String>> {
            match variable {
                "list" => Some(Ok("a\nb\n".to_owned())),
                "long" => Some(Ok("x".repeat(70_000))),
                "sad" => Some(Err("It is sad".to_owned())),
                _ => None,
            }
        }

        fn rates(&self) -> &Rates {
            &self.0
        }
    }

    /// What is answered to octets in pieces.
    fn talk(octets: &[u8], piece: usize) -> (Vec<u8>, bool) {
        let (mut dialogue, mut output) = (Dialogue::begin(), Vec::new());
        let mut rates = Rates::default();
        rates.second(&groups());
        let mut node = Node(rates);
        for piece in octets.chunks(piece) {
            dialogue.input(piece);
            while dialogue.proceed(&mut node, &mut output) {}
        }
        (output, dialogue.is_over())
    }

    fn ask(text: &str) -> String {
        let mut octets = Vec::new();
        ipa::put_extension(EXTENSION, text.as_bytes(), &mut octets);
        let (output, over) = talk(&octets, 5);
        assert!(!over);
        let mut splitter = Splitter::new(ipa::PAYLOAD_MAX);
        splitter.push(&output);
        let answered =
            splitter.next_message().unwrap().map(|message| message.extension().unwrap().1.to_vec());
        assert_eq!(splitter.waiting(), 0);
        String::from_utf8(answered.unwrap_or_default()).unwrap()
    }

    #[test]
    fn a_request_and_its_answer_by_octets() {
        let (output, over) = talk(b"\0\x0b\xee\0GET 2 list", 4096);
        assert_eq!((output.as_slice(), over), (&b"\0\x16\xee\0GET_REPLY 2 list a\nb\n"[..], false));
        assert_eq!(talk(b"\0\x01\xfe\0", 1).0, b"\0\x01\xfe\x01");
    }

    #[test]
    fn variables_and_their_errors() {
        for (asked, answered) in [
            (
                "GET 1 rate_ctr.abs.sgsn.0",
                "GET_REPLY 1 rate_ctr.abs.sgsn.0 llc:dl_packets 7;pool_no_frame 0;",
            ),
            ("GET 1 rate_ctr.abs.sgsn.0.llc:dl_packets", "GET_REPLY 1 rate_ctr.abs.sgsn.0.llc:dl_packets 7"),
            (
                "GET 1 rate_ctr.per_hour.sgsn.0.ll_pdu_downlink",
                "GET_REPLY 1 rate_ctr.per_hour.sgsn.0.ll_pdu_downlink 0",
            ),
            ("GET 1 rate_ctr.abs.x:part.127-0-0-1-5", "GET_REPLY 1 rate_ctr.abs.x:part.127-0-0-1-5 taken 4;"),
            ("GET 1 stat_item.last.sgsn.0.mobiles", "GET_REPLY 1 stat_item.last.sgsn.0.mobiles 2"),
            ("GET 1 sad", "ERROR 1 It is sad"),
            ("GET 1 long", "ERROR 1 The value is longer than a message"),
            ("GET 4 rate_ctr.abs", "ERROR 4 Counter group must be of name.index form e. g. e1inp.0"),
            (
                "GET 1 rate_ctr.now.sgsn.0",
                "ERROR 1 The interval is abs, per_sec, per_min, per_hour or per_day",
            ),
            ("GET 1 rate_ctr.abs.sgsn.0.none", "ERROR 1 Counter name not found."),
            ("GET 1 rate_ctr.abs.sgsn.0.mobiles", "ERROR 1 Counter name not found."),
            ("GET 1 rate_ctr.abs.sgsn.7", "ERROR 1 Counter group with given name and index not found"),
            ("GET 1 rate_ctr.per_sec.x:part.a-1", "ERROR 1 Rates are taken of the node as a whole only"),
            ("GET 66 rate_ctr", "ERROR 66 Command not found"),
            ("SET 18 list x", "ERROR 18 Read Only attribute"),
            ("SET 23 rate_ctr.abs.sgsn.0 1", "ERROR 23 Can't set rate counter."),
            ("SET 4 version x", "ERROR 4 Command not found"),
            ("TRAP 0 x y", "ERROR 0 Trying to execute something not GET or SET"),
            ("ERROR 28 bad", ""),
        ] {
            assert_eq!(ask(asked), answered, "{asked}");
        }
        assert!(ask("GET 1 stat_item.last.sgsn").starts_with("ERROR 1 Stat item must be of form stat_item."));
    }

    #[test]
    fn what_is_no_request() {
        assert_eq!(talk(b"\0\x02\xee\x05\x01", 9).0, b"\0\x1c\xee\0ERROR err Request malformed");
        let (output, over) = talk(b"\xff\xff\xee\0GET 1 list", 9);
        assert_eq!((output.as_slice(), over), (&b"\0\x1c\xee\0ERROR err Request malformed"[..], true));
    }

    proptest! {
        #[test]
        fn no_octets_are_too_strange(octets: Vec<u8>, piece in 1_usize..64) {
            talk(&octets, piece);
        }
    }
}
