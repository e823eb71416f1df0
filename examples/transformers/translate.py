"""Translate, or summarize, line by line, by an encoder-decoder model of a folder: Marian, T5, BART, NLLB.

echo "Where is the library?" | weft run translate.py models/en-de
weft run translate.py models/t5-small --prefix "translate English to German: " < letter.txt
"""

import argparse
import sys

from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("folder")
parser.add_argument("--prefix", default="", help="what some models want before each text")
parser.add_argument("--beams", type=int, default=4, help="continuations that are followed at once (%(default)s)")
parser.add_argument("--length", type=int, default=128, help="the most tokens of a translation (%(default)s)")


def translations(lines, folder, prefix, beams, length):
    """The translation of each line."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    for line in lines:
        inputs = tokenizer(prefix + line.strip(), return_tensors="pt", truncation=True)
        found = model.generate(**inputs, num_beams=beams, max_new_tokens=length)
        yield tokenizer.decode(found[0], skip_special_tokens=True)


if __name__ == "__main__":
    arguments = parser.parse_args()
    for translation in translations(sys.stdin, **vars(arguments)):
        print(translation, flush=True)
