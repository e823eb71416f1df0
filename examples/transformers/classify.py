"""Say which class each text belongs to, by a model of a folder: sentiment, topic, language, spam.

    weft run classify.py models/sentiment "A fine film." "A waste of time."

The folder is one of a sequence classification model, with its tokenizer, as transformers' save_pretrained writes it or
as it is downloaded.
"""

import argparse

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("folder")
parser.add_argument("texts", nargs="+")


def classify(folder, texts):
    """The name of each text's most probable class, and its probability."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        logits = model(**tokenizer(texts, padding=True, truncation=True, return_tensors="pt")).logits
    shares, classes = logits.softmax(-1).max(-1)
    return [(model.config.id2label[index], share) for index, share in zip(classes.tolist(), shares.tolist())]


if __name__ == "__main__":
    arguments = parser.parse_args()
    for text, (name, share) in zip(arguments.texts, classify(arguments.folder, arguments.texts)):
        print(f"{share:7.1%}  {name:<12} {text}")
