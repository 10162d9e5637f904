"""The other tools: their networks from our numbers, and all posteriors by their engines."""

import time

import numpy
import pyagrum


def agrum_network(network):
    """A `pyagrum.BayesNet`."""
    cards = network["cards"]
    net = pyagrum.BayesNet()
    nodes = [net.add(pyagrum.LabelizedVariable(f"v{k}", "", card)) for k, card in enumerate(cards)]
    for scope, _ in network["tables"]:
        for parent in scope[:-1]:
            net.addArc(nodes[parent], nodes[scope[-1]])
    for scope, values in network["tables"]:
        table = net.cpt(nodes[scope[-1]])
        array = numpy.array(values).reshape([cards[v] for v in scope])
        # Its arrays have the first of `names` as the last axis.
        axes = [scope.index(int(name[1:])) for name in reversed(table.names)]
        if table.toarray().shape != tuple(array.shape[axis] for axis in axes):
            axes.reverse()
        table[:] = numpy.ascontiguousarray(array.transpose(axes))
    return net


def lazy(net):
    """Lazy propagation."""
    return _all_posteriors(pyagrum.LazyPropagation, net)


def shafer_shenoy(net):
    """Shafer-Shenoy."""
    return _all_posteriors(pyagrum.ShaferShenoyInference, net)


def _all_posteriors(engine, net):
    nodes = sorted(net.nodes())
    start = time.perf_counter()
    inference = engine(net)
    inference.setNumberOfThreads(1)
    inference.makeInference()
    posteriors = [inference.posterior(node) for node in nodes]
    seconds = time.perf_counter() - start
    return seconds, [posterior.tolist() for posterior in posteriors]


def cells(net, cards):
    """Cells of the cliques of its junction tree."""
    tree = pyagrum.LazyPropagation(net).junctionTree()
    return sum(int(numpy.prod([cards[v] for v in tree.clique(k)])) for k in tree.nodes())

