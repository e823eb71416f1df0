"""Mark the names in a text, by a token classification model of a folder.

    weft run tag.py models/names "Ada Lovelace wrote to Charles Babbage from London."

Neighbouring tokens of one kind are one name: the tags are those of BIO, "B-PER" for the first token of a person and
"I-PER" for the others, or just the kinds.
"""

import argparse

import torch
from transformers import AutoModelForTokenClassification, AutoTokenizer

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("folder")
parser.add_argument("text")


def tagged(folder, text):
    """The kind, beginning and end of each name."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForTokenClassification.from_pretrained(folder).eval()
    inputs = tokenizer(text, return_tensors="pt", return_offsets_mapping=True, truncation=True)
    offsets = inputs.pop("offset_mapping")[0].tolist()
    with torch.no_grad():
        tags = [model.config.id2label[index] for index in model(**inputs).logits[0].argmax(-1).tolist()]
    return names([(tag, begin, end) for tag, (begin, end) in zip(tags, offsets) if end > begin])


def names(tags):
    """Join the tokens of each name; "O" is no name."""
    found, last = [], "O"
    for tag, begin, end in tags:
        place, _, kind = tag.rpartition("-")
        if tag != "O" and (place == "B" or kind != last):
            found.append([kind, begin, end])
        elif tag != "O":
            found[-1][2] = end
        last = "O" if tag == "O" else kind
    return found


if __name__ == "__main__":
    arguments = parser.parse_args()
    for kind, begin, end in tagged(arguments.folder, arguments.text):
        print(f"{kind:<8} {begin:4} to {end:<4} {arguments.text[begin:end]}")
