use super::*;
use fenchel_optim::random::stream;

#[test]
fn what_is_left_for_all_limits_the_rows() {
    let head = HeadStart { one_in: 5, relative: 0.1 };
    let of = |max_passes, max_seconds| {
        let stop = head.stop(Stop { max_passes, max_seconds, ..Stop::default() });
        (stop.max_passes, stop.max_seconds, stop.relative)
    };
    assert_eq!(of(1e3, None), (100.0, None, 0.1));
    assert_eq!(of(4.0, Some(0.5)), (20.0, Some(0.5), 0.1));
}

#[test]
fn one_row_is_drawn_of_each_block() {
    let head = HeadStart { one_in: 5, relative: 0.1 };
    let mut seen = [0; 13];
    for seed in 0..300 {
        let rows = head.draw(13, &mut stream(seed, 1));
        let blocks: Vec<usize> = rows.iter().map(|i| i / 5).collect();
        assert_eq!(blocks, [0, 1, 2]);
        rows.iter().for_each(|&i| seen[i] += 1);
    }
    // 60 expected, 100 in the short block: six standard deviations.
    let (full, short) = seen.split_at(10);
    assert!(full.iter().all(|s| (60_i32 - s).abs() < 42), "{seen:?}");
    assert!(short.iter().all(|s| (100_i32 - s).abs() < 50), "{seen:?}");
}
