"""The page on models of text and the examples of transformers run on weft, with tiny models that are made here.

An example prints on weft, in a process of its own under `weft run`, what it prints on PyTorch.
"""

import io
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch, the oracle, is installed in the conformance environment only")
pytest.importorskip("transformers", reason="installed in the conformance environment only")
sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1] / "vision"))

import oracle  # noqa: F401  # torchvision, which transformers imports, as it loads beside PyTorch for the CPU
import selection
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
pytestmark = pytest.mark.filterwarnings("ignore")  # of the oracle

ROOT = Path(__file__).parents[3]
SETTING = os.environ.get("WEFT_CONFORMANCE", "changed")
WORDS = "once upon a time the cat dog sat on mat house who where is in Ada London".split()
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 40}
SEED = {"initializer_range": 0.5, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
TEMPLATE = (
    "{% for turn in messages %}{{ turn.content }} [SEP] {% endfor %}{% if add_generation_prompt %}once{% endif %}"
)
TAGS = ["B-PER", "I-PER", "LOC", "O"]

# Of each model: transformers' class, and its configuration.
MODELS = {
    "story": ("GPT2LMHeadModel", {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, **SEED}),
    "chat": ("Qwen2ForCausalLM", {**SIZES, "num_key_value_heads": 2, **SEED}),
    "sentiment": ("BertForSequenceClassification", {**SIZES, **SEED, "id2label": {0: "bad", 1: "good"}}),
    "names": ("BertForTokenClassification", {**SIZES, **SEED, "id2label": dict(enumerate(TAGS))}),
    "translation": (
        "T5ForConditionalGeneration",
        {"d_model": 32, "d_kv": 8, "d_ff": 40, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0, **SEED},
    ),
    "minilm": ("BertModel", {**SIZES, **SEED}),
}
LINES = "the cat sat on the mat\nwho is in the house\n\nonce upon a time\n"
EXAMPLES = {
    "classify.py": (["models/sentiment", "the cat sat", "a dog in the house is on the mat"], ""),
    "tag.py": (["models/names", "who is Ada in London on the mat"], ""),
    "translate.py": (["models/translation", "--prefix", "once ", "--length", "8"], LINES),
    "chat.py": (["models/chat", "--system", "the cat", "--temperature", "0", "--length", "8"], "who is\nwhere\n\n"),
    "search.py": (["models/minilm", "the dog in the house", "--batch", "2"], LINES),
}


def tokenizer():
    """Return a tokenizer of words, with a template for talks."""
    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(SPECIAL + WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "eos_token": "[SEP]"}
    return made, names


def save_model(name, folder):
    """Write a model with random weights, and its tokenizer."""
    kind = getattr(transformers, MODELS[name][0])
    torch.manual_seed(0)
    config = kind.config_class(vocab_size=len(SPECIAL) + len(WORDS), **MODELS[name][1])
    kind(config).save_pretrained(folder / name)
    made, names = tokenizer()
    if name in ("sentiment", "names", "minilm"):
        made.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=32, **names)
    fast.chat_template = TEMPLATE
    fast.save_pretrained(folder / name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which programs find models by relative paths."""
    made = tmp_path_factory.mktemp("programs")
    for name in MODELS:
        save_model(name, made / "models")
    return made


def on_weft(folder, program, *arguments, given=""):
    """Return what a program prints under `weft run`."""
    command = [sys.executable, "-m", "weft", "run", str(program), *arguments]
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        command, cwd=folder, env=environment, input=given, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_programs_of_the_page_run_on_weft(folder):
    page = (ROOT / "docs" / "transformers.md").read_text()
    program = "\n".join(re.findall(r"^```py\n(.*?)^```", page, re.DOTALL | re.MULTILINE))
    (folder / "page.py").write_text(program + "\nimport weft\nassert torch is weft\n")
    printed = on_weft(folder, "page.py")
    for said in re.findall(r"^print\(.*\)  # (.*)$", program, re.MULTILINE):
        assert said.removeprefix("torch.") in printed


def test_every_example_is_tried():
    assert {path.name for path in (ROOT / "examples" / "transformers").glob("*.py")} == set(EXAMPLES)


@pytest.mark.parametrize("name", selection.chosen(EXAMPLES, SETTING, lambda name: {"weft.text.models.decoder"}))
def test_an_example_prints_on_weft_what_it_prints_on_pytorch(name, folder, monkeypatch, capsys):
    arguments, given = EXAMPLES[name]
    program = ROOT / "examples" / "transformers" / name
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    monkeypatch.setattr(sys, "stdin", io.StringIO(given))
    runpy.run_path(str(program), run_name="__main__")
    expected = capsys.readouterr().out
    assert len(expected.splitlines()) >= 1
    assert on_weft(folder, program, *arguments, given=given) == expected
