"""x-transformers: a decoder, an encoder and a vision transformer with its options."""

# /// script
# dependencies = ["x-transformers==2.31.10"]
# ///

import torch
from x_transformers import AutoregressiveWrapper, Decoder, Encoder, TransformerWrapper, ViTransformerWrapper

torch.manual_seed(0)
options = {"rotary_pos_emb": True, "attn_qk_norm": True, "ff_glu": True, "use_rmsnorm": True}
model = AutoregressiveWrapper(
    TransformerWrapper(num_tokens=64, max_seq_len=32, attn_layers=Decoder(dim=32, depth=2, heads=4, **options))
)
tokens = torch.randint(0, 64, (2, 20))
loss = model(tokens)
loss.backward()
print("loss", loss.item(), "gradient", sum(p.grad.abs().sum() for p in model.parameters() if p.grad is not None).item())
model.eval()
print("generated", model.generate(tokens[:, :4], 8, temperature=0.0).tolist())
encoder = TransformerWrapper(
    num_tokens=64, max_seq_len=32, attn_layers=Encoder(dim=32, depth=2, heads=4, alibi_pos_bias=True)
)
print("encoder", encoder(tokens, mask=tokens > 3).std().item())
vit = ViTransformerWrapper(image_size=32, patch_size=8, num_classes=5, attn_layers=Encoder(dim=32, depth=2, heads=4))
print("vit", *vit(torch.randn(1, 3, 32, 32)).flatten().tolist())
