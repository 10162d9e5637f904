"""Certified estimators: every fit says how far from the optimum it can be at most.

The modules have the names and meanings of the libraries that they replace. Where a meaning differs, the docstring says so
first.

==============  ====================================================  ================================
module          what                                                  replaces
==============  ====================================================  ================================
linear_model    linear and logistic regression, paths, groups         scikit-learn, skglm, group-lasso
crf             taggers of sequences                                  sklearn-crfsuite
bayes           Bayesian networks                                     pgmpy, pyAgrum
covariance      Gaussian graphical models                             scikit-learn, GGLasso
mrf             networks of binary variables, models of alignments    IsingFit, CCMpred
reduction       dimension reduction for regression                    sliced, direpack
causal          identification and estimation of causal effects       y0, dowhy
families        exponential families, generalised linear models       scipy.stats, statsmodels
optimize        linear programs, matrix games                         scipy.optimize
==============  ====================================================  ================================

Every fitted object has ``report_`` (a `Report`), and ``duality_gap_`` where there is one.
"""

from ._control import Report
from ._core import __version__

__all__ = ["Report", "__version__"]
