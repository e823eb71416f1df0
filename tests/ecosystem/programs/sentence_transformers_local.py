"""sentence-transformers with a tiny model that is built here: embeddings, similarity, search, training, saving."""

# /// script
# dependencies = ["sentence-transformers==6.2.0", "transformers==5.23.0"]
# ///

import tempfile

import torch
import transformers
from sentence_transformers import CrossEncoder, InputExample, SentenceTransformer, losses, models, util
from tokenizers import Tokenizer, pre_tokenizers, processors
from tokenizers.models import WordLevel
from torch.utils.data import DataLoader
from transformers import BertConfig, BertForSequenceClassification, BertModel, PreTrainedTokenizerFast

transformers.logging.set_verbosity_error()
WORDS = "the a cat dog bird sat ran flew on over mat tree house big small red blue and".split()
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
TEXTS = ["the cat sat on the mat", "a dog ran over the house", "the big red bird flew", "a small cat and a dog"]


def build(folder, kind, **options):
    made = Tokenizer(WordLevel({word: i for i, word in enumerate(SPECIAL + WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=32, **names).save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 40}
    kind(BertConfig(vocab_size=len(SPECIAL) + len(WORDS), **sizes, **options)).save_pretrained(folder)


with tempfile.TemporaryDirectory() as folder:
    build(folder, BertModel)
    word = models.Transformer(folder, max_seq_length=16)
    torch.manual_seed(1)
    dense = models.Dense(32, 16)
    model = SentenceTransformer(modules=[word, models.Pooling(32), dense, models.Normalize()], device="cpu")
    vectors = model.encode(TEXTS, convert_to_tensor=True, show_progress_bar=False)
    print("embeddings", tuple(vectors.shape), *(f"{value:.5f}" for value in vectors[0, :5].tolist()))
    print("similarity", *(f"{value:.5f}" for value in model.similarity(vectors, vectors).flatten().tolist()))
    for hit in util.semantic_search(vectors[:1], vectors, top_k=3)[0]:
        print("search", hit["corpus_id"], f"{hit['score']:.5f}")
    print("clusters", util.community_detection(vectors, threshold=0.5, min_community_size=1))
    examples = [
        InputExample(texts=[a, b], label=float(i == j)) for i, a in enumerate(TEXTS) for j, b in enumerate(TEXTS)
    ]
    loss = losses.CosineSimilarityLoss(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loader = DataLoader(examples, batch_size=4, collate_fn=model.smart_batching_collate)
    model.eval()  # without dropout
    for features, labels in loader:
        value = loss(features, labels)
        value.backward()
        optimizer.step()
        optimizer.zero_grad()
        print("loss", f"{value.item():.5f}")
    model.save(f"{folder}/saved")
    again = SentenceTransformer(f"{folder}/saved", device="cpu").encode(TEXTS, show_progress_bar=False)
    print("read", abs(again - model.encode(TEXTS, show_progress_bar=False)).max() < 1e-6)

with tempfile.TemporaryDirectory() as folder:
    build(folder, BertForSequenceClassification, num_labels=1)
    scores = CrossEncoder(folder, device="cpu").predict([(TEXTS[0], text) for text in TEXTS], show_progress_bar=False)
    print("cross", *(f"{score:.5f}" for score in scores.tolist()))
