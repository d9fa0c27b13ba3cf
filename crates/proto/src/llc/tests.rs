use super::*;

#[test]
fn a_context_is_152_octets() {
    assert!(size_of::<LlcContext>() <= 152, "{}", size_of::<LlcContext>());
}
