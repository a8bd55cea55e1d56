"""Tiny transformers with random weights, a directory per architecture, and what transformers computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from elmo_bench.encoders.protocol import EncoderCard, Layers
from elmo_bench.encoders.transformer.engine import LoadedTransformer
from elmo_bench.encoders.transformer.packages import quiet
from elmo_bench.encoders.transformer.plugin import Pooling, Transformer
from elmo_bench.testing.encoders import temporary_context

TEXT = (
    "the old bank of the river opened at 9 , said Mary .",
    "The bank near the old river closes on Sunday , Peter said .",
    "rivers open banks ; bankers closed old rivers 1999 times !",
)
SENTENCES = [
    tuple(text.split())
    for text in (
        *TEXT,
        "Mary",
        "the the the",
        "Old bankers said : rivers closed 27 banks near Peter , Mary and the others .",
    )
]
POSITIONS = 64  # pieces that every one of these models can read, special ones included
SIZES: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "initializer_range": 0.3,  # so that every piece matters
}


def word_piece() -> Tokenizer:
    """BERT's kind: lower case, [CLS] and [SEP], an unknown piece."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(
        TEXT, trainers.WordPieceTrainer(vocab_size=120, special_tokens=special, show_progress=False)
    )
    return _with_template(tokenizer, "[CLS] $A [SEP]")


def byte_level(add_prefix_space: bool = False, template: str = "<s> $A </s>") -> Tokenizer:
    """RoBERTa's and GPT-2's kind: every byte has a piece, spaces belong to the next word."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer = trainers.BpeTrainer(
        vocab_size=340,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXT, trainer)
    return _with_template(tokenizer, template) if template else tokenizer


def unigram() -> Tokenizer:
    """DeBERTa-v3's kind: a language model of pieces, with a mark at the beginning of words."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.Strip(), normalizers.NFKC()])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=90,
        special_tokens=["<pad>", "<s>", "</s>", "<unk>"],
        unk_token="<unk>",
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXT, trainer)
    return _with_template(tokenizer, "<s> $A </s>")


