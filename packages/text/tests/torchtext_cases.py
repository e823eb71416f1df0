"""Lines, vocabularies and calls whose results were recorded from torchtext 0.18."""

import json

LINES = [
    "",
    " ",
    "The quick (brown) fox, isn't 3.14 or 1,000!",
    "  two  blanks and\ta tab \n\n and lines\r\n ",
    "I'll we've he'd I'm you're 'tis O'Neil's ''",
    "Größe naïve façade Ångström İstanbul ß ǅ straße",
    "e\u0301 a\u0308\u0301 n\u0303o \u0301x zero\u200dwidth soft\u00adhyphen",
    "Привет мир Быстрая лиса ёлка Україна",
    "Γειά σου κόσμε ΟΔΥΣΣΕΥΣ ἀρχή",  # noqa: RUF001
    "مرحبا بالعالم كَتَبَ ١٢٣",
    "שלום עולם שָׁלוֹם",
    "नमस्ते दुनिया क्षत्रिय १२३",
    "你好世界 東京都 㐀 𠀀 豈",
    "こんにちは カタカナ ガ が ﾊﾝｶｸ",
    "안녕하세요 세계 각",
    "สวัสดี ชาวโลก น้ำ",
    "வணக்கம் உலகம்",
    "😀 👍🏽 👩\u200d👩\u200d👧 🇩🇪 ❤\ufe0f 1\ufe0f\u20e3",
    "∑ x² ½ Ⅷ ① a+b=c ^_^ 10% $5 `x` ~ |",
    "no\u00a0break\u3000wide\u2003em\u2028line",
    "<|endoftext|> the end <|endoftext|>  the <pad>\n\n end<pad>",
    "[MASK] don't [SEP] unaffable [UNK]",
    'A<br />B "quoted"; colon: semi; dash\u2014dash \u201cx\u201d \u2019s',
    "x" * 120 + " the " + "ab" * 30,
]


def write_assets(folder):
    """Write small vocabularies, and return their paths by name."""
    from weft.text.transforms import bytes_to_unicode

    return write_assets_for(folder, bytes_to_unicode())


def write_assets_for(folder, alphabet):
    """Write the vocabularies over an alphabet for bytes."""
    space = alphabet[32]
    pairs = [("t", "h"), ("th", "e"), (space, "the"), ("a", "b"), ("ab", "ab"), ("Ã", "¶"), ("r", "Ã¶"), ("'", "s")]
    tokens = [*alphabet.values(), *("".join(pair) for pair in pairs)]
    marked = [
        ("t", "h"),
        ("th", "e</w>"),
        ("i", "n"),
        ("ð", "Ł"),
        ("a", "b"),
        ("ab", "ab"),
        ("e", "n"),
        ("en", "d</w>"),
    ]
    suffixed = [*alphabet.values(), *(char + "</w>" for char in alphabet.values()), *map("".join, marked)]
    characters = sorted({char for line in LINES for char in line if not char.isspace()} - {"q"})
    words = (
        "[PAD] [UNK] [MASK] the fox un ##aff ##able ##x quick brown isn don grosse naive lines 3 . , ' ! ( ) ##s"
    ).split()
    contents = {
        "encoder.json": json.dumps({token: index for index, token in enumerate(tokens)}),
        "vocab.bpe": as_merges(pairs),
        "clip_encoder.json": json.dumps(
            {token: index for index, token in enumerate([*suffixed, "<|startoftext|>", "<|endoftext|>"])}
        ),
        "clip_merges.txt": as_merges(marked),
        "char_encoder.json": json.dumps(
            {
                token: index
                for index, token in enumerate(
                    ["<unk>", "[MASK]", *characters, *(char + "</w>" for char in characters), *map("".join, marked)]
                )
            }
        ),
        "vocab.txt": "\n".join([*words, *characters, *("##" + char for char in characters if char != "Q")]) + "\n",
    }
    for name, content in contents.items():
        (folder / name).write_text(content, encoding="utf-8", newline="")
    return {name: str(folder / name) for name in contents}


