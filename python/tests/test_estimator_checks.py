"""All checks of scikit-learn, on every estimator."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from fenchel import covariance, linear_model, reduction

# JointGraphicalLasso takes a list of matrices.
ESTIMATORS = [
    getattr(module, name)()
    for module in (linear_model, covariance, reduction)
    for name in module.__all__
    if hasattr(getattr(module, name), "get_params") and name != "JointGraphicalLasso"
]


@parametrize_with_checks(ESTIMATORS)
def test_estimator(estimator, check):
    check(estimator)
