"""The comparison on one data set."""

import dataclasses
import random
import statistics

import ours
import peers
import problems
import search

TARGETS = (1e-4, 1e-8)
# A cell this slow is timed three times at most.
SLOW = 1.0


@dataclasses.dataclass
class Cell:
    """Seconds of one solver to one target, or the reason why there are none."""

    budget: int | str | None
    seconds: list = dataclasses.field(default_factory=list)

    @property
    def median(self):
        """Median of the rounds, or None."""
        return statistics.median(self.seconds) if self.seconds else None

    @property
    def quickest(self):
        """The quickest round, which other work on the machine has disturbed least, or None."""
        return min(self.seconds, default=None)


@dataclasses.dataclass
class Row:
    """A solver: cells for TARGETS, and for proving them itself."""

    solver: str
    own: bool
    reached: list
    proved: list


@dataclasses.dataclass
class Table:
    """All solvers on one problem."""

    problem: problems.Problem
    optimum: str
    cap: float
    rows: list


def data_set(program, stem, found, options):
    """A table for every problem of a data set, one by one."""
    with ours.Runner(program, stem) as runner:
        for problem in problems.of(stem):
            yield one(runner, problem, found, options)


def one(runner, problem, found, options):
    """Optimum, budgets, timings."""
    best, account = optimum(runner, problem)
    objectives = [best * (1.0 + target) for target in TARGETS]
    rows, work = [], []
    for method in ours.methods(problem):
        rows.append(add_ours(work, runner, problem, method, objectives, options.cap))
    for peer in found:
        if peer.fits(problem):
            rows.append(add_peer(work, problem, peer, objectives, options.cap))
    shuffle = random.Random(0)
    for _ in range(options.rounds):
        # In turn, and never in the same order: a slow moment of the machine hits them all alike.
        shuffle.shuffle(work)
        for cell, run in work:
            if len(cell.seconds) < 3 or cell.median < SLOW:
                cell.seconds.append(run())
    return Table(problem, account, options.cap, rows)


def optimum(runner, problem):
    """The least objective known, and how well it is known."""
    until = {"until": "proof", "relative": 1e-12, "max_seconds": 15.0}
    reply = runner.ask(problem, "newton" if problem.l1 else "catalyst-exact", **until)
    mine = problem.objective(runner.point())
    gap = mine - reply["lower_bound"]
    make = peers.scikit_learn("liblinear", **({} if problem.l1 else {"dual": True}))
    estimator = make(problem, 5000)
    estimator.tol = 1e-11
    _, other = peers.timed_fit(estimator, problem)
    best = min(mine, other)
    account = f"F* = {best:.13f}: certified gap {gap:.1e}, liblinear - ours = {other - mine:+.1e}"
    return best, account


def add_ours(work, runner, problem, method, objectives, cap):
    """Budgets of one of our methods; what is to be timed goes to `work`."""
    row = Row(method, True, [], [])
    for objective, target in zip(objectives, TARGETS):
        cell = Cell(search.OVER)
        passes = runner.smallest_passes(problem, method, objective, target, cap)
        if passes is not None:
            run = lambda p, t=target: runner.passes(problem, method, p, t)
            # The watched run rounds elsewhere; what counts is the run that is timed.
            seconds, value = run(passes)
            while value > objective and seconds <= cap:
                passes += 1
                seconds, value = run(passes)
            if seconds <= cap:
                cell.budget = passes
                work.append((cell, lambda p=passes, r=run: r(p)[0]))
        row.reached.append(cell)
        proved = Cell(search.OVER)
        if cell.budget != search.OVER and runner.proof(problem, method, target, cap) is not None:
            proved.budget = None
            prove = lambda t=target: runner.proof(problem, method, t, 10 * cap)
            work.append((proved, prove))
        row.proved.append(proved)
    return row


def add_peer(work, problem, peer, objectives, cap):
    """The same for another's solver."""
    row = Row(peer.name, False, [], [])
    budgets = search.smallest_budgets(lambda b: peer.run(problem, b), objectives, cap)
    for objective, target, budget in zip(objectives, TARGETS, budgets):
        cell = Cell(budget)
        if isinstance(budget, int):
            work.append((cell, lambda b=budget: peer.run(problem, b)[0]))
        row.reached.append(cell)
        proved = Cell(None)
        if peer.prove and isinstance(budget, int):
            seconds, value = peer.proof(problem, target)
            if seconds > cap or value > objective:
                proved.budget = search.OVER
            else:
                work.append((proved, lambda t=target: peer.proof(problem, t)[0]))
        row.proved.append(proved)
    return row


def saga_epochs(program, stem, options):
    """Seconds of one epoch of SAGA with l1, ours against scikit-learn's: a difference of two runs, so
    that setting up does not count."""
    problem = problems.of(stem)[-1]
    peer = peers.Peer("scikit-learn saga", None, peers.scikit_learn("saga"))
    mine, theirs = [], []
    with ours.Runner(program, stem) as runner:
        for _ in range(max(3, options.rounds)):
            mine.append([runner.passes(problem, "saga", passes, 0.0)[0] for passes in (11, 31)])
            theirs.append([peer.run(problem, budget)[0] for budget in (2, 4)])
    a, b = per_epoch(mine, 20), per_epoch(theirs, 2)
    return (
        f"SAGA with l1, one epoch on {problem.data}: Fenchel {1e3 * a:.2f} ms, "
        f"scikit-learn {1e3 * b:.1f} ms, ratio {b / a:.0f}"
    )


def per_epoch(pairs, epochs):
    """Seconds an epoch, from the quickest short run and the quickest long one."""
    short, long = (min(column) for column in zip(*pairs))
    return (long - short) / epochs
