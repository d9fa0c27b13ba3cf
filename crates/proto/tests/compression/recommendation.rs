//! V.42bis once more, slowly and straight from the recommendation: a dictionary is a list of strings, and both ends are a few lines
//! each. Its encoder changes modes wherever it is told to.

use std::collections::HashMap;

const CHARACTERS: u16 = 256;
/// N6: control codewords.
const CONTROL: u16 = 3;
const ETM: u16 = 0;
const FLUSH: u16 = 1;
const STEPUP: u16 = 2;
const ECM: u8 = 0;
const EID: u8 = 1;
const RESET: u8 = 2;
/// N5: the first codeword of a string of several characters.
const FIRST: u16 = CHARACTERS + CONTROL;
/// The escape character grows by so much whenever it has been among the data.
const ESCAPE_STEP: u8 = 51;

/// Clause 6: strings by their codewords.
#[derive(Debug, Clone)]
struct Dictionary {
    /// N2.
    codewords: u16,
    /// N7.
    string_max: usize,
    /// C1.
    next: u16,
    strings: HashMap<u16, Vec<u8>>,
    by_string: HashMap<Vec<u8>, u16>,
    /// How many strings are this one and a character more.
    longer: HashMap<Vec<u8>, usize>,
    /// The one that the last string matching has added.
    last_added: Option<Vec<u8>>,
}

impl Dictionary {
    fn new(codewords: u16, string_max: u8) -> Self {
        Self {
            codewords,
            string_max: usize::from(string_max),
            next: FIRST,
            strings: HashMap::new(),
            by_string: HashMap::new(),
            longer: HashMap::new(),
            last_added: None,
        }
    }

    fn codeword(&self, string: &[u8]) -> Option<u16> {
        match string {
            [character] => Some(u16::from(*character) + CONTROL),
            _ => self.by_string.get(string).copied(),
        }
    }

    fn string(&self, codeword: u16) -> Option<Vec<u8>> {
        if codeword < FIRST {
            codeword
                .checked_sub(CONTROL)
                .and_then(|character| u8::try_from(character).ok())
                .map(|one| vec![one])
        } else {
            self.strings.get(&codeword).cloned()
        }
    }

    /// Clause 6.3: does string matching go on with this one?
    fn matches(&self, string: &[u8]) -> bool {
        self.codeword(string).is_some() && self.last_added.as_deref() != Some(string)
    }

    /// Clauses 6.4 and 6.5: string matching ended with `string`, and this character came behind it.
    fn update(&mut self, string: &[u8], unmatched: u8) {
        self.last_added = None;
        let longer = [string, &[unmatched]].concat();
        if longer.len() > self.string_max
            || self.codeword(&longer).is_some()
            || self.codeword(string).is_none()
        {
            return;
        }
        self.strings.insert(self.next, longer.clone());
        self.by_string.insert(longer.clone(), self.next);
        *self.longer.entry(string.to_vec()).or_default() += 1;
        self.last_added = Some(longer);
        loop {
            self.next += 1;
            if self.next >= self.codewords {
                self.next = FIRST;
            }
            let Some(there) = self.strings.get(&self.next) else { return };
            if self.longer.get(there).is_none_or(|count| *count == 0) {
                let leaf = self.strings.remove(&self.next).unwrap();
                self.by_string.remove(&leaf);
                *self.longer.get_mut(&leaf[..leaf.len() - 1]).unwrap() -= 1;
                return;
            }
        }
    }
}

/// What both ends keep in step (clause 7.2 says how they begin).
#[derive(Debug, Clone)]
struct State {
    dictionary: Dictionary,
    transparent: bool,
    escape: u8,
    /// C2.
    bits: u32,
    /// The string that is matched, or was matched last.
    string: Vec<u8>,
    /// It is closed: whatever comes next begins another one.
    closed: bool,
}

impl State {
    fn new(codewords: u16, string_max: u8) -> Self {
        Self {
            dictionary: Dictionary::new(codewords, string_max),
            transparent: true,
            escape: 0,
            bits: 9,
            string: Vec::new(),
            closed: true,
        }
    }

