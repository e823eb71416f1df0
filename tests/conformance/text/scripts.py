"""Lines in fourteen scripts, with emoji, combining marks and writing from right to left, made from parts."""

import random

PARTS = {
    "latin": "the Größe naïve façade Ångström don't it's we're I'll HELLO World œuvre straße İstanbul ß ǅ",
    "cyrillic": "Привет мир Быстрая лиса ёлка Україна їжак",
    "greek": "Γειά σου κόσμε ΟΔΥΣΣΕΥΣ ἀρχή",  # noqa: RUF001
    "arabic": "مرحبا بالعالم كَتَبَ السلام عليكم ١٢٣",
    "hebrew": "שלום עולם שָׁלוֹם כתב",
    "devanagari": "नमस्ते दुनिया क्षत्रिय १२३",
    "han": "你好 世界 東京都 㐀 𠀀 豈",
    "kana": "こんにちは カタカナ ガ が ﾊﾝｶｸ",
    "hangul": "안녕하세요 세계 각",
    "thai": "สวัสดี ชาวโลก น้ำ",
    "tamil": "வணக்கம் உலகம்",
    "emoji": "😀 👍🏽 👩\u200d👩\u200d👧 🇩🇪 ❤\ufe0f 1\ufe0f\u20e3 ☃",
    "marks": "e\u0301 a\u0308\u0301 n\u0303o \u0301x \u200dz \u00ad",
    "signs": "∑ x² ½ Ⅷ ① 3.14 1,000 10% $5 a+b=c ^_^",
}
BETWEEN = [*" " * 6, "  ", "\t", "\n", "\u00a0", "\u3000", "", "", ", ", ". ", "! ", "-", "'", '"', "\u2014", "\u200f"]


def lines(count=2000, seed=0):
    """Return lines, each in one or two of the scripts."""
    draws = random.Random(seed)
    words = {script: parts.split() for script, parts in PARTS.items()}
    scripts = list(words)
    found = []
    for place in range(count):
        mixed = [*words[scripts[place % len(scripts)]], *words[draws.choice(scripts)]]
        parts = [draws.choice(mixed) + draws.choice(BETWEEN) for _ in range(draws.randint(0, 9))]
        found.append(" " * draws.choice((0, 0, 0, 1, 3)) + "".join(parts))
    return found
