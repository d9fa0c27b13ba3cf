//! One TCP connection by iperf3, and what it says of it.

use crate::way::Way;
use serde_json::Value;

/// The arguments of the client, which is at the mobile: `seconds` are measured after `omitted`. The server says what it has received
/// where it runs with `-J`.
#[must_use]
pub fn arguments(host: &str, congestion: &str, way: Way, seconds: u32, omitted: u32) -> Vec<String> {
    let (seconds, omitted) = (seconds.to_string(), omitted.to_string());
    let mut all = vec!["-c", host, "-C", congestion, "-J", "-t", &seconds];
    if omitted != "0" {
        all.extend(["-O", &omitted]);
    }
    all.push(match way {
        Way::Up => "--get-server-output",
        Way::Down => "-R",
    });
    all.into_iter().map(str::to_owned).collect()
}

/// What one connection has given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Carried {
    /// Payload that has arrived, in Mbit/s.
    pub mbps: f64,
    /// The same in octets.
    pub octets: f64,
    /// Segments that were sent again.
    pub retransmitted: f64,
}

impl Carried {
    /// From what the client says in JSON.
    ///
    /// # Errors
    /// What iperf3 says, or that nothing has arrived.
    pub fn read(said: &str) -> Result<Self, String> {
        let said: Value = serde_json::from_str(said).map_err(|error| format!("iperf3: {error}"))?;
        if let Some(why) = said.pointer("/error").and_then(Value::as_str) {
            return Err(format!("iperf3: {why}"));
        }
        let number = |path: &str| said.pointer(path).and_then(Value::as_f64);
        let sums = (number("/end/sum_received/bits_per_second"), number("/end/sum_received/bytes"));
        let (Some(bits), Some(octets)) = received(&said).or_else(|| Some((sums.0?, sums.1?))).unzip() else {
            return Err("iperf3: no result".to_owned());
        };
        if octets <= 0.0 {
            return Err("iperf3: nothing has arrived".to_owned());
        }
        let retransmitted = number("/end/sum_sent/retransmits").unwrap_or(f64::NAN);
        Ok(Self { mbps: bits / 1e6, octets, retransmitted })
    }
}

/// Whether an error says that the two programs lost each other, not that nothing was carried.
#[must_use]
pub fn lost_control(why: &str) -> bool {
    ["control message", "control socket"].iter().any(|what| why.contains(what))
}

/// Bits/s and octets of the receiver's own intervals that are not left out, where it tells them. Its sum counts also what comes behind
/// the last of them, out of the queues between.
fn received(said: &Value) -> Option<(f64, f64)> {
    let of_server = said.pointer("/server_output_json/intervals");
    let intervals = of_server.or_else(|| said.get("intervals"))?.as_array()?;
    let counted = intervals.iter().filter_map(|interval| interval.get("sum")).filter(|sum| {
        let is = |name: &str| sum.get(name).and_then(Value::as_bool);
        is("omitted") == Some(false) && is("sender") == Some(false)
    });
    let sum = |(seconds, octets): (f64, f64), sum: &Value| {
        let number = |name: &str| sum.get(name).and_then(Value::as_f64);
        Some((seconds + number("seconds")?, octets + number("bytes")?))
    };
    let (seconds, octets) = counted.into_iter().try_fold((0.0, 0.0), sum)?;
    (seconds > 0.0).then_some((octets * 8.0 / seconds, octets))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = r#"{"end":{"sum_sent":{"bytes":9,"retransmits":3},"sum_received":{"bytes":1000000,"bits_per_second":8e6}}}"#;

    #[test]
    fn what_iperf3_says_is_read_and_an_error_is_told() {
        let carried = Carried::read(SAID).unwrap();
        assert_eq!(carried, Carried { mbps: 8.0, octets: 1e6, retransmitted: 3.0 });
        let refused = Carried::read(r#"{"end":{},"error":"unable to connect"}"#);
        assert_eq!(refused.unwrap_err(), "iperf3: unable to connect");
        assert!(Carried::read("Killed").is_err());
        let nothing = SAID.replace("1000000", "0");
        let why = Carried::read(&nothing).unwrap_err();
        assert!(why.contains("nothing") && !lost_control(&why));
    }

    #[test]
    fn what_the_receiver_counts_by_itself_goes_before_its_sum() {
        let interval = |octets: u32, omitted: bool, sender: bool| {
            format!(r#"{{"sum":{{"seconds":0.5,"bytes":{octets},"omitted":{omitted},"sender":{sender}}}}}"#)
        };
        let intervals =
            [interval(9, true, false), interval(1000, false, false), interval(2000, false, false)];
        let own = format!(r#"{{"intervals":[{}],{}"#, intervals.join(","), &SAID[1..]);
        let carried = Carried::read(&own).unwrap();
        assert_eq!((carried.octets, carried.mbps, carried.retransmitted), (3000.0, 0.024, 3.0));
        // The client has sent, and the server says what came.
        let sent = interval(7000, false, true);
        let both = format!(
            r#"{{"intervals":[{sent}],"server_output_json":{{"intervals":[{}]}},{}"#,
            intervals[1],
            &SAID[1..]
        );
        assert_eq!(Carried::read(&both).unwrap().octets, 1000.0);
        // A connection that has ended before its time.
        let failed = format!(r#"{{"error":"control socket has closed","intervals":[{}]}}"#, intervals[1]);
        let why = Carried::read(&failed).unwrap_err();
        assert!(why.ends_with("has closed") && lost_control(&why));
        let silent = format!(r#"{{"intervals":[{sent}],{}"#, &SAID[1..]);
        assert_eq!(Carried::read(&silent).unwrap().octets, 1e6, "a server that says nothing");
    }

    #[test]
    fn the_client_is_at_the_mobile() {
        let line = |way, omitted| arguments("192.0.2.1", "cubic", way, 5, omitted).join(" ");
        assert_eq!(line(Way::Up, 0), "-c 192.0.2.1 -C cubic -J -t 5 --get-server-output");
        assert_eq!(line(Way::Down, 1), "-c 192.0.2.1 -C cubic -J -t 5 -O 1 -R");
    }
}
