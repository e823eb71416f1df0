"""facenet-pytorch: the embedding network without its weights."""

# /// script
# dependencies = ["facenet-pytorch==2.5.3"]
# ///

import torch
from facenet_pytorch import InceptionResnetV1, fixed_image_standardization

torch.manual_seed(0)
model = InceptionResnetV1(pretrained=None).eval()
image = fixed_image_standardization(torch.rand(1, 3, 96, 96) * 255)
with torch.no_grad():
    embedding = model(image)
print("embedding", tuple(embedding.shape), embedding.norm().item(), *embedding[0, :5].tolist())