def sentence_piece_bytes() -> Tokenizer:
    """Llama's kind: merges over marked words, and only a piece at the beginning is added."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    trainer = trainers.BpeTrainer(
        vocab_size=120, special_tokens=["<unk>", "<s>", "</s>"], show_progress=False
    )
    tokenizer.train_from_iterator([word for text in TEXT for word in text.split()], trainer)
    return _with_template(tokenizer, "<s> $A")


def _with_template(tokenizer: Tokenizer, template: str) -> Tokenizer:
    special = [(part, tokenizer.token_to_id(part)) for part in template.split() if part != "$A"]
    tokenizer.post_processor = processors.TemplateProcessing(single=template, special_tokens=special)
    return tokenizer


ARCHITECTURES: dict[str, tuple[Callable[[], Tokenizer], Callable[[int], Any]]] = {
    "bert": (word_piece, lambda size: transformers.BertConfig(**_sized(size))),
    "electra": (word_piece, lambda size: transformers.ElectraConfig(**_sized(size), embedding_size=8)),
    "mpnet": (byte_level, lambda size: transformers.MPNetConfig(**_sized(size, offset=2))),
    "roberta": (
        byte_level,
        lambda size: transformers.RobertaConfig(**_sized(size, offset=2), pad_token_id=1),
    ),
    "deberta": (
        byte_level,
        lambda size: transformers.DebertaConfig(
            **_sized(size), relative_attention=True, pos_att_type=["p2c", "c2p"]
        ),
    ),
    "deberta_v3": (
        unigram,
        lambda size: transformers.DebertaV2Config(
            **_sized(size), relative_attention=True, pos_att_type=["p2c", "c2p"], position_biased_input=False
        ),
    ),
    "modernbert": (
        byte_level,
        lambda size: transformers.ModernBertConfig(
            **_sized(size), local_attention=8, pad_token_id=1, **_special_ids(cls=0, sep=2, bos=0, eos=2)
        ),
    ),
    "gpt2": (
        lambda: byte_level(template=""),
        lambda size: transformers.GPT2Config(
            vocab_size=size, n_embd=16, n_layer=2, n_head=2, n_positions=POSITIONS, initializer_range=0.3
        ),
    ),
    "llama": (sentence_piece_bytes, lambda size: transformers.LlamaConfig(**_sized(size))),
}
DECODERS = ("gpt2", "llama")


def _sized(vocabulary: int, offset: int = 0) -> dict[str, Any]:
    return {**SIZES, "vocab_size": vocabulary, "max_position_embeddings": POSITIONS + offset}


def _special_ids(**ids: int) -> dict[str, int]:
    return {f"{name}_token_id": number for name, number in ids.items()}


def save_tiny(directory: Path, name: str, tokenizer: Tokenizer | None = None, **settings: Any) -> Path:
    """The directory of a tiny model; `settings` are those of its tokeniser."""
    make_tokenizer, make_config = ARCHITECTURES[name]
    tokenizer = tokenizer or make_tokenizer()
    config = make_config(tokenizer.get_vocab_size())
    with quiet(), torch.random.fork_rng():
        torch.manual_seed(5)
        model = transformers.AutoModel.from_config(config)
        model.save_pretrained(directory)
        wrapped = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **settings)
        wrapped.save_pretrained(directory)
    return directory


def load_tiny(directory: Path, pooling: Pooling = "mean", **settings: Any) -> LoadedTransformer:
    """Our encoder of a directory."""
    loaded = settings_of(directory, pooling, **settings).find(temporary_context(directory / "cache")).load()
    assert isinstance(loaded, LoadedTransformer)
    return loaded


def card_of(plugin: Transformer) -> EncoderCard:
    return plugin.find(temporary_context(Path(plugin.model) / "cache")).card


def settings_of(directory: Path, pooling: Pooling = "mean", **settings: Any) -> Transformer:
    """The plug-in of a directory."""
    return Transformer(**{"model": str(directory), "pooling": pooling, "window": 8192, **settings})


@cache
def _theirs(directory: Path) -> tuple[Any, Any]:
    with quiet():
        tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
        model = transformers.AutoModel.from_pretrained(directory, dtype=torch.float32).eval()
    tokenizer.backend_tokenizer.no_truncation()
    return tokenizer, model


def transformers_layers(directory: Path, words: Sequence[str], pooling: Pooling) -> Layers:
    """What transformers computes for the text of one sentence, pooled one word after the other.

    Its tokeniser reads the joined text; offsets say to which word a piece belongs.
    """
    tokenizer, _ = _theirs(directory)
    encoding = tokenizer(" ".join(words), return_offsets_mapping=True, return_tensors="pt")
    offsets = encoding.pop("offset_mapping")[0].tolist()
    states = model_layers(directory, encoding["input_ids"][0].tolist())
    ends = np.cumsum([len(word) + 1 for word in words]) - 1
    by_word: list[list[int]] = [[] for _ in words]
    for position, (start, end) in enumerate(offsets):
        if end > start:  # special pieces are nowhere in the text
            by_word[int(np.searchsorted(ends, end - 1, side="right"))].append(position)
    pools: dict[str, Callable[[Layers], Layers]] = {
        "first": lambda pieces: pieces[:, 0],
        "last": lambda pieces: pieces[:, -1],
        "mean": lambda pieces: pieces.mean(axis=1),
    }
    return np.stack([pools[pooling](states[:, positions]) for positions in by_word], axis=1)


@torch.inference_mode()
def model_layers(directory: Path, ids: Sequence[int]) -> Layers:
    """(layers, pieces, dim) of one text, as transformers computes them."""
    _, model = _theirs(directory)
    with quiet():
        states = model(input_ids=torch.tensor([list(ids)]), output_hidden_states=True).hidden_states
    answer: Layers = torch.stack(states)[:, 0].numpy()
    return answer
