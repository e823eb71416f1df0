"""open_clip: a small CLIP without pre-trained weights, its loss and similarities."""

# /// script
# dependencies = ["open-clip-torch==3.3.0"]
# ///

import open_clip
import torch

torch.manual_seed(0)
vision = {"image_size": 32, "layers": 2, "width": 64, "patch_size": 8}
text = {"context_length": 16, "vocab_size": 49408, "width": 64, "heads": 4, "layers": 2}
model = open_clip.CLIP(embed_dim=32, vision_cfg=vision, text_cfg=text)
tokens = open_clip.SimpleTokenizer(context_length=16)(["a dog", "a cat on a mat", "héllo wörld"])
print("tokens", tokens.tolist())
image = torch.randn(3, 3, 32, 32)
features, words, scale = model(image, tokens)
print("similarity", (features @ words.T).flatten().tolist(), scale.item())
loss = open_clip.ClipLoss()(features, words, scale)
loss.backward()
print("loss", loss.item(), "gradient", model.visual.conv1.weight.grad.norm().item())
