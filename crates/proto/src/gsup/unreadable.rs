//! What an HLR sends and cannot be read: named, answered at once, and never more than what could be read.

use super::operations::GsupKind;
use super::{GsupEntity, GsupFailure, GsupOutput};
use crate::about::About as _;
use gannet_machine::drops::Drop;
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context};
use gannet_wire::gsup::{Envelope, Message, cause as cause_of};
use gannet_wire::l3::ie::GmmCause;
use gannet_wire::{DecodeError, ipa};

impl GsupEntity {
    /// A message without an element that it must have. Who asked is told, and who answered has answered: nobody waits for the
    /// guard time.
    pub(super) fn unreadable(
        &mut self,
        cx: &mut Context<'_>,
        octets: &[u8],
        error: &DecodeError,
        out: &mut Batch<GsupOutput>,
    ) {
        let envelope = Envelope::of(octets);
        cx.drop_of(Drop::GsupMalformed, envelope.as_ref().map(|envelope| envelope.imsi));
        let Some(envelope) = envelope else {
            return cx.log(Category::Mm, Level::Error, format_args!("from the HLR: {error}"));
        };
        let (imsi, kind) = (envelope.imsi, envelope.kind);
        let text = format_args!("IMSI {imsi}: from the HLR, message type {kind:#04x}: {error}");
        cx.log(Category::Mm, Level::Error, text);
        self.refuse(cx, &envelope, cause_of(error), out);
        // Where data cannot be taken, the location that they belong to is not updated either.
        let of = [
            (GsupKind::AuthInfo, 0x09..=0x0a),
            (GsupKind::Purge, 0x0d..=0x0e),
            (GsupKind::UpdateLocation, 0x05..=0x06),
            (GsupKind::UpdateLocation, 0x10..=0x10),
        ];
        let asked = of.into_iter().find(|(_, types)| types.contains(&kind)).map(|(asked, _)| asked);
        if let Some(asked) = asked.filter(|asked| self.operations.take(imsi, *asked).is_some()) {
            self.fail(cx, imsi, asked, GsupFailure::Unreadable, out);
        }
    }

    /// Tells who has sent a request why it is not carried out; what is no request has no answer.
    pub(super) fn refuse(
        &self,
        cx: &mut Context<'_>,
        envelope: &Envelope,
        cause: GmmCause,
        out: &mut Batch<GsupOutput>,
    ) {
        let mut octets = Vec::with_capacity(64);
        if envelope.is_request()
            && ipa::put_extension(ipa::EXTENSION_GSUP, &envelope.refusal(cause), &mut octets)
        {
            self.transmit(cx, &octets, out);
        }
    }
}

/// Elements that are named of one message; the others are counted.
const NAMED_MAX: usize = 4;

/// Elements were there, could not be read, and are as if they were absent.
pub(super) fn note_skipped(cx: &mut Context<'_>, message: &Message, skipped: &[DecodeError]) {
    if skipped.is_empty() {
        return;
    }
    cx.drop_of(Drop::GsupElementSkipped, Some(message.imsi));
    let named: Vec<String> = skipped.iter().take(NAMED_MAX).map(ToString::to_string).collect();
    let more = match skipped.len() - named.len() {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let (imsi, kind, named) = (message.imsi, message.body.name(), named.join("; "));
    let text = format_args!("IMSI {imsi}: {kind} from the HLR is taken without {named}{more}");
    cx.log(Category::Mm, Level::Notice, text);
}
