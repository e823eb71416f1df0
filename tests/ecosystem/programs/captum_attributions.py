"""Captum: gradient, perturbation, layer and neuron attributions of a small network."""

# /// script
# dependencies = ["captum==0.9.0", "scikit-learn==1.9.1"]
# ///

import warnings

import numpy as np
import torch
from captum.attr import (
    LRP,
    DeepLift,
    DeepLiftShap,
    FeatureAblation,
    FeaturePermutation,
    GradientShap,
    GuidedBackprop,
    GuidedGradCam,
    InputXGradient,
    IntegratedGradients,
    InternalInfluence,
    KernelShap,
    LayerActivation,
    LayerConductance,
    LayerGradCam,
    LayerGradientXActivation,
    LayerIntegratedGradients,
    Lime,
    NeuronConductance,
    NeuronGradient,
    NoiseTunnel,
    Occlusion,
    Saliency,
    ShapleyValueSampling,
)
from captum.metrics import infidelity, sensitivity_max

warnings.filterwarnings("ignore")
torch.manual_seed(0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 4, 3, padding=1)
        self.relu1 = torch.nn.ReLU()
        self.pool = torch.nn.MaxPool2d(2)
        self.fc1 = torch.nn.Linear(4 * 4 * 4, 8)
        self.relu2 = torch.nn.ReLU()
        self.fc2 = torch.nn.Linear(8, 3)

    def forward(self, x):
        return self.fc2(self.relu2(self.fc1(self.pool(self.relu1(self.conv(x))).flatten(1))))


net = Net().eval()
x = torch.rand(2, 1, 8, 8, requires_grad=True)
baseline = torch.zeros_like(x)


def show(name, value):
    value = value[0] if isinstance(value, tuple) else value
    value = value.detach().double()
    print(name, list(value.shape), round(value.sum().item(), 4), round(value.abs().sum().item(), 4))


attributions, delta = IntegratedGradients(net).attribute(x, baseline, target=1, return_convergence_delta=True)
show("integrated", attributions)
print("delta", [round(v, 5) for v in delta.tolist()])
show("saliency", Saliency(net).attribute(x, target=1))
show("input_x_gradient", InputXGradient(net).attribute(x, target=1))
show("deep_lift", DeepLift(net).attribute(x, baseline, target=1))
show("deep_lift_shap", DeepLiftShap(net).attribute(x, torch.rand(3, 1, 8, 8), target=1))
show("guided_backprop", GuidedBackprop(net).attribute(x, target=1))
show("guided_grad_cam", GuidedGradCam(net, net.conv).attribute(x, target=1))
show("grad_cam", LayerGradCam(net, net.conv).attribute(x, target=1))
show("interpolated", LayerGradCam.interpolate(LayerGradCam(net, net.pool).attribute(x, target=1), (8, 8)))
show("conductance", LayerConductance(net, net.fc1).attribute(x, baseline, target=1))
show("layer_integrated", LayerIntegratedGradients(net, net.fc1).attribute(x, baseline, target=1))
show("layer_activation", LayerActivation(net, net.relu1).attribute(x))
show("layer_gradient", LayerGradientXActivation(net, net.fc1).attribute(x, target=1))
show("internal", InternalInfluence(net, net.fc1).attribute(x, baseline, target=1))
show("neuron_gradient", NeuronGradient(net, net.fc1).attribute(x, neuron_selector=2))
show("neuron_conductance", NeuronConductance(net, net.fc1).attribute(x, neuron_selector=2, target=1))
show("ablation", FeatureAblation(net).attribute(x, target=1))
show("occlusion", Occlusion(net).attribute(x, sliding_window_shapes=(1, 3, 3), strides=(1, 2, 2), target=1))
show("lrp", LRP(net).attribute(x, target=1))
torch.manual_seed(1)
np.random.seed(1)
show("gradient_shap", GradientShap(net).attribute(x, torch.rand(4, 1, 8, 8), n_samples=3, target=1))
torch.manual_seed(1)
show("noise_tunnel", NoiseTunnel(Saliency(net)).attribute(x, nt_samples=3, stdevs=0.1, target=1))
mask = (torch.arange(64).reshape(1, 1, 8, 8) // 8) % 4
torch.manual_seed(1)
show("shapley", ShapleyValueSampling(net).attribute(x, target=1, feature_mask=mask, n_samples=4))
torch.manual_seed(1)
show("kernel_shap", KernelShap(net).attribute(x, target=1, feature_mask=mask, n_samples=20))
torch.manual_seed(1)
show("lime", Lime(net).attribute(x[:1], target=1, feature_mask=mask, n_samples=20))
torch.manual_seed(1)
show("permutation", FeaturePermutation(net).attribute(x, target=1, feature_mask=mask))
torch.manual_seed(1)
show("sensitivity", sensitivity_max(Saliency(net).attribute, x, target=1, n_perturb_samples=3))


def perturb(inputs):
    noise = torch.randn(inputs.shape) * 0.01
    return noise, inputs - noise


show("infidelity", infidelity(net, perturb, x, attributions, target=1, n_perturb_samples=3))
