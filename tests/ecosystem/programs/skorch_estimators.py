"""skorch: scikit-learn's estimators, pipelines, grid search, callbacks and saved parameters."""

# /// script
# dependencies = ["scikit-learn==1.9.1", "skorch==1.4.0"]
# ///

import io
import warnings

import numpy as np
import torch
from sklearn.datasets import make_classification, make_regression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetClassifier, NeuralNetRegressor
from skorch.callbacks import EarlyStopping, EpochScoring, GradientNormClipping, LRScheduler

warnings.filterwarnings("ignore")
X, y = make_classification(200, 10, n_informative=5, random_state=0)
X, y = X.astype(np.float32), y.astype(np.int64)


class Net(torch.nn.Module):
    def __init__(self, num_units=10):
        super().__init__()
        self.dense = torch.nn.Linear(10, num_units)
        self.dropout = torch.nn.Dropout(0.2)
        self.output = torch.nn.Linear(num_units, 2)

    def forward(self, X):
        return torch.softmax(self.output(self.dropout(torch.relu(self.dense(X)))), dim=-1)


torch.manual_seed(0)
net = NeuralNetClassifier(
    Net,
    max_epochs=5,
    lr=0.1,
    batch_size=32,
    verbose=0,
    callbacks=[
        EpochScoring("roc_auc", lower_is_better=False),
        LRScheduler("StepLR", step_size=2),
        GradientNormClipping(1.0),
        EarlyStopping(patience=10),
    ],
)
net.fit(X, y)
print("train", [round(v, 5) for v in net.history[:, "train_loss"]])
print("valid", [round(v, 5) for v in net.history[:, "valid_loss"]], [round(v, 4) for v in net.history[:, "roc_auc"]])
print("proba", net.predict_proba(X[:3]).round(4).tolist(), "score", net.score(X, y))
file = io.BytesIO()
net.save_params(f_params=file)
file.seek(0)
other = NeuralNetClassifier(Net).initialize()
other.load_params(f_params=file)
print("loaded", float(np.abs(other.predict_proba(X) - net.predict_proba(X)).max()))
pipe = Pipeline([("scale", StandardScaler()), ("net", NeuralNetClassifier(Net, max_epochs=3, lr=0.1, verbose=0))])
print("pipe", pipe.fit(X, y).score(X, y))
search = GridSearchCV(
    NeuralNetClassifier(Net, verbose=0, train_split=False), {"lr": [0.05, 0.2], "max_epochs": [2, 3]}, cv=2, refit=False
)
torch.manual_seed(0)
search.fit(X, y)
print("search", search.best_params_, search.cv_results_["mean_test_score"].round(4).tolist())
Xr, yr = make_regression(100, 10, random_state=0)
torch.manual_seed(0)
regressor = NeuralNetRegressor(torch.nn.Linear, module__in_features=10, module__out_features=1, max_epochs=4, verbose=0)
scores = cross_val_score(regressor, Xr.astype(np.float32), (yr[:, None] / 100).astype(np.float32), cv=2)
print("regression", scores.round(4).tolist())
