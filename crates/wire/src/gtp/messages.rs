//! How the signalling messages of both versions of GTP are declared.

/// Declares messages: for each field its element, its presence, and the how-manieth element of its type it is. A message is
/// refused where a mandatory element is missing, or a mandatory or conditional one cannot be read (29.060 clauses 11.1.5 to
/// 11.1.9); an optional one that cannot be read counts as absent. The order of the fields is the order on the wire. The tables `ie` and `message_type` are those of the place that
/// declares: one for each version of GTP.
macro_rules! messages {
    ($($(#[$doc:meta])* $name:ident = $kind:ident {
        $($(#[$field_doc:meta])* $field:ident: $presence:ident $type:ty = $ie:ident[$nth:literal],)*
    })*) => {
        $($(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: messages!(@type $presence $type),)*
        }

        impl $name {
            fn from_elements(_elements: &Elements<'_>) -> Result<Self, DecodeError> {
                Ok(Self { $($field: messages!(@get $presence _elements, ie::$ie, $nth),)* })
            }

            fn emit(&self, _out: &mut Vec<u8>) {
                $(messages!(@put $presence self.$field, ie::$ie, _out);)*
            }
        }

        impl From<$name> for Message {
            fn from(message: $name) -> Self {
                Self::$name(message)
            }
        })*

        /// A signalling message.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Message {
            $($(#[$doc])* $name($name),)*
        }

        impl Message {
            /// Reads the payload of a message of type `kind`.
            ///
            /// # Errors
            /// `UnknownMessage` for a type that is not known here; `Missing` or what is wrong with a mandatory
            /// element; what [`Elements::parse_by`] says. Offsets count from the start of the payload.
            pub fn parse(kind: u8, payload: &[u8]) -> Result<Self, DecodeError> {
                match kind {
                    $(message_type::$kind => {
                        Ok(Self::$name($name::from_elements(&Elements::parse_by(ie::TABLE, payload)?)?))
                    })*
                    _ => Err(DecodeError::new("Message Type", 0, DecodeErrorKind::UnknownMessage(kind))),
                }
            }

            /// Its message type.
            #[must_use]
            pub const fn message_type(&self) -> u8 {
                match self { $(Self::$name(_) => message_type::$kind,)* }
            }

            /// Appends the payload.
            pub fn emit(&self, out: &mut Vec<u8>) {
                match self { $(Self::$name(message) => message.emit(out),)* }
            }
        }
    };
    (@type mandatory $type:ty) => { $type };
    (@type conditional $type:ty) => { Option<$type> };
    (@type optional $type:ty) => { Option<$type> };
    (@get mandatory $elements:expr, $ie:expr, $nth:literal) => { $elements.mandatory($ie, $nth)? };
    (@get conditional $elements:expr, $ie:expr, $nth:literal) => { $elements.conditional($ie, $nth)? };
    (@get optional $elements:expr, $ie:expr, $nth:literal) => { $elements.optional($ie, $nth) };
    (@put mandatory $value:expr, $ie:expr, $out:expr) => { $crate::gtp::ie::emit_by(ie::TABLE, $ie, &$value, $out) };
    (@put conditional $value:expr, $ie:expr, $out:expr) => { messages!(@put optional $value, $ie, $out) };
    (@put optional $value:expr, $ie:expr, $out:expr) => {
        if let Some(value) = &$value {
            $crate::gtp::ie::emit_by(ie::TABLE, $ie, value, $out);
        }
    };
}
pub(in crate::gtp) use messages;