    fn init(&mut self) {
        *self = Self::new(self.dictionary.codewords, u8::try_from(self.dictionary.string_max).unwrap());
    }

    /// C3.
    fn threshold(&self) -> u32 {
        1 << self.bits
    }

    fn see(&mut self, character: u8) {
        if character == self.escape {
            self.escape = self.escape.wrapping_add(ESCAPE_STEP);
        }
    }

    /// String matching takes one more character: the string that ended where one did, to be sent where it was not.
    fn take(&mut self, character: u8) -> Option<Vec<u8>> {
        let longer = [&self.string[..], &[character]].concat();
        if !self.closed && self.dictionary.matches(&longer) {
            self.string = longer;
            return None;
        }
        let was_closed = self.closed;
        let ended = core::mem::replace(&mut self.string, vec![character]);
        self.closed = false;
        if !ended.is_empty() {
            // The codeword is that of the dictionary before the update; the caller has no other.
            self.dictionary.update(&ended, character);
        }
        (!was_closed).then_some(ended)
    }
}

/// What it writes, the lowest bit of an octet first.
#[derive(Debug, Default)]
struct Bits {
    octets: Vec<u8>,
    used: u32,
}

impl Bits {
    fn put(&mut self, value: u32, bits: u32) {
        for bit in 0..bits {
            if self.used == 0 {
                self.octets.push(0);
            }
            *self.octets.last_mut().unwrap() |= ((value >> bit & 1) as u8) << self.used;
            self.used = (self.used + 1) % 8;
        }
    }

    fn octet(&mut self, octet: u8) {
        assert_eq!(self.used, 0);
        self.octets.push(octet);
    }
}

/// The encoder.
#[derive(Debug)]
pub struct Encoder(State);

impl Encoder {
    pub fn new(codewords: u16, string_max: u8) -> Self {
        Self(State::new(codewords, string_max))
    }

    /// An N-PDU, and a flush. `changes` is asked before each character whether the mode changes.
    pub fn encode(&mut self, n_pdu: &[u8], mut changes: impl FnMut(bool) -> bool) -> Vec<u8> {
        let mut out = Bits::default();
        for character in n_pdu {
            if changes(self.0.transparent) {
                self.change(&mut out);
            }
            self.character(*character, &mut out);
        }
        if !self.0.transparent {
            self.close(&mut out);
            if out.used != 0 {
                self.codeword(FLUSH, &mut out);
                out.used = 0;
            }
        }
        out.octets
    }

    fn character(&mut self, character: u8, out: &mut Bits) {
        let codeword = self.0.dictionary.codeword(&self.0.string);
        let ended = self.0.take(character);
        if self.0.transparent {
            out.octet(character);
            if character == self.0.escape {
                out.octet(EID);
            }
        } else if ended.is_some() {
            self.codeword(codeword.unwrap(), out);
        }
        self.0.see(character);
    }

    /// The rest of what is matched goes.
    fn close(&mut self, out: &mut Bits) {
        if !self.0.closed {
            let codeword = self.0.dictionary.codeword(&self.0.string).unwrap();
            self.codeword(codeword, out);
        }
        self.0.closed = true;
    }

    fn change(&mut self, out: &mut Bits) {
        if self.0.transparent {
            out.octet(self.0.escape);
            out.octet(ECM);
            self.0.closed = true;
        } else {
            self.close(out);
            self.codeword(ETM, out);
            out.used = 0;
        }
        self.0.transparent = !self.0.transparent;
    }

    fn codeword(&mut self, codeword: u16, out: &mut Bits) {
        while u32::from(codeword) >= self.0.threshold() {
            out.put(u32::from(STEPUP), self.0.bits);
            self.0.bits += 1;
        }
        out.put(u32::from(codeword), self.0.bits);
    }
}

/// What the decoder came across, so that a test knows that it was there.
#[derive(Debug, Default, Clone, Copy)]
pub struct Seen {
    pub etm: usize,
    pub ecm: usize,
    pub eid: usize,
    pub flush: usize,
    pub stepup: usize,
    /// Strings that are no longer there.
    pub recovered: usize,
}

impl Seen {
    fn counts(self) -> [usize; 6] {
        [self.etm, self.ecm, self.eid, self.flush, self.stepup, self.recovered]
    }

