"""MONAI: transforms, networks, losses, metrics and sliding windows of medical images."""

# /// script
# dependencies = ["monai==1.6.1"]
# ///

import numpy
import torch
from monai.data import DataLoader, Dataset
from monai.inferers import sliding_window_inference
from monai.losses import DiceCELoss, DiceLoss, FocalLoss
from monai.metrics import DiceMetric, HausdorffDistanceMetric
from monai.networks.nets import SegResNet, UNet
from monai.transforms import Compose, EnsureChannelFirst, RandFlip, RandRotate90, ScaleIntensity, Spacing
from monai.utils import set_determinism

set_determinism(0)
rng = numpy.random.default_rng(0)
volumes = [rng.normal(size=(24, 24, 24)).astype("float32") for _ in range(4)]
transform = Compose(
    [EnsureChannelFirst(channel_dim="no_channel"), ScaleIntensity(), RandRotate90(prob=0.5), RandFlip(0.5)]
)
loader = DataLoader(Dataset(volumes, transform), batch_size=2)
for batch in loader:
    print("batch", tuple(batch.shape), batch.mean().item(), type(batch).__name__)
spaced = Spacing(pixdim=(2.0, 2.0, 2.0))(torch.as_tensor(volumes[0])[None])
print("spaced", tuple(spaced.shape), spaced.mean().item())

torch.manual_seed(0)
net = UNet(spatial_dims=3, in_channels=1, out_channels=2, channels=(4, 8, 16), strides=(2, 2), num_res_units=1)
optimizer = torch.optim.Adam(net.parameters(), 1e-2)
loss_fn = DiceCELoss(to_onehot_y=True, softmax=True)
x, y = torch.randn(2, 1, 16, 16, 16), torch.randint(0, 2, (2, 1, 16, 16, 16))
for step in range(4):
    optimizer.zero_grad()
    loss = loss_fn(net(x), y)
    loss.backward()
    optimizer.step()
    print("step", step, "loss", loss.item())
net.eval()
with torch.no_grad():
    out = sliding_window_inference(torch.randn(1, 1, 24, 24, 24), (16, 16, 16), 2, net, overlap=0.25)
print("window", tuple(out.shape), out.mean().item())
prediction = torch.nn.functional.one_hot(net(x).argmax(1), 2).movedim(-1, 1)
truth = torch.nn.functional.one_hot(y[:, 0], 2).movedim(-1, 1)
print("dice", DiceMetric()(prediction, truth).flatten().tolist())
print("hausdorff", HausdorffDistanceMetric()(prediction, truth).flatten().tolist())
print("losses", DiceLoss(sigmoid=True)(net(x), truth.float()).item(), FocalLoss()(net(x), truth.float()).item())
print("segresnet", SegResNet(init_filters=8, out_channels=2)(x).std().item())
