"""Find the lines of a file that mean the most like a question, by a model of sentence embeddings in a folder.

    weft run search.py models/minilm "how do I train?" < README.md

Each line becomes one vector, the mean of its tokens' vectors; the nearest has the greatest product with the question's.
"""

import argparse
import sys

import torch
from transformers import AutoModel, AutoTokenizer

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("folder")
parser.add_argument("question")
parser.add_argument("--best", type=int, default=3, help="lines to print (default: %(default)s)")
parser.add_argument("--batch", type=int, default=32, help="lines at once (default: %(default)s)")


@torch.no_grad()
def embed(model, tokenizer, texts):
    """One vector of length 1 for each text, (N, width)."""
    inputs = tokenizer(texts, padding=True, truncation=True, return_tensors="pt")
    kept = inputs["attention_mask"].unsqueeze(-1)
    vectors = (model(**inputs).last_hidden_state * kept).sum(1) / kept.sum(1)
    return torch.nn.functional.normalize(vectors, dim=-1)


def main():
    arguments = parser.parse_args()
    tokenizer, model = AutoTokenizer.from_pretrained(arguments.folder), AutoModel.from_pretrained(arguments.folder)
    model.eval()
    lines = [line.strip() for line in sys.stdin if line.strip()]
    batches = [lines[first : first + arguments.batch] for first in range(0, len(lines), arguments.batch)]
    vectors = torch.cat([embed(model, tokenizer, batch) for batch in batches])
    scores = (vectors @ embed(model, tokenizer, [arguments.question]).T).squeeze(1)
    best = scores.topk(min(arguments.best, len(lines)))
    for score, index in zip(best.values.tolist(), best.indices.tolist()):
        print(f"{score:.4f}  {lines[index]}")


if __name__ == "__main__":
    main()
