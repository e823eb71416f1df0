"""TorchMetrics: classification, regression, text, image, audio, clustering and wrappers."""

# /// script
# dependencies = ["torchmetrics==1.9.0", "torchvision==0.28.0"]
# ///

import warnings

import torch
import torchmetrics as tm
import torchmetrics.clustering
from torchmetrics import functional as F

warnings.filterwarnings("ignore")
torch.manual_seed(0)
logits = torch.randn(64, 5)
target = torch.randint(5, (64,))
binary, binary_target = torch.rand(64), torch.randint(2, (64,))
multilabel, multilabel_target = torch.rand(64, 3), torch.randint(2, (64, 3))


def show(name, value):
    if isinstance(value, dict):
        for key, each in value.items():
            show(f"{name}.{key}", each)
    elif isinstance(value, tuple | list):
        for key, each in enumerate(value):
            show(f"{name}.{key}", each)
    else:
        flat = torch.as_tensor(value).flatten().tolist()
        print(name, [round(float(v), 4) for v in flat[:6]])


C = tm.classification
for name in (
    "Accuracy",
    "F1Score",
    "Precision",
    "Recall",
    "AUROC",
    "AveragePrecision",
    "ConfusionMatrix",
    "CohenKappa",
    "MatthewsCorrCoef",
    "JaccardIndex",
    "CalibrationError",
    "HammingDistance",
    "Specificity",
    "ROC",
    "PrecisionRecallCurve",
    "HingeLoss",
    "ExactMatch",
    "StatScores",
    "FBetaScore",
):
    more = {"beta": 0.5} if name == "FBetaScore" else {}
    if hasattr(C, f"Multiclass{name}") and name != "ExactMatch":
        metric = getattr(C, f"Multiclass{name}")(num_classes=5, **more)
        metric.update(logits[:32].softmax(-1), target[:32])
        metric.update(logits[32:].softmax(-1), target[32:])
        show(f"multiclass_{name}", metric.compute())
    if hasattr(C, f"Binary{name}"):
        show(f"binary_{name}", getattr(C, f"Binary{name}")(**more)(binary, binary_target))
    if hasattr(C, f"Multilabel{name}"):
        show(f"multilabel_{name}", getattr(C, f"Multilabel{name}")(num_labels=3, **more)(multilabel, multilabel_target))
a, b = torch.randn(50, 2), torch.randn(50, 2)
one, two = a[:, 0].contiguous(), b[:, 0].contiguous()
for metric in (
    tm.MeanSquaredError(),
    tm.MeanAbsoluteError(),
    tm.R2Score(),
    tm.PearsonCorrCoef(),
    tm.SpearmanCorrCoef(),
    tm.ExplainedVariance(),
    tm.ConcordanceCorrCoef(),
    tm.KendallRankCorrCoef(),
    tm.LogCoshError(),
    tm.MeanAbsolutePercentageError(),
    tm.SymmetricMeanAbsolutePercentageError(),
    tm.WeightedMeanAbsolutePercentageError(),
    tm.RelativeSquaredError(),
):
    show(type(metric).__name__, metric(one, two))
show("cosine", tm.CosineSimilarity(reduction="mean")(a, b))
show("kl", tm.KLDivergence()(logits.softmax(-1), logits.flip(0).softmax(-1)))
show("minkowski", tm.MinkowskiDistance(p=3)(one, two))
images, others = torch.rand(2, 3, 64, 64), torch.rand(2, 3, 64, 64)
for metric in (
    tm.image.StructuralSimilarityIndexMeasure(data_range=1.0),
    tm.image.PeakSignalNoiseRatio(data_range=1.0),
    tm.image.TotalVariation(),
    tm.image.UniversalImageQualityIndex(),
    tm.image.SpectralAngleMapper(),
    tm.image.ErrorRelativeGlobalDimensionlessSynthesis(),
    tm.image.RelativeAverageSpectralError(),
    tm.image.RootMeanSquaredErrorUsingSlidingWindow(),
    tm.image.SpatialCorrelationCoefficient(),
    tm.image.VisualInformationFidelity(),
):
    show(type(metric).__name__, metric(images) if type(metric).__name__ == "TotalVariation" else metric(images, others))
