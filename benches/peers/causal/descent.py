"""Averaged stochastic gradient descent on two categorical variables in numpy: one run after the other, and all runs at once."""

import numpy


def log_softmax(s):
    """Along the last axis."""
    s = s - s.max(axis=-1, keepdims=True)
    return s - numpy.log(numpy.exp(s).sum(axis=-1, keepdims=True))


def divergence(log_p, log_q):
    """KL, over the last two axes."""
    return (numpy.exp(log_p) * (log_p - log_q)).sum(axis=(-2, -1))


def one_run(start, samples, target, step, every=10):
    """The curve of KL(target || average) for one model; samples have the model's marginal variable first."""
    s = numpy.array(start["marginal"])
    k = len(s)
    rows = numpy.array(start["conditional"]).reshape(k, -1)
    sum_s, sum_rows = numpy.zeros_like(s), numpy.zeros_like(rows)
    curve = [divergence(target, log_softmax(s)[:, None] + log_softmax(rows))]
    for t, (a, b) in enumerate(samples, 1):
        sum_s += s
        sum_rows += rows
        p = numpy.exp(s - s.max())
        s -= (step / p.sum()) * p
        s[a] += step
        row = rows[a]
        p = numpy.exp(row - row.max())
        row -= (step / p.sum()) * p
        row[b] += step
        if t % every == 0:
            log_q = log_softmax(sum_s / t)[:, None] + log_softmax(sum_rows / t)
            curve.append(divergence(target, log_q))
    return curve


def all_runs(starts, samples, targets, step, every=10):
    """The same for all runs at once: arrays with the run as first axis."""
    s = numpy.array([start["marginal"] for start in starts])
    runs, k = s.shape
    rows = numpy.array([start["conditional"] for start in starts]).reshape(runs, k, -1)
    sum_s, sum_rows = numpy.zeros_like(s), numpy.zeros_like(rows)
    each = numpy.arange(runs)
    curves = [divergence(targets, log_softmax(s)[:, :, None] + log_softmax(rows))]
    for t in range(1, samples.shape[1] + 1):
        a, b = samples[:, t - 1, 0], samples[:, t - 1, 1]
        sum_s += s
        sum_rows += rows
        s -= step * numpy.exp(log_softmax(s))
        s[each, a] += step
        rows[each, a] -= step * numpy.exp(log_softmax(rows[each, a]))
        rows[each, a, b] += step
        if t % every == 0:
            log_q = log_softmax(sum_s / t)[:, :, None] + log_softmax(sum_rows / t)
            curves.append(divergence(targets, log_q))
    return numpy.array(curves).T
