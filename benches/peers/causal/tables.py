"""Formulas as numbers: tables with one axis a node, of length 1 where the node does not occur."""

import numpy


class Tables:
    """Conditionals of a joint law over binary nodes."""

    def __init__(self, joint, nodes):
        self.joint = numpy.array(joint).reshape([2] * nodes)

    def marginal(self, of):
        """P(of)."""
        gone = tuple(k for k in range(self.joint.ndim) if k not in of)
        return self.joint.sum(axis=gone, keepdims=True) if gone else self.joint

    def conditional(self, of, given):
        """P(of | given)."""
        return self.marginal(set(of) | set(given)) / self.marginal(set(given))

    def add_up(self, table, over):
        """The sum over nodes; a node that does not occur counts twice."""
        for k in over:
            table = table.sum(axis=k, keepdims=True) if table.shape[k] == 2 else 2.0 * table
        return table

    def adjusted(self, x, y, given):
        """sum_z P(z) P(y | x, z)."""
        return self.add_up(self.marginal(set(given)) * self.conditional({y}, {x, *given}), given)

    def front_door(self, x, y, mediators):
        """sum_m P(m | x) sum_x' P(x') P(y | m, x')."""
        second = self.add_up(self.marginal({x}) * self.conditional({y}, {x, *mediators}), {x})
        return self.add_up(self.conditional(mediators, {x}) * second, mediators)


def error(table, query):
    """The largest difference from the truth, for every value of what the formula leaves open."""
    nodes, x, y = table.ndim, query["x"], query["y"]
    truth = numpy.array(query["truth"]).reshape(2, 2)
    truth = truth if x < y else truth.T
    shape = [2 if k in (x, y) else 1 for k in range(nodes)]
    found = float(numpy.abs(table - truth.reshape(shape)).max())
    return found if found == found else float("inf")
