"""diffusers with random weights: a UNet trained and sampled, schedulers, an autoencoder, Stable Diffusion."""

# /// script
# dependencies = ["diffusers==0.42.1", "transformers==5.23.0", "accelerate==1.15.0"]
# ///

import tempfile

import torch
import transformers
from diffusers import (
    AutoencoderKL,
    DDIMScheduler,
    DDPMPipeline,
    DDPMScheduler,
    DPMSolverMultistepScheduler,
    EulerAncestralDiscreteScheduler,
    EulerDiscreteScheduler,
    FlowMatchEulerDiscreteScheduler,
    HeunDiscreteScheduler,
    LMSDiscreteScheduler,
    PNDMScheduler,
    StableDiffusionPipeline,
    UNet2DConditionModel,
    UNet2DModel,
    UniPCMultistepScheduler,
)
from diffusers.optimization import get_cosine_schedule_with_warmup
from diffusers.training_utils import EMAModel
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import CLIPTextConfig, CLIPTextModel, PreTrainedTokenizerFast

transformers.logging.set_verbosity_error()


def show(name, tensor):
    tensor = torch.as_tensor(tensor).detach().double().flatten()
    places = torch.linspace(0, len(tensor) - 1, 4).long()
    print(name, len(tensor), *(f"{value:.5f}" for value in [tensor.mean(), tensor.std(), *tensor[places]]))


def unet():
    torch.manual_seed(0)
    return UNet2DModel(
        sample_size=16, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(8, 16),
        norm_num_groups=4,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        attention_head_dim=4,
    )  # fmt: skip


model, noising = unet(), DDPMScheduler(num_train_timesteps=50)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
schedule = get_cosine_schedule_with_warmup(optimizer, 2, 8)
average = EMAModel(model.parameters(), decay=0.9)
torch.manual_seed(1)
for step in range(5):
    clean, noise = torch.rand(4, 1, 16, 16) * 2 - 1, torch.randn(4, 1, 16, 16)
    times = torch.randint(0, 50, (4,))
    predicted = model(noising.add_noise(clean, noise, times), times).sample
    loss = torch.nn.functional.mse_loss(predicted, noise)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    optimizer.zero_grad()
    average.step(model.parameters())
    print("training", step, f"{loss.item():.5f} {schedule.get_last_lr()[0]:.6f}")
show("average", average.shadow_params[0])
with tempfile.TemporaryDirectory() as folder:
    model.save_pretrained(folder)
    read = UNet2DModel.from_pretrained(folder)
    print("read", all(torch.equal(a, b) for a, b in zip(model.parameters(), read.parameters(), strict=True)))

model.eval()
SCHEDULERS = [
    DDPMScheduler, DDIMScheduler, PNDMScheduler, EulerDiscreteScheduler, EulerAncestralDiscreteScheduler,
    LMSDiscreteScheduler, HeunDiscreteScheduler, DPMSolverMultistepScheduler, UniPCMultistepScheduler,
]  # fmt: skip
for kind in SCHEDULERS:
    scheduler = kind(num_train_timesteps=50)
    scheduler.set_timesteps(5)
    generator = torch.Generator().manual_seed(3)
    sample = torch.randn(1, 1, 16, 16, generator=generator) * scheduler.init_noise_sigma
    drawn = {"generator": generator} if "generator" in kind.step.__code__.co_varnames else {}
    with torch.no_grad():
        for time in scheduler.timesteps:
            predicted = model(scheduler.scale_model_input(sample, time), time).sample
            sample = scheduler.step(predicted, time, sample, **drawn).prev_sample
    show(kind.__name__, sample)
flow = FlowMatchEulerDiscreteScheduler()
flow.set_timesteps(4)
show("flow sigmas", flow.sigmas)
pipeline = DDPMPipeline(model, DDPMScheduler(num_train_timesteps=50))
pipeline.set_progress_bar_config(disable=True)
generator = torch.Generator().manual_seed(4)
show("DDPMPipeline", pipeline(generator=generator, num_inference_steps=3, output_type="np").images)

torch.manual_seed(0)
vae = AutoencoderKL(
    in_channels=3, out_channels=3, latent_channels=4, sample_size=32, norm_num_groups=4, block_out_channels=(8, 16),
    down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
)  # fmt: skip
picture = torch.rand(1, 3, 32, 32)
posterior = vae.encode(picture).latent_dist
latent = posterior.sample(torch.Generator().manual_seed(1))
decoded = vae.decode(latent).sample
loss = torch.nn.functional.mse_loss(decoded, picture) + 0.1 * posterior.kl().mean()
loss.backward()
show("latent", latent)
show("decoded", decoded)
print("autoencoder", f"{loss.item():.5f}", f"{vae.encoder.conv_in.weight.grad.norm().item():.5f}")

torch.manual_seed(0)
conditional = UNet2DConditionModel(
    sample_size=16, in_channels=4, out_channels=4, layers_per_block=1, block_out_channels=(8, 16), norm_num_groups=4,
    down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    cross_attention_dim=32, attention_head_dim=4,
)  # fmt: skip
words = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "a", "red", "cat", "dog", "on", "the", "mat"])}
tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
text_encoder = CLIPTextModel(
    CLIPTextConfig(vocab_size=9, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40,
                   max_position_embeddings=16, eos_token_id=0, bos_token_id=0, pad_token_id=0)
)  # fmt: skip
pipeline = StableDiffusionPipeline(
    vae=vae.eval(), text_encoder=text_encoder.eval(), unet=conditional.eval(), scheduler=DDIMScheduler(),
    tokenizer=PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", model_max_length=16),
    safety_checker=None, feature_extractor=None, requires_safety_checker=False,
)  # fmt: skip
pipeline.set_progress_bar_config(disable=True)
options = {"num_inference_steps": 3, "output_type": "np", "height": 32, "width": 32}
made = pipeline("a red cat on the mat", generator=torch.Generator().manual_seed(2), **options)
show("StableDiffusionPipeline", made.images)
pipeline.enable_attention_slicing()
made = pipeline(["a dog", "a cat"], generator=torch.Generator().manual_seed(2), guidance_scale=1.0, **options)
show("StableDiffusionPipeline unguided", made.images)
