"""Pipelines of transformers with tiny random models and tokenizers that are built here."""

# /// script
# dependencies = ["transformers==5.23.0"]
# ///

import numpy as np
import torch
import transformers
from PIL import Image
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
    ViTConfig,
    ViTForImageClassification,
    ViTImageProcessor,
    pipeline,
)

transformers.logging.set_verbosity_error()
WORDS = "the a cat dog bird sat ran flew on over mat tree house big small red blue and who where is in".split()
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def tokenizer():
    vocabulary = {word: index for index, word in enumerate(SPECIAL + WORDS)}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), SPECIAL, strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=32, **names)


def bert(kind, **options):
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 40}
    config = BertConfig(vocab_size=len(SPECIAL) + len(WORDS), initializer_range=0.2, **sizes, **options)
    return kind(config).eval()


def run(task, model, *inputs, **options):
    preprocessor = {} if "image_processor" in options else {"tokenizer": tokenizer()}
    made = pipeline(task, model=model, device="cpu", **preprocessor, **options.pop("making", {}), **options)
    return made(*inputs)


def show(task, *values):
    print(task, *(f"{value:.5f}" if isinstance(value, float) else value for value in values))


text = "the big cat sat on the red mat"
for found in run("text-classification", bert(BertForSequenceClassification), [text, "a dog ran"], top_k=None):
    show("text-classification", *(x for each in found for x in (each["label"], each["score"])))
for found in run("fill-mask", bert(BertForMaskedLM), "the cat [MASK] on the mat"):
    show("fill-mask", found["token_str"], found["score"])
for found in run("token-classification", bert(BertForTokenClassification, num_labels=3), text):
    show("token-classification", found["word"], found["entity"], float(found["score"]))
answer = (
    run("question-answering", bert(BertForQuestionAnswering), {"question": "who sat", "context": text})
    if ("question-answering" in transformers.pipelines.PIPELINE_REGISTRY.get_supported_tasks())
    else {"answer": "", "score": 0.0}
)
show("question-answering", answer["answer"], answer["score"])
features = run("feature-extraction", bert(BertModel), text)
show("feature-extraction", len(features[0]), float(np.mean(features)), float(np.std(features)))
torch.manual_seed(0)
gpt = GPT2LMHeadModel(GPT2Config(vocab_size=27, n_embd=32, n_layer=2, n_head=4, n_positions=32, initializer_range=0.3))
written = run("text-generation", gpt, "the cat", max_new_tokens=6, do_sample=False, pad_token_id=0)
show("text-generation", written[0]["generated_text"])
torch.manual_seed(0)
vit = ViTForImageClassification(
    ViTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40, image_size=32,
              patch_size=8, num_labels=3, initializer_range=0.2)
)  # fmt: skip
pixels = np.arange(48 * 40 * 3, dtype=np.uint32).reshape(48, 40, 3) * 7 % 256
processor = ViTImageProcessor(size={"height": 32, "width": 32})
for found in run("image-classification", vit, Image.fromarray(pixels.astype(np.uint8)), image_processor=processor):
    show("image-classification", found["label"], found["score"])
labels = ["cat", "dog"]
zero_shot = bert(
    BertForSequenceClassification, num_labels=3, label2id={"contradiction": 0, "neutral": 1, "entailment": 2}
)
found = run("zero-shot-classification", zero_shot, text, candidate_labels=labels, hypothesis_template="a {}")
show("zero-shot-classification", *found["labels"], *found["scores"])
