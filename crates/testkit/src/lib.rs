//! Helpers of the tests: tshark, network namespaces, captures.
