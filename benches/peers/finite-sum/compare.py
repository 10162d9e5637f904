"""The comparison on one data set."""

import dataclasses
import random
import statistics

import ours
import peers
import problems
import search

# Relative suboptimality that we prove, and peers reach.
TARGET = 1e-6
# A cell this slow is timed three times at most.
SLOW = 1.0


@dataclasses.dataclass
class Cell:
    """Seconds of one solver, or the reason why there are none."""

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
    """A solver: the time to reach the target, known with hindsight, and the time to prove it itself."""

    solver: str
    own: bool
    reached: Cell
    proved: Cell

    @property
    def counted(self):
        """What is compared: our proof, and what others reach."""
        return self.proved if self.own else self.reached


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
    objective = best * (1.0 + TARGET)
    usual = max(runner.proof(problem, ours.DEFAULT, TARGET, options.cap) or options.cap for _ in "ab")
    # Whoever needs more than ten times our time is out of the running; the clock of one run alone may be slow.
    cap = min(options.cap, max(0.3, 10.0 * usual))
    rows, work = [], []
    for method in ours.methods(problem):
        rows.append(add_ours(work, runner, problem, method, options.cap if method == ours.DEFAULT else cap))
    for peer in found:
        if peer.fits(problem):
            rows.append(add_peer(work, problem, peer, objective, cap))
    shuffle = random.Random(0)
    for _ in range(options.rounds):
        # In turn, and never in the same order: a slow moment of the machine hits them all alike.
        shuffle.shuffle(work)
        for cell, run in work:
            if len(cell.seconds) < 3 or cell.median < SLOW:
                cell.seconds.append(run())
    return Table(problem, account, cap, rows)


def optimum(runner, problem):
    """The least objective known, and how well it is known."""
    until = {"until": "proof", "relative": 1e-11, "max_seconds": 10.0}
    hard = problem.l1 or problem.a.shape[1] <= 400 or (problem.dense and problem.n < problem.a.shape[1])
    smooth = "auto" if problem.task != "logistic" else "catalyst-exact"
    reply = runner.ask(problem, "newton" if hard else smooth, **until)
    mine = problem.objective(runner.point())
    gap = mine - reply["lower_bound"]
    estimator, by_columns = check(problem)
    estimator.tol = 1e-9
    _, other = peers.timed_fit(estimator, problem, by_columns)
    best = min(mine, other)
    account = f"F* = {best:.13g}: certified gap {gap:.1e}, another solver - ours = {other - mine:+.1e}"
    return best, account


def check(problem):
    """Another solver, with all the iterations that it may want, and whether it works by columns."""
    if problem.task == "counts":
        return peers.scikit_learn_counts("lbfgs")(problem, 3000), False
    if problem.task == "squared" and not problem.l1:
        return peers.scikit_learn_ridge("lsqr")(problem, 10_000), False
    if problem.task == "squared":
        return peers.scikit_learn_net(True)(problem, 10_000), True
    make = peers.scikit_learn("liblinear", **({} if problem.l1 else {"dual": problem.l2 * problem.n > 0.5}))
    return make(problem, 3000), False


def add_ours(work, runner, problem, method, cap):
    """One of our methods until its certificate proves the target; what is to be timed goes to `work`."""
    proved = Cell(search.OVER)
    if runner.proof(problem, method, TARGET, cap) is not None:
        proved.budget = None
        work.append((proved, lambda: runner.proof(problem, method, TARGET, 10 * cap)))
    return Row(method, True, Cell(None), proved)


def add_peer(work, problem, peer, objective, cap):
    """The smallest budget of a peer, and its own proof if it has one."""
    (budget,) = search.smallest_budgets(lambda b: peer.run(problem, b), [objective], cap)
    cell, proved = Cell(budget), Cell(None)
    if isinstance(budget, int):
        work.append((cell, lambda: peer.run(problem, budget)[0]))
        if peer.prove:
            seconds, value = peer.proof(problem, TARGET)
            if seconds > 2 * cap or value > objective:
                proved.budget = search.OVER
            else:
                work.append((proved, lambda: peer.proof(problem, TARGET)[0]))
    return Row(peer.name, False, cell, proved)
