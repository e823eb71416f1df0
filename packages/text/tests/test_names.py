"""torchtext's public names are there, and what it had of models says where that is now."""

import importlib

import pytest

NAMES = {
    "text": "data datasets disable_torchtext_deprecation_warning functional models nn prototype transforms utils vocab",
    "text.data": """
        bleu_score custom_replace filter_wikipedia_xml generate_sp_model get_tokenizer interleave_keys load_sp_model
        numericalize_tokens_from_iterator sentencepiece_numericalizer sentencepiece_tokenizer simple_space_split
        to_map_style_dataset
    """,
    "text.data.functional": "custom_replace load_sp_model simple_space_split",
    "text.data.metrics": "bleu_score",
    "text.data.utils": "RandomShuffler get_tokenizer interleave_keys is_tokenizer_serializable ngrams_iterator",
    "text.datasets": """
        AG_NEWS AmazonReviewFull AmazonReviewPolarity CC100 CNNDM CoLA CoNLL2000Chunking DBpedia EnWik9 IMDB IWSLT2016
        IWSLT2017 MNLI MRPC Multi30k PennTreebank QNLI QQP RTE SQuAD1 SQuAD2 SST2 STSB SogouNews UDPOS WNLI WikiText103
        WikiText2 YahooAnswers YelpReviewFull YelpReviewPolarity DATASETS MD5 NUM_LINES URLS
    """,
    "text.functional": "add_token str_to_int to_tensor truncate",
    "text.nn": "InProjContainer MultiheadAttentionContainer ScaledDotProduct",
    "text.prototype": "transforms vectors vocab_factory",
    "text.prototype.transforms": """
        BasicEnglishNormalize PRETRAINED_SP_MODEL SentencePieceProcessor SentencePieceTokenizer VectorTransform
        VocabTransform basic_english_normalize load_sp_model sentencepiece_processor sentencepiece_tokenizer
    """,
    "text.prototype.vectors": "FastText GloVe Vectors build_vectors load_vectors_from_file_path",
    "text.prototype.vocab_factory": "build_vocab_from_text_file load_vocab_from_file",
    "text.transforms": """
        AddToken BERTTokenizer CLIPTokenizer CharBPETokenizer GPT2BPETokenizer LabelToIndex MaskTransform PadTransform
        RegexTokenizer SentencePieceTokenizer Sequential StrToIntTransform ToTensor Truncate VocabTransform
        bytes_to_unicode
    """,
    "text.utils": "download_from_url extract_archive get_asset_local_path reporthook validate_file",
    "text.vocab": "CharNGram FastText GloVe Vectors Vocab build_vocab_from_iterator pretrained_aliases vocab",
}
MODELS = {
    "RobertaModel": "RobertaModel",
    "ROBERTA_BASE_ENCODER": "RobertaModel",
    "XLMR_LARGE_ENCODER": "XLMRobertaModel",
    "T5_BASE_GENERATION": "T5ForConditionalGeneration",
    "FLAN_T5_XL": "T5ForConditionalGeneration",
}


@pytest.mark.parametrize("module", NAMES)
def test_a_module_has_torchtexts_names(module):
    found = importlib.import_module(f"weft.{module}")
    assert [name for name in NAMES[module].split() if not hasattr(found, name)] == []
    assert set(NAMES[module].split()) <= set(dir(found))


@pytest.mark.parametrize("name", MODELS)
def test_models_are_answered_with_the_class_of_transformers(name):
    with pytest.raises(ImportError, match=rf"{name} is not here.*transformers.{MODELS[name]}.from_pretrained"):
        getattr(importlib.import_module("weft.text.models"), name)


def test_other_names_are_not_there():
    for module in ("text", "text.datasets", "text.prototype"):
        with pytest.raises(AttributeError, match="has no attribute 'NoSuchName'"):
            importlib.import_module(f"weft.{module}").NoSuchName
