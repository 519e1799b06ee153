use super::*;

#[test]
fn each_case_of_each_tool_is_in_a_test() {
    testkit::check_cases::<Spotify>(env!("CARGO_MANIFEST_DIR"), ida(), &TEXTS);
}
