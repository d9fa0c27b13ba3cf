//! Elements that the SGSN hands on without reading them.

use crate::error::DecodeError;
use crate::l3::codec::{Element, bad_length, first};
use serde::{Deserialize, Serialize};

macro_rules! opaque {
    ($(#[$doc:meta])* $name:ident, $ie:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
        pub struct $name(pub Vec<u8>);

        impl Element for $name {
            const NAME: &'static str = $ie;

            fn parse_value(octets: &[u8]) -> Result<Self, DecodeError> {
                if octets.is_empty() {
                    return Err(bad_length::<Self>(octets));
                }
                Ok(Self(octets.to_vec()))
            }

            fn emit_value(&self, out: &mut Vec<u8>) {
                out.extend(self.0.iter().take(255));
            }
        }
    };
}

opaque! {
    /// Protocol configuration options: PPP configuration, DNS servers and the like between mobile and GGSN; 1 to 251
    /// octets (clause 10.5.6.3).
    ProtocolConfiguration, "Protocol Configuration Options"
}
opaque! {
    /// Traffic flow template as it came; 1 to 255 octets (clause 10.5.6.12). What it says is told by
    /// [`TrafficFlowTemplate::read`].
    TrafficFlowTemplate, "Traffic Flow Template"
}

/// Packet flow identifier: 7 bits (clause 10.5.6.11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct PacketFlowIdentifier(pub u8);

impl PacketFlowIdentifier {
    /// Best effort.
    pub const BEST_EFFORT: Self = Self(0);
    /// Signalling.
    pub const SIGNALLING: Self = Self(1);
    /// Short messages.
    pub const SMS: Self = Self(2);
    /// Tunnelling of messages 8.
    pub const TOM8: Self = Self(3);
}

impl Element for PacketFlowIdentifier {
    const NAME: &'static str = "Packet Flow Identifier";
    const FIXED: usize = 1;

    fn parse_value(octets: &[u8]) -> Result<Self, DecodeError> {
        let [value] = first::<Self, 1>(octets)?;
        Ok(Self(value & 0x7f))
    }

    fn emit_value(&self, out: &mut Vec<u8>) {
        out.push(self.0 & 0x7f);
    }
}
