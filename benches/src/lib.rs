//! Benchmarks: see the benches folder of this package.
