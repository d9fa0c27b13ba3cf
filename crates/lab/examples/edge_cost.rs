//! The loop of `edge-cost` alone, for a tool that counts instructions. Arguments: streams, packets, and
//! `component` or `nothing`: the loop with the component or without it.

use gannet_lab::edge::cost::Bench;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |name: &str| -> Result<u32, Box<dyn std::error::Error>> {
        Ok(arguments.next().ok_or_else(|| format!("usage: edge_cost STREAMS PACKETS: no {name}"))?.parse()?)
    };
    let (streams, packets) = (number("streams")?, number("packets")?);
    let mut bench = Bench::new(streams, 1)?;
    match arguments.next().as_deref() {
        Some("component") => bench.packets(packets),
        Some("nothing") => bench.nothing(packets),
        _ => return Err("usage: edge_cost STREAMS PACKETS component|nothing".into()),
    }
    if bench.lost() > 0 {
        return Err(format!("{} packets were lost", bench.lost()).into());
    }
    Ok(())
}
