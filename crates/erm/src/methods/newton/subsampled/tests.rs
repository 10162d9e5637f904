use super::*;

#[test]
fn what_is_left_for_all_rows_limits_the_beginning() {
    let left = Stop { max_passes: 6.0, max_seconds: Some(2.5), ..Stop::default() };
    let stop = rough_stop(0.25, left);
    assert_eq!((stop.max_passes, stop.max_seconds, stop.relative), (24.0, Some(2.5), ROUGH));
    assert_eq!(rough_stop(1e-3, left).max_passes, ROUGH_PASSES);
}
