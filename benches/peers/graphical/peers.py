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


def pgmpy_network(network):
    """A pgmpy network."""
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    cards = network["cards"]
    net = DiscreteBayesianNetwork()
    net.add_nodes_from([str(k) for k in range(len(cards))])
    for scope, values in network["tables"]:
        *parents, child = scope
        net.add_edges_from([(str(p), str(child)) for p in parents])
        table = numpy.array(values).reshape(-1, cards[child]).T
        evidence = [str(p) for p in parents] or None
        sizes = [cards[p] for p in parents] or None
        net.add_cpds(TabularCPD(str(child), cards[child], table, evidence, sizes))
    return net


def pgmpy(net):
    """Its junction tree, then a query for every variable."""
    from pgmpy.inference import BeliefPropagation

    start = time.perf_counter()
    inference = BeliefPropagation(net)
    inference.calibrate()
    for node in net.nodes():
        # From the clique beliefs, as a user would who wants speed.
        beliefs = inference.get_clique_beliefs()
        clique = min((c for c in beliefs if node in c), key=lambda c: beliefs[c].values.size)
        beliefs[clique].marginalize([v for v in clique if v != node], inplace=False)
    return time.perf_counter() - start