def as_merges(pairs):
    return "#version: 0.2\n" + "".join(f"{first} {second}\n" for first, second in pairs)


def calls(transforms, data, assets):
    """Yield (name, function of a line) over the modules of one library or the other."""
    gpt2 = assets["encoder.json"], assets["vocab.bpe"]
    numbers = transforms.GPT2BPETokenizer(*gpt2)
    clip = assets["clip_merges.txt"], assets["clip_encoder.json"]
    bert = assets["vocab.txt"]
    character = assets["char_encoder.json"], assets["clip_merges.txt"]
    characters = transforms.CharBPETokenizer(*character, unk_token="<unk>", suffix="</w>", special_tokens=["[MASK]"])
    yield "gpt2", numbers
    yield "gpt2 decoded", lambda line: numbers.decode(numbers(line))
    yield "gpt2 tokens", transforms.GPT2BPETokenizer(*gpt2, return_tokens=True)
    yield "clip", transforms.CLIPTokenizer(*clip)
    yield "clip tokens", transforms.CLIPTokenizer(*clip, return_tokens=True)
    yield "clip without an encoder", transforms.CLIPTokenizer(clip[0], num_merges=4, return_tokens=True)
    yield "bert", transforms.BERTTokenizer(bert)
    yield "bert cased", transforms.BERTTokenizer(bert, do_lower_case=False, return_tokens=True)
    stripped = transforms.BERTTokenizer(bert, do_lower_case=False, strip_accents=True, return_tokens=True)
    yield "bert stripped", stripped
    yield "bert kept", transforms.BERTTokenizer(bert, return_tokens=True, never_split=["[MASK]", "don't", "Größe"])
    yield "characters", characters
    yield "character tokens", transforms.CharBPETokenizer(*character, return_tokens=True)
    yield "characters decoded", lambda line: characters.decode(characters.encode(line))
    yield "patterns", transforms.RegexTokenizer([(r"[,._+ ]+", " "), (r"(\w)'(\w)", r"\1 ' \2"), (r"\d", "#")])
    yield "basic_english", data.get_tokenizer("basic_english")
    yield "split", data.get_tokenizer(None)
    yield "wikipedia", lambda line: list(data.filter_wikipedia_xml(wikipedia(line)))
    replace = data.custom_replace([(r"(\w)\1", r"<\1>"), ("[aeiou]", "_")])
    yield "replace", lambda line: list(replace([line, line[::-1]]))
    yield "simple_space_split", lambda line: list(data.simple_space_split([line, "a  b"]))
    special = transforms.GPT2BPETokenizer(*gpt2)  # the last: in torchtext all tokenizers split at these tokens
    added = {"eos_token": "<|endoftext|>", "pad_token": "<pad>", "additional_special_tokens": ["ab"]}
    count = special.add_special_tokens(added)
    yield f"gpt2 with {count} special tokens decoded", lambda line: special.decode(special(line))
    written = transforms.GPT2BPETokenizer(*gpt2, return_tokens=True)
    written.add_special_tokens(added)  # which of them has which number is left to chance in torchtext
    yield "gpt2 with special tokens", written


def wikipedia(line):
    markup = "<a>[[image:x|y]] [[Category:Foo|z]] {{b}} &quot; [http://x y] [[de:Haus]] [[a|b]] <ref x>12</ref> #"
    return [line, markup, line.upper(), "#REDIRECT [[x]]", f"'''{line}''' {{|x}} [[{line}|thumb|12px]]"]


CORPORA = [
    (
        [["My", "full", "pytorch", "test"], ["Another", "Sentence"]],
        [[["My", "full", "pytorch", "test"], ["No"]], [["X"]]],
    ),
    ([list("abcdefg")], [[list("abcdxfg"), list("abcdefgh")]]),
    ([list("abcab"), list("ab")], [[list("abcabd")], [list("abc"), list("a")]]),
    ([list("aaaa")], [[list("aab")]]),
    ([[]], [[list("a")]]),
]
WEIGHTS = [(0.25, 0.25, 0.25, 0.25), (0.5, 0.5), (1.0,), (0.1, 0.3, 0.6)]
