use super::*;

#[test]
fn averages_the_window_exactly() {
    let n = 3;
    let (mut tail, mut dual) = (Tail::new(n), vec![0.0; n]);
    let mut history: Vec<Vec<f64>> = vec![];
    for step in 1..=40u32 {
        let j = (step as usize * 7 + step as usize / 4) % n;
        tail.record(j, dual[j]);
        dual[j] = f64::from(step * step % 11);
        history.push(dual.clone());
        tail.mark(&dual);
        // The last but one power of two of passes, in steps.
        let passes = step as usize / n;
        let power = if passes == 0 { 0 } else { 1 << passes.ilog2() };
        let from = if power <= 1 { 0 } else { power / 2 * n };
        let mut average = vec![0.0; n];
        assert!(tail.average(&dual, &mut average));
        for c in 0..n {
            let sum: f64 = history[from..].iter().map(|s| s[c]).sum();
            let expected = sum / (history.len() - from) as f64;
            assert!((average[c] - expected).abs() < 1e-12, "step {step}");
        }
        assert!(2 * from <= step as usize, "half of the steps at least");
    }
}
