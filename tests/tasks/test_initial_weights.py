"""At the paper's size every weight of every head begins as the program begins it that the head follows.

Rules are stated as standard deviations, computed here from the shapes of the weights in that program.
"""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase

import pytest
import torch
from torch import Tensor, nn

from elmo_bench.catalog import list_tasks
from elmo_bench.data.vocabulary import Vocabularies, Vocabulary
from elmo_bench.data.word_table import WordTable
from elmo_bench.tensors import Widths
from tests.support.composition import make_task

ELMO = 1024
CHARACTERS = Vocabulary.open(map(chr, range(33, 143)))  # 112 with padding and unknown
GENRES = Vocabulary.open("abcdefg")  # OntoNotes has seven
TAGS = Vocabulary.closed(["O", *(f"{prefix}-{kind}" for kind in "ABCD" for prefix in "BILU")])

Rule = Callable[[Tensor], float]
"""From a weight to the standard deviation that its elements should have."""


def uniform(reach: float) -> float:
    return reach / 3**0.5


def glorot(weight: Tensor, positions: int = 1) -> float:
    """TensorFlow's glorot_uniform; a vector counts as a square matrix."""
    outputs, inputs = weight.shape if weight.dim() == 2 else (weight.numel(), weight.numel())
    return float((2 / (inputs + positions * outputs)) ** 0.5)


def convolution(width: int) -> Rule:
    return lambda weight: glorot(weight, width)


def pytorch(weight: Tensor) -> float:
    """nn.Linear's rule for a matrix."""
    return uniform(weight.shape[1] ** -0.5)


def pytorch_bias(inputs: int) -> Rule:
    return lambda _: uniform(inputs**-0.5)


def orthogonal(weight: Tensor) -> float:
    """Rows or columns of length 1, whichever are the longer."""
    return float(max(weight.shape) ** -0.5)


def orthogonal_blocks(blocks: int) -> Rule:
    return lambda weight: orthogonal(weight.chunk(blocks)[0])


def fixed(deviation: float) -> Rule:
    return lambda _: deviation


ZERO = fixed(0.0)
TRUNCATED = fixed(0.05 * 0.8796)  # N(0, 0.05²) within two deviations
KERAS_LSTM: dict[str, Rule] = {
    "*.lstm.weight_ih*": glorot,
    "*.lstm.weight_hh*": orthogonal_blocks(4),
    "*.lstm.bias_ih*": fixed((3 / 16) ** 0.5),  # a quarter is 1, the rest 0
    "*.lstm.bias_hh*": ZERO,
}
RULES: dict[str, dict[str, Rule]] = {
    "coref": {  # e2e-coref: TensorFlow's default, but for the recurrent weights
        "characters.vectors.weight": glorot,
        "characters.filters.0.weight": convolution(3),
        "characters.filters.1.weight": convolution(4),
        "characters.filters.2.weight": convolution(5),
        "characters.filters.*.bias": glorot,
        "lstm.*.enter": glorot,
        "lstm.*.recur": orthogonal_blocks(3),
        "lstm.*.bias": lambda bias: 2**0.5 * glorot(bias),  # the sum of two
        "lstm.*.first": lambda first: glorot(first[:1]),
        "spans.*": glorot,
        "antecedents.*": glorot,
    },
    "srl": {  # AllenNLP: Xavier embedding, orthogonal blocks
        "flags.weight": glorot,
        "layers.*.enter": orthogonal_blocks(6),
        "layers.*.recur": orthogonal_blocks(5),
        "layers.*.bias": fixed(0.4),  # a fifth is 1, the rest 0
        "emit.weight": orthogonal,
        "emit.bias": ZERO,
    },
    "ner": {  # AllenNLP: Xavier embedding, PyTorch's linear layers; LSTMs as Keras
        "characters.vectors.weight": glorot,
        "characters.filters.weight": pytorch,
        "characters.filters.bias": pytorch_bias(3 * 16),
        "emit.weight": pytorch,
        "emit.bias": pytorch_bias(200),
        "crf.between": glorot,
        "crf.*": ZERO,
        **KERAS_LSTM,
    },
    "squad": {  # document-qa: GRUs truncated normal, Keras's linear layers, TensorFlow's convolution
        "characters.vectors.weight": fixed(uniform(0.05)),
        "characters.filters.weight": convolution(5),
        "characters.filters.bias": glorot,
        "*.gru.weight*": TRUNCATED,
        "*.gru.bias*": ZERO,
        "*.linear.weight": glorot,
        "*.linear.bias": ZERO,
        "*.score.*": glorot,
        "start.weight": glorot,
        "end.weight": glorot,
    },
    "snli": {  # AllenNLP: Xavier linear layers without bias
        "project.weight": glorot,
        "project.bias": ZERO,
        "classify.*.weight": glorot,
        "classify.*.bias": ZERO,
        **KERAS_LSTM,
    },
    "sst5": {  # AllenNLP: PyTorch's linear layers; LSTMs as Keras
        "pre_encode.*.weight": pytorch,
        "pre_encode.*.bias": pytorch_bias(300 + ELMO),
        "attend.weight": pytorch,
        "classify.1.bias": pytorch_bias(4 * (600 + ELMO)),
        "classify.4.bias": pytorch_bias(1200),
        "classify.7.bias": pytorch_bias(300),
        "classify.*.weight": pytorch,
        **KERAS_LSTM,
    },
    "pos": {"weight": pytorch, "bias": ZERO},
}
BOTH = ("squad", "snli", "sst5")


