//! The cards and ciphers of mobiles. Keys stand in the configuration and nowhere else: no error repeats them.

use super::{HasFleet, Mobiles, set};
use crate::config::{ConfigText, Element};
use crate::grammar::{Args, CommandError, Grammar, Node};
use gannet_proto::auth::cards::{Cards, Variant};
use gannet_proto::auth::comp128::Comp128;
use gannet_proto::auth::key::Key128;

/// Writes them.
pub(super) fn write(mobiles: &Mobiles, text: &mut ConfigText) {
    match &mobiles.cards {
        Cards::None => {}
        Cards::Sim { algorithm, ki } => {
            let version = match algorithm {
                Comp128::V1 => 1,
                Comp128::V2 => 2,
                Comp128::V3 => 3,
            };
            text.line(format_args!("sim comp128v{version} ki {}", ki.hex()));
        }
        Cards::Usim { k, variant } => {
            let (word, key) = match variant {
                Variant::Op(op) => ("op", op),
                Variant::Opc(opc) => ("opc", opc),
            };
            text.line(format_args!("usim milenage k {} {word} {}", k.hex(), key.hex()));
        }
    }
    if let Some(geas) = mobiles.geas {
        let numbers: Vec<String> =
            (0..=4).filter(|gea| geas >> gea & 1 != 0).map(|gea| gea.to_string()).collect();
        text.line(format_args!("encryption gea {}", numbers.join(" ")));
    }
}

fn key(args: &Args, place: usize) -> Result<Key128, CommandError> {
    args.text(place).parse().map_err(|error| CommandError(format!("{error}.")))
}

/// The commands.
pub(super) fn install<E: Element<Config: HasFleet>>(grammar: &mut Grammar<E>, node: Node) {
    let of_first = "32 hexadecimal digits, of the first mobile; that of mobile N has this number plus N - 1";
    let sim = "GSM cards in all mobiles";
    let help = format!("{sim}\nCOMP128-1\nCOMP128-2\nCOMP128-3\nThe key\n{of_first}");
    set(grammar, node, "sim (comp128v1|comp128v2|comp128v3) ki HEX", &help, |edit| {
        let algorithm = match edit.args.text(0) {
            "comp128v1" => Comp128::V1,
            "comp128v2" => Comp128::V2,
            _ => Comp128::V3,
        };
        edit.config.fleet_mut().mobiles.cards = Cards::Sim { algorithm, ki: key(edit.args, 1)? };
        Ok(())
    });
    let usim = "UMTS cards in all mobiles";
    let help = format!(
        "{usim}\nMILENAGE\nThe key\n{of_first}\nThe operator's variant, of which each card makes its own\n\
         The variant as all cards have it\n32 hexadecimal digits"
    );
    set(grammar, node, "usim milenage k HEX (op|opc) HEX", &help, |edit| {
        let (k, variant) = (key(edit.args, 0)?, key(edit.args, 2)?);
        let variant = if edit.args.text(1) == "op" { Variant::Op(variant) } else { Variant::Opc(variant) };
        edit.config.fleet_mut().mobiles.cards = Cards::Usim { k, variant };
        Ok(())
    });
    set(grammar, node, "no (sim|usim)", &format!("Take back\n{sim}\n{usim}"), |edit| {
        edit.config.fleet_mut().mobiles.cards = Cards::None;
        Ok(())
    });
    let encryption = "Ciphers that mobiles have\nGPRS";
    let help = format!("{encryption}\nGEA/n; 0 is none\nAnother\nAnother\nAnother\nAnother");
    set(grammar, node, "encryption gea <0-4> [<0-4>] [<0-4>] [<0-4>] [<0-4>]", &help, |edit| {
        let mut geas = 0;
        for place in 0..5 {
            geas |= edit.args.optional::<u8>(place)?.map_or(0, |gea| 1 << gea);
        }
        edit.config.fleet_mut().mobiles.geas = Some(geas);
        Ok(())
    });
    let help = format!("Take back\n{encryption}: GEA/1 to 3, and 4 with a UMTS card");
    set(grammar, node, "no encryption gea", &help, |edit| {
        edit.config.fleet_mut().mobiles.geas = None;
        Ok(())
    });
}
