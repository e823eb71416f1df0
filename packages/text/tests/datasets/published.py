"""Small files of the forms in which the text data sets are published."""

import gzip
import hashlib
import io
import json
import lzma
import tarfile
import zipfile
from pathlib import Path

REVIEWS = '"3","more like ""funchuck""","Gave this to my dad, né Größe"\n"1","Inspiring","two\nlines"\n"2","世界",""\n'
GLUE = "index\tsentence1\tsentence2\tlabel\n0\tA \"b c.\tWho?\t{}\n1\tDéjà vu\tit's\t{}\n"
TAGGED = "The\tDET\tDT\nété\tNOUN\tNN\n\n\n.\tPUNCT\t.\n"
CHUNKED = "Confidence NN B-NP\nin IN B-PP\n\n. . O\n\n"
LINES = " = Valkyria = \n \n the café , <unk> \n"


def squad(answers):
    questions = [{"question": "Who?", "answers": answers}, {"question": "What?", "answers": []}]
    return json.dumps({"data": [{"paragraphs": [{"context": "Ich bin 世界.", "qas": questions}]}]})


ANSWERS = [{"text": "Ich", "answer_start": 0}, {"text": "世界", "answer_start": 8}]
TALK = '<mteval><srcset setid="x"><doc docid="1"><title>t</title>{}</doc></srcset></mteval>'
SEGMENTS = '<seg id="1"> {0} eins &amp; zwei </seg><seg id="2">{0} drei</seg>'
TAGS = "<url>http://x</url>\n<title>t</title>\n {0} eins \n<doc x>\n{0} zwei\n</doc>\n"
ADDRESSES = {"cnn": "http://web/cnn/1", "dailymail": "http://web/dm/1"}


def story(address):
    return hashlib.sha1(address.encode()).hexdigest() + ".story"


def talks(year, sets, pair):
    """The files of talks in two languages."""
    files = {}
    for language in pair:
        files[f"train.tags.{pair[0]}-{pair[1]}.{language}"] = TAGS.format(language)
        for each in sets:
            name = f"IWSLT{year}.TED.{each}.{pair[0]}-{pair[1]}.{language}.xml"
            files[name] = TALK.format(SEGMENTS.format(f"{language} {each}"))
    return files


def csvs(folder):
    """The archive of a table of classes and texts."""
    return {f"{folder}.tar.gz": {f"{folder}/train.csv": REVIEWS, f"{folder}/test.csv": REVIEWS[:40] + "\n"}}


def glue(name, labels, archive=None):
    """The archive of a task of pairs."""
    rows = GLUE.format(*labels)
    test = "\n".join(line.rpartition("\t")[0] for line in rows.split("\n"))
    files = {f"{name}/{split}.tsv": rows for split in ("train", "dev")}
    return {archive or f"{name}.zip": {**files, f"{name}/test.tsv": test}}


def stories():
    """The archives of both newspapers, and the lists of the splits."""
    files = {}
    for source, address in ADDRESSES.items():
        text = f'({source.upper()}) -- It is so\n\nHe said "yes"\n\n@highlight\n\nIt is\n\n@highlight\n\nYes!\n'
        inside = {f"{source}/stories/{story(address)}": text, f"{source}/stories/{story('other')}": "no."}
        files[f"{source}_stories.tgz"] = inside
        for split, line in (("training", address), ("validation", "none"), ("test", address)):
            files[f"{source}_wayback_{split}_urls.txt"] = f"{line}\n"
    return files


MNLI_ROWS = [
    "gold_label\ta\tb\tc\td\tsentence1\tsentence2",
    'neutral\t\t\t\t\tOne "a\tTwo',
    "-\t\t\t\t\tx\ty",
    "contradiction\t\t\t\t\té\tü",
]
MNLI = "\n".join(MNLI_ROWS) + "\n"
MRPC = 'Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t2\t3\tHe said "yes.\tYes\n0\t5\t6\té\tü\n'
STSB = 'main-news\tMSR\t2012\t0024\t2.500\tA girl "is\tA boy\nmain\tx\ty\t33\t0\té\tü\textra\n'
QQP = 'id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n0\t1\t2\tWhat, "is it?"\tWhy?\t0\n1\t3\t4\té\tü\t1\n'
COLA = "gj04\t1\t\tOur friends \"won't.\ngj04\t0\t*\tThey drank.\nshort\t1\n"
WIKITEXT = dict.fromkeys(("train", "valid", "test"), LINES)

