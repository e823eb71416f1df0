"""The encoder: padding changes nothing, texts become vectors, and folders are read back."""

import json

import pytest

import weft
from weft.text import models
from weft.text.models import Encoder, EncoderConfig

SIZES = {
    "vocab_size": 40,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 20,
}
FAMILIES = {
    "bert": {"model_type": "bert", "pad_token_id": 0, **SIZES},
    "roberta": {"model_type": "roberta", "pad_token_id": 1, **SIZES},
}
every_family = pytest.mark.parametrize("family", FAMILIES)


def made(family, changes=(), **settings):
    weft.manual_seed(0)
    model = Encoder(EncoderConfig.from_dict({**FAMILIES[family], **dict(changes)}, **settings))
    with weft.no_grad():
        for parameter in model.parameters():
            parameter.normal_(1.0 if parameter.dim() == 1 else 0.0, 0.3)
    return model


def tokens_of(*shape):
    return weft.randint(2, 40, shape, generator=weft.Generator().manual_seed(1))


def assert_close(found, expected):
    assert found.shape == expected.shape
    assert weft.allclose(found, expected, atol=1e-5), (found - expected).abs().max()


@every_family
@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
def test_padding_changes_nothing(family, pooling):
    model, tokens = made(family, pooling=pooling), tokens_of(2, 6)
    padded = weft.cat((tokens, tokens.new_full((2, 3), model.config.pad_token_id)), 1)
    mask = (padded != model.config.pad_token_id).long()
    assert_close(model(padded, mask)[:, :6], model(tokens))
    assert_close(model.embed(padded, mask), model.embed(tokens))


def test_embeddings_are_the_mean_of_the_tokens_vectors_at_length_1():
    model, tokens = made("bert"), tokens_of(3, 5)
    mean = model(tokens).mean(1)
    assert_close(model.embed(tokens), mean / mean.norm(dim=-1, keepdim=True))
    assert_close(made("bert", is_normalized=False).embed(tokens), mean)


def test_types_tell_the_texts_of_a_pair_apart():
    model, tokens = made("bert"), tokens_of(1, 6)
    second = weft.tensor([[0, 0, 0, 1, 1, 1]])
    assert_close(model(tokens, token_type_ids=weft.zeros_like(tokens)), model(tokens))
    assert not weft.allclose(model(tokens, token_type_ids=second), model(tokens), atol=1e-3)


@every_family
def test_saved_folders_are_read_back(family, tmp_path):
    model, tokens = made(family), tokens_of(2, 7)
    model.save_pretrained(tmp_path)
    again = Encoder.from_pretrained(tmp_path)
    assert again.config == model.config
    assert_close(again.logits(again(tokens)), model.logits(model(tokens)))
    assert_close(again.pooled(again(tokens)), model.pooled(model(tokens)))


def test_layers_that_the_folder_has_not_are_said(tmp_path):
    model = made("bert", has_logits=False, has_pooler=False)
    model.save_pretrained(tmp_path)
    again = Encoder.from_pretrained(tmp_path)
    with pytest.raises(ValueError, match="there is no pooler"):
        again.pooled(again(tokens_of(1, 3)))
    with pytest.raises(ValueError, match="there is no head of a masked language model"):
        again.logits(again(tokens_of(1, 3)))


@every_family
def test_logits_by_another_matrix_than_the_embedding_are_refused(family, tmp_path):
    made(family).save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({**FAMILIES[family], "tie_word_embeddings": False}))
    model = Encoder.from_pretrained(tmp_path)
    with pytest.raises(ValueError, match="there is no head of a masked language model that shares the embedding's"):
        model.logits(model(tokens_of(1, 3)))


def sentence_folder(folder, pooling, *others):
    made("bert", has_logits=False).save_pretrained(folder)
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling"), *others]
    modules = [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in kinds]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    return folder


def test_folders_of_sentence_transformers_say_how_to_pool(tmp_path):
    pooling = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    config = Encoder.from_pretrained(sentence_folder(tmp_path, pooling)).config
    assert (config.pooling, config.is_normalized) == ("cls", False)
    folder = sentence_folder(tmp_path, {"pooling_mode": "mean"}, ("2_Normalize", "Normalize"))
    config = Encoder.from_pretrained(folder).config
    assert (config.pooling, config.is_normalized) == ("mean", True)
    with pytest.raises(ValueError, match="a module 'Dense' in '2_Dense'"):
        Encoder.from_pretrained(sentence_folder(tmp_path, pooling, ("2_Dense", "Dense")))
    with pytest.raises(
        ValueError, match=r"pooling by \['pooling_mode_lasttoken'\] is not implemented; there are mean, cls, max"
    ):
        Encoder.from_pretrained(sentence_folder(tmp_path, {"pooling_mode_lasttoken": True}))


def test_wrong_shapes_types_and_too_many_tokens_are_explained():
    model = made("roberta")
    with pytest.raises(ValueError, match=r"T from 1 to its 18 positions, got \(1, 19\)"):
        model(tokens_of(1, 19))
    with pytest.raises(ValueError, match="attention_mask must have the shape of tokens"):
        model(tokens_of(1, 3), weft.ones(1, 4))
    with pytest.raises(ValueError, match="model_type 't5' is not implemented here; there are bert, roberta"):
        EncoderConfig.from_dict({**FAMILIES["bert"], "model_type": "t5"})
    with pytest.raises(ValueError, match="position_embedding_type='relative_key' is not implemented"):
        EncoderConfig.from_dict({**FAMILIES["bert"], "position_embedding_type": "relative_key"})


def test_torchtext_s_models_are_said_to_be_transformers_business():
    for name, theirs in (("ROBERTA_BASE_ENCODER", "RobertaModel"), ("T5_SMALL", "T5ForConditionalGeneration")):
        with pytest.raises(ImportError, match=rf"torchtext's {name} is not here.*transformers.{theirs}"):
            getattr(models, name)
    assert not hasattr(models, "anything_else")
