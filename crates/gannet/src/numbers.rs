//! Numbers on the command line: what is not within an option's bounds is refused with these bounds.

use core::fmt;
use core::ops::RangeInclusive;

/// Whole numbers from the first to the last of a range.
pub fn whole<T>(
    range: RangeInclusive<T>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: core::str::FromStr + PartialOrd + fmt::Display + Clone + Send + Sync + 'static,
{
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("a whole number from {} to {} is allowed", range.start(), range.end()))
    }
}

/// Numbers within a range, with or without a fraction.
pub fn real(
    range: RangeInclusive<f64>,
) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("a number from {} to {} is allowed", range.start(), range.end()))
    }
}

/// Powers of two.
pub fn power_of_two(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number: &u32| number.is_power_of_two());
    number.ok_or_else(|| format!("a power of two from 1 to {} is allowed", 1_u32 << 31))
}

/// Has a command take `-1` as the value of an option, so that the error is about that value. Otherwise it would be an option that
/// is not there.
pub fn with_negative(command: clap::Command) -> clap::Command {
    let of_option = |arg: clap::Arg| {
        let takes_one = !arg.is_positional() && arg.get_action().takes_values();
        if takes_one { arg.allow_negative_numbers(true) } else { arg }
    };
    command.mut_args(of_option).mut_subcommands(with_negative)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allowed_is_said() {
        let few = whole(1..=7_u8);
        assert_eq!((few("1"), few("7")), (Ok(1), Ok(7)));
        for wrong in ["0", "8", "-1", "256", "99999999999999999999", "two", "1.5", ""] {
            assert_eq!(few(wrong).unwrap_err(), "a whole number from 1 to 7 is allowed", "{wrong}");
        }
        let share = real(0.0..=1.0);
        assert_eq!((share("0"), share("0.25")), (Ok(0.0), Ok(0.25)));
        for wrong in ["-0.1", "1.1", "nan", "inf", "x", ""] {
            assert_eq!(share(wrong).unwrap_err(), "a number from 0 to 1 is allowed", "{wrong}");
        }
        assert_eq!(power_of_two("16"), Ok(16));
        for wrong in ["0", "3", "-2", "4294967296"] {
            assert!(power_of_two(wrong).unwrap_err().contains("power of two"), "{wrong}");
        }
    }
}
