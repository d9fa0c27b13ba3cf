//! One TCP connection by iperf3, and what it says of it.

use crate::way::Way;
use serde_json::Value;

/// The arguments of the client, which is at the mobile: `seconds` are measured after `omitted`.
#[must_use]
pub fn arguments(host: &str, congestion: &str, way: Way, seconds: u32, omitted: u32) -> Vec<String> {
    let (seconds, omitted) = (seconds.to_string(), omitted.to_string());
    let mut all = vec!["-c", host, "-C", congestion, "-J", "-t", &seconds];
    if omitted != "0" {
        all.extend(["-O", &omitted]);
    }
    all.extend(matches!(way, Way::Down).then_some("-R"));
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
        let number = |path: &str| said.pointer(path).and_then(Value::as_f64);
        let received = (number("/end/sum_received/bits_per_second"), number("/end/sum_received/bytes"));
        let (Some(bits), Some(octets)) = received else {
            let why = said.pointer("/error").and_then(Value::as_str).unwrap_or("no result");
            return Err(format!("iperf3: {why}"));
        };
        if octets <= 0.0 {
            return Err("iperf3: nothing has arrived".to_owned());
        }
        let retransmitted = number("/end/sum_sent/retransmits").unwrap_or(f64::NAN);
        Ok(Self { mbps: bits / 1e6, octets, retransmitted })
    }
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
        assert!(Carried::read(&nothing).unwrap_err().contains("nothing"));
    }

    #[test]
    fn the_client_is_at_the_mobile() {
        let line = |way, omitted| arguments("192.0.2.1", "cubic", way, 5, omitted).join(" ");
        assert_eq!(line(Way::Up, 0), "-c 192.0.2.1 -C cubic -J -t 5");
        assert_eq!(line(Way::Down, 1), "-c 192.0.2.1 -C cubic -J -t 5 -O 1 -R");
    }
}
