"""scikit-learn, SciPy and einops compute with tensors, by the array API or by weft.utils.einops.

SciPy reads ``SCIPY_ARRAY_API`` when it is imported. Each library is therefore tried in a process of its own, which
runs this file: every expression is evaluated with NumPy's arrays and with tensors, and has to give the same.
"""

import os
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec

import pytest

SKLEARN = """
    StandardScaler().fit_transform(X)
    MinMaxScaler().fit_transform(X)
    MaxAbsScaler().fit_transform(X)
    Normalizer().fit_transform(X)
    PolynomialFeatures().fit_transform(X)
    Binarizer().fit_transform(X)
    LabelEncoder().fit_transform(labels)
    PCA(2, svd_solver='full').fit(X).explained_variance_
    PCA(2, svd_solver='covariance_eigh').fit(X).explained_variance_
    Ridge(solver='svd').fit(X, y).coef_
    Ridge(solver='svd').fit(X, y).predict(X)
    RidgeCV().fit(X, y).coef_
    RidgeClassifier(solver='svd').fit(X, labels).predict(X)
    LinearDiscriminantAnalysis().fit(X, labels).predict_proba(X)
    GaussianNB().fit(X, labels).predict_proba(X)
    make_pipeline(StandardScaler(), PCA(2, svd_solver='full'), Ridge(solver='svd')).fit(X, y).predict(X)
    train_test_split(X, y, random_state=0)[1]
    cross_val_predict(Ridge(solver='svd'), X, y, cv=3)
    r2_score(y, X[:, 0])
    mean_squared_error(y, X[:, 0])
    mean_absolute_error(y, X[:, 0])
    mean_pinball_loss(y, X[:, 0])
    accuracy_score(labels, guesses)
    f1_score(labels, guesses)
    confusion_matrix(labels, guesses)
    roc_curve(labels, X[:, 0], drop_intermediate=False)[1]
    log_loss(labels, probabilities)
    euclidean_distances(X, X[:3] + 1)
    cosine_similarity(X, X[:3])
    rbf_kernel(X, X[:3])
"""

SCIPY = """
    stats.zscore(X)
    stats.skew(X)
    stats.kurtosis(X)
    stats.variation(X)
    stats.sem(X)
    stats.gmean(probabilities)
    stats.ttest_1samp(X, 0.0).pvalue
    stats.pearsonr(X[:, 0], y).statistic
    stats.normaltest(X).statistic
    special.logsumexp(X, axis=0)
    special.softmax(X, axis=1)
    special.erf(X)
    special.expit(X)
    special.gammaln(probabilities)
    special.xlogy(probabilities, probabilities)
    fft.fft(X)
    fft.rfftn(X)
    fft.dct(X)
    fft.fftshift(X)
    signal.detrend(X)
    signal.fftconvolve(X[:, 0], X[:5, 1])
    signal.hilbert(X[:, 0])
    signal.lfilter(X[:1, 0], X[:1, 1], y)
    signal.savgol_filter(X[:, 0], 5, 2)
    signal.resample(y, 20)
    ndimage.gaussian_filter(X, 1.0)
    ndimage.median_filter(X, 3)
    ndimage.label(X > 0)[0]
    ndimage.zoom(X, 2.0)
    ndimage.distance_transform_edt(X > 0)
    cluster.vq.whiten(X)
    cluster.hierarchy.linkage(X)
    integrate.cumulative_trapezoid(X)
    integrate.tanhsinh(lambda x: x**2, X[0] - X[0], X[0]).integral
    differentiate.derivative(lambda x: x**3, X[0]).df
    spatial.transform.Rotation.from_rotvec(X[:, :3]).as_matrix()
"""

EINOPS = """
    rearrange(X, 'a (b c) -> c (b a)', b=1)
    rearrange([X, X], 'k a b -> a (b k)')
    reduce(X, 'a b -> b', 'mean')
    reduce(X, 'a b -> b', 'max')
    reduce(X, 'a b -> a', 'prod')
    repeat(X, 'a b -> a (b k)', k=2)
    pack([X, X[0]], '* b')[0]
"""

EXPRESSIONS = {"sklearn": SKLEARN, "scipy": SCIPY, "einops": EINOPS, "einops.array_api": EINOPS}


@pytest.mark.parametrize("library", EXPRESSIONS)
def test_results_are_tensors_with_the_values_that_numpys_arrays_give(library):
    if find_spec(library.partition(".")[0]) is None:
        pytest.skip(f"{library} is not installed")
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    done = subprocess.run([sys.executable, __file__, library], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


# In the child


MODULES = {
    "sklearn": "decomposition discriminant_analysis linear_model metrics metrics.pairwise model_selection naive_bayes "
    "pipeline preprocessing",
    "scipy": "cluster differentiate fft integrate ndimage signal spatial special stats",
}


def names_of(library):
    """What the expressions may say: scikit-learn's and einops's functions, and SciPy's modules."""
    modules = {name: import_module(f"{library}.{name}") for name in MODULES.get(library, "").split()}
    if library == "scipy":
        return modules
    if library == "sklearn":
        import_module("sklearn").set_config(array_api_dispatch=True)
        return {name: value for module in modules.values() for name, value in vars(module).items()}
    if library == "einops":
        import_module("weft.utils.einops")
    return dict(vars(import_module(library)))


def data():
    """The arrays that the expressions use."""
    import numpy

    random = numpy.random.default_rng(0)
    X = random.normal(size=(30, 4))
    y = X @ numpy.arange(4.0) + 0.1 * random.normal(size=30)
    guesses = (X[:, 0] > 0).astype(numpy.int64)
    labels = (y > 0).astype(numpy.int64)
    return {"X": X, "y": y, "labels": labels, "guesses": guesses, "probabilities": 1 / (1 + numpy.exp(-X[:, 0]))}


def wrong(expression, names, arrays):
    """What is wrong with an expression's value for tensors; None if nothing is."""
    import numpy

    import weft

    expected = eval(expression, names | arrays)
    try:
        found = eval(expression, names | {name: weft.tensor(array) for name, array in arrays.items()})
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if numpy.ndim(expected) and not isinstance(found, weft.Tensor):
        return f"it is a {type(found).__name__}"
    if not numpy.allclose(numpy.asarray(found), expected):
        return f"it is {found} instead of {expected}"
    return None


def main(library):
    import warnings

    warnings.simplefilter("ignore")  # the libraries' own: of experimental features and deprecated options
    names, arrays = names_of(library), data()
    results = {each.strip(): wrong(each.strip(), names, arrays) for each in EXPRESSIONS[library].strip().splitlines()}
    failures = [f"{expression}\n    {reason}" for expression, reason in results.items() if reason]
    print(*failures, sep="\n")
    return len(failures) > 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
