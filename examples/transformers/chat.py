"""Talk with a chat model of a folder, in the terminal; an empty line ends it.

    weft run chat.py models/qwen
    weft run chat.py models/qwen --dtype bfloat16 --system "Answer in one sentence."

Weights in bfloat16 take half of the memory, and half of the time where the model is large.
"""

import argparse

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, TextStreamer

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("folder")
parser.add_argument("--system", help="what the model is told before the talk")
parser.add_argument("--dtype", default="auto", help="of the weights: float32, bfloat16; by default that of the file")
parser.add_argument("--length", type=int, default=256, help="the most tokens of an answer (default: %(default)s)")
parser.add_argument("--temperature", type=float, default=0.7, help="0 always says the likeliest (%(default)s)")
parser.add_argument("--seed", type=int, default=0)


def answer(model, tokenizer, talk, arguments):
    """The model's answer, which is printed as it is written."""
    inputs = tokenizer.apply_chat_template(talk, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    warm = arguments.temperature > 0
    options = {"do_sample": True, "temperature": arguments.temperature} if warm else {"do_sample": False}
    streamer = TextStreamer(tokenizer, skip_prompt=True, skip_special_tokens=True)
    tokens = model.generate(**inputs, max_new_tokens=arguments.length, streamer=streamer, **options)
    return tokenizer.decode(tokens[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)


def main():
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    tokenizer = AutoTokenizer.from_pretrained(arguments.folder)
    model = AutoModelForCausalLM.from_pretrained(arguments.folder, dtype=arguments.dtype).eval()
    talk = [{"role": "system", "content": arguments.system}] if arguments.system else []
    while True:
        try:
            question = input("> ")
        except EOFError:
            return
        if not question:
            return
        talk.append({"role": "user", "content": question})
        talk.append({"role": "assistant", "content": answer(model, tokenizer, talk, arguments)})


if __name__ == "__main__":
    main()
