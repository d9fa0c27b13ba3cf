//! The dictionary (V.42bis clauses 6.1, 6.2 and 6.5): nodes are numbered by their codewords.

use super::{BadImage, Parameters};

/// Octets from here on are codewords of one octet: N6, the number of control codewords.
const FIRST_OCTET: u16 = 3;
/// N5: the first codeword of a string that was learned.
pub(super) const FIRST_STRING: u16 = 259;

/// One string: that of its parent, and one octet more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Node {
    /// 0 where the string is one octet, and where there is none.
    parent: u16,
    /// One of the strings that are longer by an octet, or 0.
    child: u16,
    /// The next one with the same parent, or 0.
    next: u16,
    octet: u8,
    /// Octets of the string; 0 where there is none.
    len: u8,
}

/// Which strings have codewords.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dictionary {
    nodes: Vec<Node>,
    /// C1: the codeword of the next string. Its node has none.
    free: u16,
    /// N2.
    codewords: u16,
}

/// The codeword of the string that is this one octet.
pub(super) fn of_octet(octet: u8) -> u16 {
    FIRST_OCTET + u16::from(octet)
}

impl Dictionary {
    pub(super) fn new(parameters: Parameters) -> Self {
        let mut nodes = Vec::with_capacity(usize::from(FIRST_STRING) + 1);
        nodes.resize(usize::from(FIRST_OCTET), Node::default());
        nodes.extend((0..=u8::MAX).map(|octet| Node { octet, len: 1, ..Node::default() }));
        nodes.push(Node::default());
        Self { nodes, free: FIRST_STRING, codewords: parameters.codewords() }
    }

    /// Forgets what was learned. The memory is kept, and what was not used is not touched.
    pub(super) fn init(&mut self) {
        self.nodes.truncate(usize::from(FIRST_STRING));
        for node in &mut self.nodes {
            node.child = 0;
        }
        self.nodes.push(Node::default());
        self.free = FIRST_STRING;
    }

    fn node(&self, codeword: u16) -> Node {
        self.nodes.get(usize::from(codeword)).copied().unwrap_or_default()
    }

    fn node_mut(&mut self, codeword: u16) -> Option<&mut Node> {
        self.nodes.get_mut(usize::from(codeword))
    }

    /// Octets of a string; 0 where the codeword stands for none.
    pub(super) fn len(&self, codeword: u16) -> usize {
        usize::from(self.node(codeword).len)
    }

    /// The codeword of the string that is longer by `octet`.
    pub(super) fn child(&self, codeword: u16, octet: u8) -> Option<u16> {
        let mut at = self.node(codeword).child;
        while at != 0 {
            let node = self.node(at);
            if node.octet == octet {
                return Some(at);
            }
            at = node.next;
        }
        None
    }

    /// Adds the string that is longer by `octet`, which must not be there, and gives its codeword. Finds a node for the next
    /// one: the next that is free, or else the next that is no other's parent (clause 6.5).
    pub(super) fn add(&mut self, parent: u16, octet: u8) -> u16 {
        let codeword = self.free;
        self.link(codeword, parent, octet);
        loop {
            self.free += 1;
            if self.free >= self.codewords {
                self.free = FIRST_STRING;
            }
            if usize::from(self.free) >= self.nodes.len() {
                self.grow();
                break;
            }
            // At most P2 strings are each other's parents and there are more than that: there is always a leaf.
            if self.node(self.free).child == 0 {
                self.unlink(self.free);
                break;
            }
        }
        codeword
    }

    /// One node more. There is never room for more nodes than there are codewords.
    fn grow(&mut self) {
        let len = self.nodes.len();
        if len == self.nodes.capacity() {
            self.nodes.reserve_exact(len.min(usize::from(self.codewords).saturating_sub(len)));
        }
        self.nodes.push(Node::default());
    }

    /// Octets of memory that it takes: at most eight for each codeword.
    pub(super) const fn octets(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
    }

