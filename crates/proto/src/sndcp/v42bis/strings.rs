//! String matching and learning (V.42bis clauses 6.3 and 6.4), which encoder and decoder do alike.

use super::dictionary::{Dictionary, FIRST_STRING, of_octet};
use super::{BadImage, Parameters};

/// The dictionary, and where in it the data is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Strings {
    pub(super) dictionary: Dictionary,
    parameters: Parameters,
    /// The codeword of the string up to now, 0 before the first octet.
    current: u16,
    /// The string has been sent, by a flush or at a change of modes: it ends whatever follows.
    is_cut: bool,
    /// The codeword that the last string has added, or 0.
    last_added: u16,
}

/// A string that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) codeword: u16,
    /// It had been sent already.
    pub(super) was_cut: bool,
}

impl Strings {
    pub(super) fn new(parameters: Parameters) -> Self {
        let dictionary = Dictionary::new(parameters);
        Self { dictionary, parameters, current: 0, is_cut: false, last_added: 0 }
    }

    pub(super) const fn parameters(&self) -> Parameters {
        self.parameters
    }

    /// C-INIT.
    pub(super) fn init(&mut self) {
        self.dictionary.init();
        (self.current, self.is_cut, self.last_added) = (0, false, 0);
    }

    /// The next octet of the data. Gives the string that ends before it, where one does.
    pub(super) fn accept(&mut self, octet: u8) -> Option<Ended> {
        if self.current == 0 {
            (self.current, self.is_cut) = (of_octet(octet), false);
            return None;
        }
        let longer = self.dictionary.child(self.current, octet);
        match longer {
            // A string that the other end cannot know yet is not used (clause 6.3 b).
            Some(longer) if !self.is_cut && longer != self.last_added => {
                self.current = longer;
                None
            }
            Some(_) | None => {
                let ended = Ended { codeword: self.current, was_cut: self.is_cut };
                self.learn(longer, octet);
                (self.current, self.is_cut) = (of_octet(octet), false);
                Some(ended)
            }
        }
    }

    /// The decoder's next string, of which `first` is the first octet. False where learning has taken its node away, which
    /// an encoder would have noticed.
    pub(super) fn accept_string(&mut self, codeword: u16, first: u8) -> bool {
        if self.current != 0 {
            self.learn(self.dictionary.child(self.current, first), first);
        }
        let is_there = self.dictionary.len(codeword) != 0;
        (self.current, self.is_cut) = if is_there { (codeword, true) } else { (0, false) };
        is_there
    }

    /// Adds the string that ends with the octet behind it, where it is new and not too long.
    fn learn(&mut self, longer: Option<u16>, octet: u8) {
        let is_new = longer.is_none();
        let may_grow = self.dictionary.len(self.current) < usize::from(self.parameters.string());
        self.last_added = if is_new && may_grow { self.dictionary.add(self.current, octet) } else { 0 };
    }

    /// Ends the string up to now. Gives its codeword where it has not been sent.
    pub(super) fn cut(&mut self) -> Option<u16> {
        let codeword = (self.current != 0 && !self.is_cut).then_some(self.current);
        self.is_cut = true;
        codeword
    }

    pub(super) fn export(&self, out: &mut Vec<u8>) {
        out.extend(self.parameters.codewords().to_be_bytes());
        out.push(self.parameters.string());
        out.extend(self.current.to_be_bytes());
        out.push(u8::from(self.is_cut));
        out.extend(self.last_added.to_be_bytes());
        self.dictionary.export(out);
    }

    pub(super) fn import(octets: &mut &[u8]) -> Result<Self, BadImage> {
        let (&[p0, p1, string, c0, c1, is_cut, l0, l1], rest) = octets.split_first_chunk().ok_or(BadImage)?;
        *octets = rest;
        let parameters = Parameters::new(u16::from_be_bytes([p0, p1]), string).ok_or(BadImage)?;
        let dictionary = Dictionary::import(parameters, octets)?;
        let (current, last_added) = (u16::from_be_bytes([c0, c1]), u16::from_be_bytes([l0, l1]));
        let is_string = |codeword| codeword == 0 || dictionary.len(codeword) != 0;
        let is_sound = is_string(current)
            && is_string(last_added)
            && (last_added == 0 || last_added >= FIRST_STRING)
            && is_cut <= 1;
        if !is_sound {
            return Err(BadImage);
        }
        Ok(Self { dictionary, parameters, current, is_cut: is_cut == 1, last_added })
    }
}
