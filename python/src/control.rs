//! When a fit ends, and how it runs.

use std::any::Any;
use std::error::Error;
use std::fmt::Display;
use std::ops::{ControlFlow, Range};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use fenchel::optim::{Progress, Stop};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::error::Raise;

/// How long the calling thread sleeps between two looks at Ctrl-C and at the progress.
const NAP: Duration = Duration::from_millis(50);

/// The stack of a fit: as large as that of a main thread.
const STACK: usize = 8 << 20;

/// The attributes of `fenchel._control.Control`.
#[derive(FromPyObject)]
pub(crate) struct Control {
    /// Largest certificate, relative to the objective.
    tol: f64,
    /// Largest number of passes.
    max_iter: f64,
    /// Largest number of seconds.
    max_seconds: Option<f64>,
    /// Seed of visiting orders and folds.
    pub(crate) seed: u64,
    /// Number of threads; `None` for those of the machine.
    threads: Option<usize>,
    /// Called with passes, objective, certificate and seconds from time to time.
    show: Option<Py<PyAny>>,
}

/// The closure that a crate calls at every pass.
pub(crate) type Watcher<'a> = &'a mut (dyn FnMut(&Progress) -> ControlFlow<()> + Send);

/// What the thread of the fit and the calling thread share.
#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    done: Mutex<bool>,
    ended: Condvar,
    latest: Mutex<Option<Progress>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says that the fit has ended, also when it panics.
struct End<'a>(&'a Shared);

impl Drop for End<'_> {
    fn drop(&mut self) {
        *lock(&self.0.done) = true;
        self.0.ended.notify_all();
    }
}

impl Control {
    /// The stopping rule.
    pub(crate) fn stop(&self) -> Stop {
        let base = Stop::default();
        Stop {
            // A smaller tolerance is meant, also where the objective is small.
            absolute: base.absolute.min(self.tol),
            relative: self.tol,
            max_passes: self.max_iter,
            max_seconds: self.max_seconds,
            ..base
        }
    }

    /// Runs a fit without the interpreter's lock, on a thread of its own. The calling thread waits. It raises what a signal
    /// raises (Ctrl-C: `KeyboardInterrupt`) after the fit has ended at its next pass, and shows the progress. Signals are
    /// answered by the main thread only, which is why the fit itself, on threads of a pool perhaps, cannot look for them.
    pub(crate) fn run<T: Send, E: Raise + Send>(
        &self,
        py: Python<'_>,
        fit: impl FnOnce(Watcher<'_>) -> Result<T, E> + Send,
    ) -> PyResult<T> {
        let shared = Shared::default();
        let pool = pool(self.threads)?;
        let watched = self.show.is_some();
        let mut raised = None;
        let result = py.detach(|| {
            thread::scope(|scope| {
                let work = || {
                    let _end = End(&shared);
                    let mut watch = |progress: &Progress| {
                        if watched {
                            *lock(&shared.latest) = Some(*progress);
                        }
                        if shared.stop.load(Ordering::Relaxed) {
                            return ControlFlow::Break(());
                        }
                        ControlFlow::Continue(())
                    };
                    match &pool {
                        Some(pool) => pool.install(|| fit(&mut watch)),
                        None => fit(&mut watch),
                    }
                };
                let worker = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
                let worker = worker.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
                while !shared.wait() {
                    if raised.is_none()
                        && let Err(error) = Python::attach(|py| self.attend(py, &shared))
                    {
                        shared.stop.store(true, Ordering::Relaxed);
                        raised = Some(error);
                    }
                }
                worker.join().map_err(defect)
            })
        });
        match raised {
            Some(error) => Err(error),
            None => result?.map_err(Raise::raise),
        }
    }

    /// Answers signals, and shows the progress.
    fn attend(&self, py: Python<'_>, shared: &Shared) -> PyResult<()> {
        py.check_signals()?;
        let latest = lock(&shared.latest).take();
        if let (Some(show), Some(progress)) = (&self.show, latest) {
            let Progress { passes, seconds, certificate, .. } = progress;
            show.call1(py, (passes, certificate.objective(), certificate.value(), seconds))?;
        }
        Ok(())
    }
}

/// The exception for a panic.
fn defect(panic: Box<dyn Any + Send>) -> PyErr {
    let said = panic.downcast_ref::<String>().map(String::as_str);
    let said = said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    PyRuntimeError::new_err(format!("a defect of fenchel, please report it: {said}"))
}

/// Does something short, which nobody watches, without the interpreter's lock.
pub(crate) fn detached<T: Send, E: Raise + Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, E> + Send,
) -> PyResult<T> {
    let pool = pool(None)?;
    let caught = py.detach(|| {
        // What the work has changed when it panics is not looked at again.
        catch_unwind(AssertUnwindSafe(|| match pool {
            Some(pool) => pool.install(work),
            None => work(),
        }))
    });
    caught.map_err(defect)?.map_err(Raise::raise)
}

/// Does something for `0..total` in pieces of at most `size`, each [`detached`], and answers signals between them.
pub(crate) fn pieces<E: Raise + Send>(
    py: Python<'_>,
    total: usize,
    size: usize,
    mut work: impl FnMut(Range<usize>) -> Result<(), E> + Send,
) -> PyResult<()> {
    for first in (0..total).step_by(size) {
        py.check_signals()?;
        detached(py, || work(first..total.min(first + size)))?;
    }
    Ok(())
}

/// The process in which the first fit ran, and why its threads could not be started. Started here, they end in an error; started by
/// the first loop, in a panic.
static FIRST: OnceLock<(u32, Option<String>)> = OnceLock::new();

/// A pool of so many threads, or `None` for the pool of the process. The threads of that do not survive a fork, after which a
/// fit on it would wait for ever: the child gets a pool of its own.
fn pool(threads: Option<usize>) -> PyResult<Option<rayon::ThreadPool>> {
    let process = std::process::id();
    let no_threads =
        |why: &dyn Display| PyRuntimeError::new_err(format!("threads cannot be started: {why}"));
    let builder = || rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0));
    if threads.is_none() {
        let (first, failure) = FIRST.get_or_init(|| {
            let failure = builder().build_global().err();
            // Without a source it is that they run already.
            (process, failure.filter(|e| e.source().is_some()).map(|e| e.to_string()))
        });
        if *first == process {
            return failure.as_ref().map_or(Ok(None), |why| Err(no_threads(why)));
        }
    }
    builder().build().map(Some).map_err(|error| no_threads(&error))
}

impl Shared {
    /// Waits for the end, but not long. Returns whether the fit has ended.
    fn wait(&self) -> bool {
        let ended = self.ended.wait_timeout_while(lock(&self.done), NAP, |done| !*done);
        *ended.unwrap_or_else(PoisonError::into_inner).0
    }
}
