//! The tests of the public interface, one program: `cargo test -p fenchel-datasets --test suite FILE::`.

mod encoder;
mod libsvm_text;
#[cfg(feature = "parquet")]
mod parquet_files;
mod real_data;