    pub fn and(self, other: Self) -> Self {
        let [a, b] = [self.counts(), other.counts()];
        let [etm, ecm, eid, flush, stepup, recovered] = core::array::from_fn(|at| a[at] + b[at]);
        Self { etm, ecm, eid, flush, stepup, recovered }
    }

    pub fn all_more_than(self, count: usize) -> bool {
        self.counts().iter().all(|seen| *seen > count)
    }
}

/// The decoder.
#[derive(Debug)]
pub struct Decoder {
    state: State,
    pub seen: Seen,
}

impl Decoder {
    pub fn new(codewords: u16, string_max: u8) -> Self {
        Self { state: State::new(codewords, string_max), seen: Seen::default() }
    }

    pub fn init(&mut self) {
        self.state.init();
    }

    /// An N-PDU; `Err` is C-ERROR.
    pub fn decode(&mut self, octets: &[u8]) -> Result<Vec<u8>, String> {
        let mut out = Vec::new();
        // In bits.
        let mut at = 0;
        while at / 8 < octets.len() {
            if self.state.transparent {
                let octet = octets[at / 8];
                at += 8;
                if octet == self.state.escape {
                    let command = octets.get(at / 8).copied().ok_or("an escape character ends it")?;
                    at += 8;
                    self.command(command, &mut out)?;
                } else {
                    self.character(octet, &mut out);
                }
            } else {
                let left = octets.len() * 8 - at;
                if left < 8 {
                    // The end of an N-PDU whose encoder saw no need of FLUSH.
                    break;
                }
                if left < self.state.bits as usize {
                    return Err("a codeword is cut off".to_owned());
                }
                let mut codeword = 0;
                for bit in 0..self.state.bits {
                    codeword |= u16::from(octets[at / 8] >> (at % 8) & 1) << bit;
                    at += 1;
                }
                if self.codeword(codeword, &mut out)? {
                    at = at.next_multiple_of(8);
                }
            }
        }
        self.seen.recovered = self.recovered();
        Ok(out)
    }

    /// All codewords were given once.
    fn recovered(&self) -> usize {
        let dictionary = &self.state.dictionary;
        usize::from(dictionary.strings.len() + 1 >= usize::from(dictionary.codewords - FIRST))
    }

    fn character(&mut self, character: u8, out: &mut Vec<u8>) {
        self.state.take(character);
        self.state.see(character);
        out.push(character);
    }

    fn command(&mut self, command: u8, out: &mut Vec<u8>) -> Result<(), String> {
        match command {
            ECM => {
                self.seen.ecm += 1;
                self.state.transparent = false;
                self.state.closed = true;
            }
            EID => {
                self.seen.eid += 1;
                self.character(self.state.escape, out);
            }
            RESET => self.state.init(),
            other => return Err(format!("command {other}")),
        }
        Ok(())
    }

    /// Does the rest of the octet say nothing?
    fn codeword(&mut self, codeword: u16, out: &mut Vec<u8>) -> Result<bool, String> {
        match codeword {
            ETM => {
                self.seen.etm += 1;
                self.state.transparent = true;
                self.state.closed = true;
                return Ok(true);
            }
            FLUSH => {
                self.seen.flush += 1;
                return Ok(true);
            }
            STEPUP => {
                self.seen.stepup += 1;
                // N1: as many bits as the largest codeword has.
                if self.state.threshold() >= u32::from(self.state.dictionary.codewords) {
                    return Err("STEPUP beyond N1".to_owned());
                }
                self.state.bits += 1;
            }
            _ => {
                let string = self.state.dictionary.string(codeword).ok_or("an empty entry")?;
                let before = core::mem::replace(&mut self.state.string, string.clone());
                self.state.closed = true;
                if !before.is_empty() {
                    self.state.dictionary.update(&before, string[0]);
                }
                // The encoder had updated its dictionary before it matched this string.
                if self.state.dictionary.codeword(&string) != Some(codeword) {
                    return Err("an entry that the encoder had removed".to_owned());
                }
                for character in &string {
                    self.state.see(*character);
                }
                out.extend(string);
            }
        }
        Ok(false)
    }
}