    fn link(&mut self, codeword: u16, parent: u16, octet: u8) {
        let Node { child: next, len, .. } = self.node(parent);
        if let Some(node) = self.node_mut(codeword) {
            *node = Node { parent, child: 0, next, octet, len: len.saturating_add(1) };
        }
        if let Some(node) = self.node_mut(parent) {
            node.child = codeword;
        }
    }

    fn unlink(&mut self, codeword: u16) {
        let Node { parent, next, .. } = self.node(codeword);
        if self.node(parent).child == codeword {
            if let Some(node) = self.node_mut(parent) {
                node.child = next;
            }
        } else {
            let mut before = self.node(parent).child;
            while before != 0 && self.node(before).next != codeword {
                before = self.node(before).next;
            }
            if let Some(node) = self.node_mut(before) {
                node.next = next;
            }
        }
        if let Some(node) = self.node_mut(codeword) {
            *node = Node::default();
        }
    }

    /// Writes a string of [`Dictionary::len`] octets, and gives its first.
    pub(super) fn expand(&self, codeword: u16, room: &mut [u8]) -> u8 {
        let mut node = self.node(codeword);
        for place in room.iter_mut().rev() {
            *place = node.octet;
            if node.parent != 0 {
                node = self.node(node.parent);
            }
        }
        node.octet
    }

    /// Appends the strings that were learned: C1, how many nodes there are, and the parent and the octet of each.
    pub(super) fn export(&self, out: &mut Vec<u8>) {
        out.extend(self.free.to_be_bytes());
        let strings = self.nodes.get(usize::from(FIRST_STRING)..).unwrap_or_default();
        out.extend(u16::try_from(strings.len()).unwrap_or(u16::MAX).to_be_bytes());
        for node in strings {
            out.extend(node.parent.to_be_bytes());
            out.push(node.octet);
        }
    }

    /// Reads what [`Dictionary::export`] wrote, and takes it off the front.
    pub(super) fn import(parameters: Parameters, octets: &mut &[u8]) -> Result<Self, BadImage> {
        let (&[f0, f1, n0, n1], rest) = octets.split_first_chunk().ok_or(BadImage)?;
        let (free, count) = (u16::from_be_bytes([f0, f1]), usize::from(u16::from_be_bytes([n0, n1])));
        let (strings, rest) = rest.split_at_checked(count * 3).ok_or(BadImage)?;
        *octets = rest;
        let mut own = Self::new(parameters);
        own.nodes.truncate(usize::from(FIRST_STRING));
        let (strings, _) = strings.as_chunks::<3>();
        let node = |&[p0, p1, octet]: &[u8; 3]| Node {
            parent: u16::from_be_bytes([p0, p1]),
            octet,
            ..Node::default()
        };
        own.nodes.reserve_exact(strings.len());
        own.nodes.extend(strings.iter().map(node));
        own.free = free;
        let is_within = FIRST_STRING <= free
            && usize::from(free) < own.nodes.len()
            && own.nodes.len() <= usize::from(parameters.codewords());
        if !is_within || own.node(free).parent != 0 {
            return Err(BadImage);
        }
        for codeword in FIRST_STRING..u16::try_from(own.nodes.len()).map_err(|_| BadImage)? {
            if codeword != free {
                own.relink(codeword, parameters)?;
            }
        }
        Ok(own)
    }

    /// Finds the length of a string that was imported and puts it among its parent's children.
    fn relink(&mut self, codeword: u16, parameters: Parameters) -> Result<(), BadImage> {
        let Node { parent, octet, child, .. } = self.node(codeword);
        let (mut at, mut len) = (codeword, 1);
        while self.node(at).parent != 0 && len <= parameters.string() {
            at = self.node(at).parent;
            len += 1;
        }
        let is_one_octet = (FIRST_OCTET..FIRST_STRING).contains(&at);
        if !is_one_octet || len > parameters.string() || self.child(parent, octet).is_some() {
            return Err(BadImage);
        }
        let next = self.node(parent).child;
        if let Some(node) = self.node_mut(codeword) {
            *node = Node { parent, child, next, octet, len };
        }
        if let Some(node) = self.node_mut(parent) {
            node.child = codeword;
        }
        Ok(())
    }
}