def build(task: str) -> nn.Module:
    """The head of conf/task with ELMo where the paper has it, with frozen word vectors of 300 dimensions."""
    torch.manual_seed(0)
    words = WordTable(("a",), torch.zeros(3, 300), trainable=False)
    labels = Vocabulary.closed(["contradiction", "entailment", "neutral"])
    named = {"characters": CHARACTERS, "genres": GENRES, "tags": TAGS, "labels": labels}
    head = make_task(task).build_head(Vocabularies(words, named), Widths(ELMO, ELMO if task in BOTH else 0))
    assert isinstance(head, nn.Module)
    return head


@pytest.mark.parametrize("task", RULES)
def test_every_weight_begins_by_the_rule_of_its_program(task: str) -> None:
    for name, weight in build(task).named_parameters():
        rules = [rule for pattern, rule in RULES[task].items() if fnmatchcase(name, pattern)]
        if not rules or weight.dim() == 0:
            assert weight.dim() == 0, f"{task}: no rule for {name}"  # a scalar has no deviation
            continue
        found, wanted = float(weight.detach().std(correction=0)), rules[0](weight)
        # five standard errors of the deviation of that many uniform numbers
        assert found == pytest.approx(wanted, rel=5 * 0.45 / weight.numel() ** 0.5, abs=1e-7), name


def test_every_task_with_weights_has_its_rules() -> None:
    assert set(list_tasks()) - RULES.keys() == {"wsd"}  # one pass, nothing is learnt by gradient


def test_the_deviations_are_those_measured_in_the_references() -> None:
    # e2e-coref and AllenNLP at the paper's size, by an independent comparison (issue 13, B6)
    measured = {
        "coref": {
            "spans.widths.weight": 0.26,
            "antecedents.distances.weight": 0.26,
            "antecedents.speakers.weight": 0.30,
            "characters.vectors.weight": 0.13,
            "spans.first.weight": 0.037,
            "antecedents.first.weight": 0.022,
            "antecedents.last.weight": 0.115,
            "lstm.left.first": 0.10,
        },
        "srl": {"flags.weight": 0.14},
        "ner": {"characters.vectors.weight": 0.13},
    }
    for task, deviations in measured.items():
        weights = dict(build(task).named_parameters())
        found = {name: float(weights[name].detach().std()) for name in deviations}
        assert found == pytest.approx(deviations, rel=0.1)
