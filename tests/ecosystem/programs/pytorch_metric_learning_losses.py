"""pytorch-metric-learning: losses, miners and retrieval accuracy."""

# /// script
# dependencies = ["pytorch-metric-learning==2.9.0"]
# ///

import torch
from pytorch_metric_learning import distances, losses, miners, reducers
from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator
from pytorch_metric_learning.utils.inference import CustomKNN

torch.manual_seed(0)
x = torch.randn(32, 16, requires_grad=True)
labels = torch.randint(0, 4, (32,))
for name in "TripletMarginLoss ContrastiveLoss NTXentLoss MultiSimilarityLoss CircleLoss SupConLoss".split():
    loss = getattr(losses, name)()(x, labels)
    (gradient,) = torch.autograd.grad(loss, x)
    print(name, loss.item(), gradient.norm().item())
proxies = losses.ArcFaceLoss(num_classes=4, embedding_size=16)
print("arcface", proxies(x, labels).item())
pairs = miners.MultiSimilarityMiner()(x, labels)
print(
    "mined",
    [len(p) for p in pairs],
    losses.TripletMarginLoss(distance=distances.CosineSimilarity(), reducer=reducers.ThresholdReducer(low=0))(
        x, labels, pairs
    ).item(),
)
knn = CustomKNN(distances.LpDistance())
print(
    AccuracyCalculator(k=3, knn_func=knn, include=("precision_at_1", "r_precision")).get_accuracy(
        x.detach(), labels, x.detach(), labels, True
    )
)
