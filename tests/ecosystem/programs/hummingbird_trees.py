"""Hummingbird: scikit-learn's models as tensor programs."""

# /// script
# dependencies = ["hummingbird-ml==0.4.12", "scikit-learn==1.9.1"]
# ///

import warnings

import numpy as np
from hummingbird.ml import convert
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

warnings.filterwarnings("ignore")
rng = np.random.default_rng(0)
x = rng.normal(size=(80, 6)).astype(np.float32)
y = (x[:, :3].sum(1) > 0).astype(np.int64)
for model in (
    RandomForestClassifier(5, max_depth=4, random_state=0),
    GradientBoostingClassifier(n_estimators=4, random_state=0),
    LogisticRegression(),
    SVC(probability=False, random_state=0),
    make_pipeline(StandardScaler(), LogisticRegression()),
):
    converted = convert(model.fit(x, y), "pytorch")
    same = (converted.predict(x) == model.predict(x)).mean()
    print(type(model).__name__, float(same))
regressor = RandomForestRegressor(4, max_depth=3, random_state=0).fit(x, x[:, 0])
for strategy in ("gemm", "tree_trav", "perf_tree_trav"):
    converted = convert(regressor, "pytorch", extra_config={"tree_implementation": strategy})
    print(strategy, converted.predict(x[:3]).round(4).flatten().tolist())
