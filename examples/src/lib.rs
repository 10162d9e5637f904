//! Short programs, one a task: see the examples folder of this package.