sound, clean = torch.randn(2, 400), torch.randn(2, 400)
for metric in (
    tm.audio.SignalNoiseRatio(),
    tm.audio.ScaleInvariantSignalNoiseRatio(),
    tm.audio.ScaleInvariantSignalDistortionRatio(),
    tm.audio.SignalDistortionRatio(filter_length=16),
):
    show(type(metric).__name__, metric(sound, clean))
said, meant = ["the cat sat on the mat", "hello there world"], ["a cat sat on the mat", "hello world"]
for metric in (
    tm.text.WordErrorRate(),
    tm.text.CharErrorRate(),
    tm.text.MatchErrorRate(),
    tm.text.WordInfoLost(),
    tm.text.EditDistance(),
):
    show(type(metric).__name__, metric(said, meant))
show("bleu", tm.text.BLEUScore(n_gram=2)(said, [[m] for m in meant]))
show("chrf", tm.text.CHRFScore()(said, [[m] for m in meant]))
show("perplexity", tm.text.Perplexity()(logits.reshape(4, 16, 5), target.reshape(4, 16)))
indexes = torch.arange(64) // 16
for metric in (
    tm.retrieval.RetrievalMAP(),
    tm.retrieval.RetrievalMRR(),
    tm.retrieval.RetrievalNormalizedDCG(),
    tm.retrieval.RetrievalPrecision(top_k=2),
    tm.retrieval.RetrievalHitRate(top_k=2),
):
    show(type(metric).__name__, metric(binary, binary_target, indexes=indexes))
labels = torch.randint(4, (64,))
for metric in (
    tm.clustering.MutualInfoScore(),
    tm.clustering.RandScore(),
    tm.clustering.AdjustedRandScore(),
    tm.clustering.NormalizedMutualInfoScore(),
    tm.clustering.VMeasureScore(),
    tm.clustering.FowlkesMallowsIndex(),
):
    show(type(metric).__name__, metric(labels, target))
show("calinski", tm.clustering.CalinskiHarabaszScore()(logits, target))
show("davies", tm.clustering.DaviesBouldinScore()(logits, target))
for metric in (
    tm.nominal.CramersV(num_classes=5),
    tm.nominal.TheilsU(num_classes=5),
    tm.nominal.TschuprowsT(num_classes=5),
):
    show(type(metric).__name__, metric(labels, target))
collection = tm.MetricCollection({"acc": C.MulticlassAccuracy(5), "f1": C.MulticlassF1Score(5)}, prefix="val_")
show("collection", collection(logits, target))
mean = tm.MeanMetric()
mean.update(1.0)
mean.update(torch.tensor([2.0, 6.0]))
show("mean", mean.compute())
show("min_max", tm.MinMaxMetric(tm.MeanSquaredError())(one, two))
tracker = tm.MetricTracker(tm.MeanSquaredError())
for _ in range(2):
    tracker.increment()
    tracker.update(one, two)
show("tracker", tracker.best_metric())
show("classwise", tm.ClasswiseWrapper(C.MulticlassRecall(5, average=None))(logits, target))
show("running", tm.wrappers.Running(tm.SumMetric(), window=2)(torch.tensor(3.0)))
show("pairwise", F.pairwise_cosine_similarity(a[:3], b[:2]))
show("composition", (tm.MeanSquaredError() + tm.MeanAbsoluteError())(one, two))
boxes = [{"boxes": torch.tensor([[0.0, 0.0, 10.0, 10.0]]), "scores": torch.tensor([0.9]), "labels": torch.tensor([0])}]
truth = [{"boxes": torch.tensor([[1.0, 1.0, 10.0, 10.0]]), "labels": torch.tensor([0])}]
show("iou", tm.detection.IntersectionOverUnion()(boxes, truth))
show("giou", tm.detection.GeneralizedIntersectionOverUnion()(boxes, truth))
