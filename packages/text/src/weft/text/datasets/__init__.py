"""Text data sets, read from the files that are published, with the names of ``torchtext.datasets``."""

from typing import TYPE_CHECKING

from weft.library.packages import lazy_package

if TYPE_CHECKING:
    from weft.text.datasets._stream import TextDataset as TextDataset
    from weft.text.datasets._tables import DATASETS as DATASETS
    from weft.text.datasets._tables import MD5 as MD5
    from weft.text.datasets._tables import NUM_LINES as NUM_LINES
    from weft.text.datasets._tables import URLS as URLS
    from weft.text.datasets.ag_news import AG_NEWS as AG_NEWS
    from weft.text.datasets.amazonreviewfull import AmazonReviewFull as AmazonReviewFull
    from weft.text.datasets.amazonreviewpolarity import AmazonReviewPolarity as AmazonReviewPolarity
    from weft.text.datasets.cc100 import CC100 as CC100
    from weft.text.datasets.cnndm import CNNDM as CNNDM
    from weft.text.datasets.cola import CoLA as CoLA
    from weft.text.datasets.conll2000chunking import CoNLL2000Chunking as CoNLL2000Chunking
    from weft.text.datasets.dbpedia import DBpedia as DBpedia
    from weft.text.datasets.enwik9 import EnWik9 as EnWik9
    from weft.text.datasets.imdb import IMDB as IMDB
    from weft.text.datasets.iwslt2016 import IWSLT2016 as IWSLT2016
    from weft.text.datasets.iwslt2017 import IWSLT2017 as IWSLT2017
    from weft.text.datasets.mnli import MNLI as MNLI
    from weft.text.datasets.mrpc import MRPC as MRPC
    from weft.text.datasets.multi30k import Multi30k as Multi30k
    from weft.text.datasets.penntreebank import PennTreebank as PennTreebank
    from weft.text.datasets.qnli import QNLI as QNLI
    from weft.text.datasets.qqp import QQP as QQP
    from weft.text.datasets.rte import RTE as RTE
    from weft.text.datasets.sogounews import SogouNews as SogouNews
    from weft.text.datasets.squad1 import SQuAD1 as SQuAD1
    from weft.text.datasets.squad2 import SQuAD2 as SQuAD2
    from weft.text.datasets.sst2 import SST2 as SST2
    from weft.text.datasets.stsb import STSB as STSB
    from weft.text.datasets.udpos import UDPOS as UDPOS
    from weft.text.datasets.wikitext2 import WikiText2 as WikiText2
    from weft.text.datasets.wikitext103 import WikiText103 as WikiText103
    from weft.text.datasets.wnli import WNLI as WNLI
    from weft.text.datasets.yahooanswers import YahooAnswers as YahooAnswers
    from weft.text.datasets.yelpreviewfull import YelpReviewFull as YelpReviewFull
    from weft.text.datasets.yelpreviewpolarity import YelpReviewPolarity as YelpReviewPolarity
else:
    __all__ = lazy_package(
        __name__,
        {
            "_stream": "TextDataset",
            "_tables": "DATASETS MD5 NUM_LINES URLS",
            "ag_news": "AG_NEWS",
            "amazonreviewfull": "AmazonReviewFull",
            "amazonreviewpolarity": "AmazonReviewPolarity",
            "cc100": "CC100",
            "cnndm": "CNNDM",
            "cola": "CoLA",
            "conll2000chunking": "CoNLL2000Chunking",
            "dbpedia": "DBpedia",
            "enwik9": "EnWik9",
            "imdb": "IMDB",
            "iwslt2016": "IWSLT2016",
            "iwslt2017": "IWSLT2017",
            "mnli": "MNLI",
            "mrpc": "MRPC",
            "multi30k": "Multi30k",
            "penntreebank": "PennTreebank",
            "qnli": "QNLI",
            "qqp": "QQP",
            "rte": "RTE",
            "sogounews": "SogouNews",
            "squad1": "SQuAD1",
            "squad2": "SQuAD2",
            "sst2": "SST2",
            "stsb": "STSB",
            "udpos": "UDPOS",
            "wikitext103": "WikiText103",
            "wikitext2": "WikiText2",
            "wnli": "WNLI",
            "yahooanswers": "YahooAnswers",
            "yelpreviewfull": "YelpReviewFull",
            "yelpreviewpolarity": "YelpReviewPolarity",
        },
        """
        ag_news amazonreviewfull amazonreviewpolarity cc100 cnndm cola conll2000chunking dbpedia
        enwik9 imdb iwslt2016 iwslt2017 mnli mrpc multi30k penntreebank qnli qqp rte sogounews
        squad1 squad2 sst2 stsb udpos wikitext103 wikitext2 wnli yahooanswers yelpreviewfull
        yelpreviewpolarity
        """,
    )