PUBLISHED = {
    "AG_NEWS": {"train.csv": REVIEWS, "test.csv": REVIEWS},
    "AmazonReviewFull": csvs("amazon_review_full_csv"),
    "AmazonReviewPolarity": csvs("amazon_review_polarity_csv"),
    "CC100": {"en.txt.xz": "a b \nçé\n"},
    "CNNDM": stories(),
    "CoLA": {
        "cola_public_1.1.zip": {
            f"cola_public/raw/{name}.tsv": f"a\tb\tc\td\n{COLA}"
            for name in ("in_domain_train", "in_domain_dev", "out_of_domain_dev")
        }
    },
    "CoNLL2000Chunking": {"train.txt.gz": CHUNKED, "test.txt.gz": CHUNKED},
    "DBpedia": csvs("dbpedia_csv"),
    "EnWik9": {"enwik9.zip": {"enwik9": "<mediawiki>\n  é &amp; \n"}},
    "IMDB": {
        "aclImdb_v1.tar.gz": {
            f"aclImdb/{split}/{label}/{number}_{number}.txt": f"{split} {label} {number} é\n"
            for split in ("test", "train")
            for label in ("neg", "pos", "unsup")
            for number in range(2)
            if (split, label) != ("test", "unsup")
        }
    },
    "IWSLT2016": {
        "2016-01.tgz": {
            f"2016-01/texts/{pair[0]}/{pair[1]}/{pair[0]}-{pair[1]}.tgz": {
                f"{pair[0]}-{pair[1]}/{name}": text
                for name, text in talks(16, ("tst2012", "tst2013", "tst2014"), pair).items()
            }
            for pair in (("de", "en"), ("en", "fr"))
        }
    },
    "IWSLT2017": {
        "2017-01-trnmted.tgz": {
            "2017-01-trnmted/texts/DeEnItNlRo/DeEnItNlRo/DeEnItNlRo-DeEnItNlRo.tgz": {
                f"DeEnItNlRo-DeEnItNlRo/{name}": text
                for pair in (("de", "en"), ("it", "nl"))
                for name, text in talks(17, ("dev2010", "tst2010"), pair).items()
            }
        }
    },
    "MNLI": {
        "multinli_1.0.zip": {
            f"multinli_1.0/multinli_1.0_{split}.txt": MNLI for split in ("train", "dev_matched", "dev_mismatched")
        }
    },
    "MRPC": {"msr_paraphrase_train.txt": MRPC, "msr_paraphrase_test.txt": MRPC},
    "Multi30k": {
        f"{archive}.tar.gz": {f"{prefix}.{language}": f"{language} eins \n{prefix} é\n" for language in ("de", "en")}
        for archive, prefix in (("training", "train"), ("validation", "val"), ("mmt16_task1_test", "test"))
    },
    "PennTreebank": {f"ptb.{split}.txt": LINES for split in ("train", "valid", "test")},
    "QNLI": glue("QNLI", ("entailment", "not_entailment"), "QNLIv2.zip"),
    "QQP": {"quora_duplicate_questions.tsv": QQP},
    "RTE": glue("RTE", ("not_entailment", "entailment")),
    "SQuAD1": {"train-v1.1.json": squad(ANSWERS), "dev-v1.1.json": squad(ANSWERS)},
    "SQuAD2": {"train-v2.0.json": squad(ANSWERS), "dev-v2.0.json": squad([])},
    "SST2": {
        "SST-2.zip": {
            "SST-2/train.tsv": 'sentence\tlabel\nhide "new" é \t0\nbad\t1\n',
            "SST-2/dev.tsv": "sentence\tlabel\nhide\t0\n",
            "SST-2/test.tsv": "index\tsentence\n0\tuneasy mishmash . \n1\té\n",
        }
    },
    "STSB": {"Stsbenchmark.tar.gz": {f"stsbenchmark/sts-{split}.csv": STSB for split in ("train", "dev", "test")}},
    "SogouNews": csvs("sogou_news_csv"),
    "UDPOS": {"en-ud-v2.zip": {f"en-ud-v2/en-ud-tag.v2.{split}.txt": TAGGED for split in ("train", "dev", "test")}},
    "WNLI": {"WNLI.zip": next(iter(glue("WNLI", (0, 1)).values()))},
    "WikiText103": {"wikitext-103-v1.zip": {f"wikitext-103/wiki.{k}.tokens": v for k, v in WIKITEXT.items()}},
    "WikiText2": {"wikitext-2-v1.zip": {f"wikitext-2/wiki.{k}.tokens": v for k, v in WIKITEXT.items()}},
    "YahooAnswers": csvs("yahoo_answers_csv"),
    "YelpReviewFull": csvs("yelp_review_full_csv"),
    "YelpReviewPolarity": csvs("yelp_review_polarity_csv"),
}


def publish(folder: Path, name: str) -> None:
    """Write the published files of a data set."""
    for path, content in PUBLISHED[name].items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(packed(path, content))


def unpack(folder: Path, name: str) -> None:
    """Write what is in the archives of a data set, as unpacking all of them does."""

    def write(path: Path, content):
        if isinstance(content, str):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8", newline="")
            return
        for inner, inside in content.items():
            # the archive in an archive is unpacked in its own folder
            write(path.parent / inner, inside)

    for path, content in PUBLISHED[name].items():
        bare = path.removesuffix(".gz").removesuffix(".xz") if isinstance(content, str) else path
        write(folder / bare, content)


def packed(path, content):
    """The bytes of a file: a text, compressed by its ending, or an archive of such files."""
    if isinstance(content, str):
        data = content.encode()
        return gzip.compress(data) if path.endswith(".gz") else lzma.compress(data) if path.endswith(".xz") else data
    buffer = io.BytesIO()
    if path.endswith(".zip"):
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, inside in content.items():
                archive.writestr(name, packed(name, inside))
    else:
        with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
            for name, inside in content.items():
                data = packed(name, inside)
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()
