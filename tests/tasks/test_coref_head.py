"""The coreference head on given mixed tokens, against brute force wherever something is decided."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import combinations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from elmo_bench.data.batching import pad
from elmo_bench.data.vocabulary import Vocabularies
from elmo_bench.data.word_table import WordTable
from elmo_bench.nn.packing import Packing
from elmo_bench.tasks.coref.antecedents import BINS, AntecedentScorer, multiply_scaled
from elmo_bench.tasks.coref.head import CorefHead, CorefHeadSettings, gold_clusters, linked, with_unit_vectors
from elmo_bench.tasks.coref.lstm import CoupledBiLstm, CoupledLstm
from elmo_bench.tasks.coref.spans import SpanScorer, keep_best
from elmo_bench.tasks.coref.task import CorefExample
from elmo_bench.tasks.coref.windows import Window
from elmo_bench.tensors import Batch, HeadOutput, Injected, Stream, Widths
from tests.support.composition import head_settings, make_task
from tests.support.head_batches import ABSENT, PLACES, words

Clusters = list[list[list[int]]]
TEXTS = ["a b . c . e d . a b", "a . b c d a . e", "h"]
SPEAKERS = ["AAABBBA", "AAAAAA", "A"]
GOLD: list[Clusters] = [[[[0, 2], [5, 7]], [[2, 3], [4, 5]]], [[[0, 1], [4, 5]]], []]


@dataclass(frozen=True)
class Document:
    """An indexed example with the features of its tokens."""

    example: CorefExample
    at_input: Tensor  # (tokens, features)
    at_output: Tensor  # (tokens, features)


def examples() -> list[CorefExample]:
    made = []
    for number, (text, clusters) in enumerate(zip(TEXTS, GOLD, strict=True)):
        sentences = tuple(tuple(part.split()) for part in text.split("."))
        speakers = tuple(SPEAKERS[number][: sum(map(len, sentences))])
        mentions = tuple(tuple((start, end) for start, end in cluster) for cluster in clusters)
        made.append(CorefExample(f"d{number}", sentences, speakers, "xy"[number % 2], mentions))  # type: ignore[arg-type]
    return made


def vocabularies(word_dim: int = 4) -> Vocabularies:
    return Vocabularies(words(word_dim), make_task("coref").vocabularies(examples()[:2]))


def build(widths: Widths, word_dim: int = 4, **changes: object) -> CorefHead:
    torch.manual_seed(0)
    sizes = {"character_dim": 3, "character_filters": 2, "character_widths": (1, 2), "hidden": 5}
    more = {
        "feature_dim": 3,
        "scorer_hidden": 6,
        "longest_span": 3,
        "spans_per_word": 3.0,
        "lexical_dropout": 0.2,
    }
    settings = head_settings(CorefHeadSettings, "coref", **{**sizes, **more, **changes})
    return CorefHead(settings, vocabularies(word_dim), widths)


def documents(widths: Widths) -> list[Document]:
    generator = torch.Generator().manual_seed(2)
    return [
        Document(
            example,
            *(
                torch.randn(len(example.speakers), width, generator=generator)
                for width in vars(widths).values()
            ),
        )
        for example in examples()
    ]


def collate(rows: list[Document], extra: int = 0, junk: float = 0.0) -> tuple[dict[str, Injected], Batch]:
    """A batch of documents, one row per sentence, padded by `extra` more than needed."""
    lengths = torch.tensor([len(sentence) for row in rows for sentence in row.example.sentences])
    mask = torch.arange(int(lengths.max()) + extra) < lengths.unsqueeze(1)

    def features(tensors: list[Tensor]) -> Tensor:
        whole = torch.full((*mask.shape, tensors[0].shape[1]), junk)
        whole[mask] = torch.cat(tensors)
        return whole

    injected = Injected(
        features([row.at_input for row in rows]), features([row.at_output for row in rows]), mask
    )
    counts = tuple(len(row.example.sentences) for row in rows)
    task, named = make_task("coref"), vocabularies()
    indexed = [task.index(row.example, named) for row in rows]
    fields = {}
    for name in indexed[0]:
        whole = pad([each[name] for each in indexed])
        # the last dimension of mentions is start, end and cluster
        last = 0 if name == "mentions" else extra
        fields[name] = F.pad(whole, [0, last, 0, extra, 0, extra][: 2 * whole.dim() - 2])
    stream = Stream(torch.zeros(len(mask), 0, mask.shape[1], 0), mask, counts)
    return {"document": injected}, Batch(tuple(row.example.id for row in rows), {"document": stream}, fields)


def run(
    head: CorefHead, rows: list[Document], extra: int = 0, junk: float = 0.0
) -> tuple[HeadOutput, list[Clusters]]:
    injected, batch = collate(rows, extra, junk)
    output = head(injected, batch)
    return output, head.decode(output, batch)


@pytest.mark.parametrize("widths", PLACES, ids=str)
def test_gradients_reach_everything(widths: Widths) -> None:
    head = build(widths)
    injected, batch = collate(documents(widths), extra=1)
    document = injected["document"]
    document.at_input.requires_grad_(True)
    document.at_output.requires_grad_(True)
    head(injected, batch).loss.backward()
    for name, parameter in head.named_parameters():
        if parameter.requires_grad and parameter.numel():
            assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name
    # the third document has one span, which has nothing to choose from
    learnt = document.mask.clone()
    learnt[-1] = False
    for features in (document.at_input, document.at_output):
        if features.numel():
            assert features.grad is not None
            assert (features.grad.abs().sum(2) > 0).equal(learnt)


@pytest.mark.parametrize("word_dim", [0, 4])
@pytest.mark.parametrize("widths", PLACES, ids=str)
def test_padding_order_and_company_change_nothing(widths: Widths, word_dim: int) -> None:
    head, rows = build(widths, word_dim).eval(), documents(widths)
    plain, clusters = run(head, rows)
    wider, again = run(head, rows, extra=3, junk=1e3)
    torch.testing.assert_close(wider.loss, plain.loss, rtol=1e-6, atol=1e-6)
    assert again == clusters
    assert run(head, rows[::-1])[1] == clusters[::-1]
    alone = [run(head, [row]) for row in rows]
    assert [found for _, (found,) in alone] == clusters
    torch.testing.assert_close(torch.stack([output.loss for output, _ in alone]).mean(), plain.loss)


def test_a_tiny_set_is_learnt_by_heart() -> None:
    for widths in (ABSENT, Widths(6, 6)):
        head, rows = build(widths, dropout=0.0, lexical_dropout=0.0), documents(widths)
        head.train()
        optimiser = torch.optim.Adam(head.parameters(), lr=0.04)
        for _ in range(60):
            optimiser.zero_grad()
            run(head, rows)[0].loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        head.eval()
        found = run(head, rows)[1]
        assert [sorted(map(sorted, each)) for each in found] == [sorted(map(sorted, each)) for each in GOLD]


@pytest.mark.parametrize("share", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("reach", [1, 2, 20])
def test_losses_and_choices_are_those_of_brute_force(reach: int, share: float) -> None:
    """Every pair by its whole vector, every span by its whole vector, and the loss as the paper writes it."""
    widths = Widths(6, 0)
    head = build(widths, antecedents=reach, spans_per_word=share).eval()
    for document in documents(widths):
        output, _ = run(head, [document])
        loss, spans, choices = by_brute_force(head, document, reach, share)
        torch.testing.assert_close(output.loss, loss, rtol=1e-5, atol=1e-5)
        assert output.scores["spans"][0].tolist() == spans
        assert output.scores["antecedents"][0].tolist() == choices


def by_brute_force(
    head: CorefHead, document: Document, reach: int, share: float
) -> tuple[Tensor, list[list[int]], list[int]]:
    injected, batch = collate([document])
    fields, mask = batch.fields, injected["document"].mask
    lexical = torch.cat([head.words(fields["words"])[0], head.characters(fields["characters"][0])], dim=2)
    states = head.lstm(torch.cat([lexical, injected["document"].at_input], dim=2), mask)[mask]
    lexical = lexical[mask]
    scorer, pairs = head.spans, head.antecedents
    sentence = torch.arange(len(mask)).repeat_interleave(mask.sum(1)).tolist()
    vectors: dict[tuple[int, int], Tensor] = {}
    for start in range(len(sentence)):
        for end in range(start, min(start + 3, len(sentence))):
            if sentence[start] == sentence[end]:
                weights = scorer.attend(states[start : end + 1]).softmax(0)  # (width, 1)
                width = scorer.widths.weight[end - start]
                parts = [states[start], states[end], width, (weights * lexical[start : end + 1]).sum(0)]
                vectors[start, end] = torch.cat(parts)
    mentions = {span: score(scorer, vector) for span, vector in vectors.items()}
    order = sorted(vectors, key=lambda span: -float(mentions[span].detach()))
    kept: list[tuple[int, int]] = []
    for span in order:
        if len(kept) < max(1, int(share * len(sentence))) and not any(cross(span, other) for other in kept):
            kept.append(span)
    kept.sort()
    cluster_of = {
        (start, end - 1): number
        for number, cluster in enumerate(document.example.clusters)
        for start, end in cluster
    }
    loss, choices = torch.zeros(()), []
    for i, span in enumerate(kept):
        scores, gold = [torch.zeros(())], []
        before = range(max(0, i - reach), i)
        for j in before:
            same = document.example.speakers[span[0]] == document.example.speakers[kept[j][0]]
            distance = max(number for number, first in enumerate(BINS) if first <= i - j)
            genre = int(fields["genre"][0])
            features = [
                pairs.speakers.weight[int(same)],
                pairs.genres.weight[genre],
                pairs.distances.weight[distance],
            ]
            left, right = vectors[span], vectors[kept[j]]
            pair = score(pairs, torch.cat([left, right, left * right, *features]))
            scores.append(pair + mentions[span] + mentions[kept[j]])
            gold.append(span in cluster_of and cluster_of.get(kept[j]) == cluster_of[span])
        chances = torch.stack(scores).softmax(0)
        right_ones = torch.tensor([not any(gold), *gold])
        loss = loss - chances[right_ones].sum().log()
        best = int(torch.stack(scores).argmax())
        choices.append(before[best - 1] if best else -1)
    return loss, [[start, end + 1] for start, end in kept], choices


def score(scorer: SpanScorer | AntecedentScorer, vector: Tensor) -> Tensor:
    hidden = torch.relu(scorer.second(torch.relu(scorer.first(vector))))
    only: Tensor = scorer.last(hidden)[0]
    return only


def cross(one: tuple[int, int], other: tuple[int, int]) -> bool:
    (a, b), (c, d) = sorted([one, other])
    return a < c <= b < d


def test_pruning_is_greedy_and_never_crosses() -> None:
    """Against the definition, on every order of few spans and on many random ones."""
    randomness = random.Random(1)
    for _ in range(300):
        length = randomness.randint(1, 9)
        spans = [(start, end) for start in range(length) for end in range(start, min(length, start + 4))]
        order = randomness.sample(range(len(spans)), len(spans))
        count = randomness.randint(1, len(spans))
        kept: list[int] = []
        for span in order:
            if len(kept) < count and not any(cross(spans[span], spans[other]) for other in kept):
                kept.append(span)
        found = keep_best([start for start, _ in spans], [end for _, end in spans], order, count)
        assert found == sorted(kept, key=lambda span: spans[span])
        assert not any(cross(spans[one], spans[other]) for one, other in combinations(found, 2))


def test_the_scaled_product_is_that_of_the_whole_pairs() -> None:
    left, right, weight = (torch.randn(size, 4, dtype=torch.double, requires_grad=True) for size in (3, 5, 2))
    whole = torch.einsum("rd,cd,hd->crh", left, right, weight)
    torch.testing.assert_close(multiply_scaled(left, right, weight), whole)
    assert torch.autograd.gradcheck(multiply_scaled, (left, right, weight))


def test_the_coupled_lstm_is_its_definition() -> None:
    torch.manual_seed(0)
    layer = CoupledLstm(3, 2, dropout=0.0).double()
    nn.init.normal_(layer.first)
    nn.init.normal_(layer.bias)
    mask = torch.tensor([[True, True, False], [True, True, True], [True, False, False]])
    x = torch.randn(3, 3, 3, dtype=torch.double, requires_grad=True)
    packing = Packing.of(mask)
    found = packing.unpack(layer(packing.pack(x), packing))
    for row, length in enumerate(mask.sum(1).tolist()):
        state, cell = layer.first
        for time in range(length):
            gates = layer.enter @ x[row, time] + layer.bias + layer.recur @ state
            enter, leave, candidate = gates.chunk(3)
            cell = (1 - enter.sigmoid()) * cell + enter.sigmoid() * candidate.tanh()
            state = leave.sigmoid() * cell.tanh()
            torch.testing.assert_close(found[row, time], state)
    parameters = [layer.enter, layer.recur, layer.bias, layer.first]

    def states(x: Tensor, *rest: Tensor) -> Tensor:
        return layer(packing.pack(x), packing)  # type: ignore[no-any-return]

    assert torch.autograd.gradcheck(states, (x, *parameters))


def test_the_state_that_is_read_is_dropped_once_for_a_sequence() -> None:
    torch.manual_seed(0)
    layer, mask = CoupledBiLstm(3, 4, dropout=0.5), torch.ones(2, 5, dtype=torch.bool)
    x = torch.randn(2, 5, 3)
    assert not layer(x, mask).equal(layer(x, mask))
    layer.eval()
    assert layer(x, mask).equal(layer(x, mask))


def test_long_documents_are_cut_to_a_window_in_training_alone() -> None:
    head, rows = build(ABSENT, training_sentences=1), documents(ABSENT)[:2]
    starts = set()
    for seed in range(20):
        torch.manual_seed(seed)
        spans = run(head.train(), rows)[0].scores["spans"]
        starts.add((int(spans[0][0][0]), int(spans[1][0][0])))
        torch.manual_seed(seed)
        assert run(head, rows)[0].scores["spans"].equal(spans)
    assert {first for first, _ in starts} == {0, 2, 3, 5}  # where sentences begin
    assert {second for _, second in starts} == {0, 1, 5}
    assert len(run(head.eval(), rows)[1]) == 2
    assert run(head, rows)[0].scores["spans"][0].max() == 7


def test_windows_know_their_tokens() -> None:
    mask = torch.tensor([[1, 1, 0], [1, 0, 0], [1, 1, 1]]).bool()
    window = Window.of((2, 1), mask, None)
    assert window.rows.tolist() == [0, 1, 2] and window.skipped == (0, 0)
    assert window.left(mask).tolist() == [2, 1, 1, 3, 2, 1]
    assert window.tokens(mask) == [slice(0, 3), slice(3, 6)]


def test_vectors_of_the_file_alone_are_brought_to_length_1() -> None:
    matrix = torch.tensor([[0.0, 0.0], [0.0, 0.0], [3.0, 4.0], [0.0, 0.0], [3.0, 4.0]])
    changed = with_unit_vectors(WordTable(("a", "b", "c"), matrix, False, from_file=2)).matrix
    torch.testing.assert_close(changed[2:], torch.tensor([[0.6, 0.8], [0.0, 0.0], [3.0, 4.0]]))
    assert matrix[2].tolist() == [3.0, 4.0]


def test_vectors_of_two_files_are_brought_to_length_1_each() -> None:
    matrix = torch.tensor([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [3.0, 4.0, 5.0], [0.0, 0.0, 7.0]])
    changed = with_unit_vectors(WordTable(("a", "b"), matrix, False, from_file=2, widths=(2, 1))).matrix
    torch.testing.assert_close(changed[2:], torch.tensor([[0.6, 0.8, 1.0], [0.0, 0.0, 1.0]]))


def test_antecedents_make_clusters() -> None:
    spans = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [-1, -1]]
    assert linked(spans, [-1, -1, 0, 1, 2, -1]) == [[[0, 1], [2, 3], [4, 5]], [[1, 2], [3, 4]]]
    assert linked(spans, [-1] * 6) == []
    assert gold_clusters(torch.tensor([[0, 1], [2, 3]]), torch.tensor([[2, 3, 1], [0, 0, 0]])).tolist() == [
        0,
        1,
    ]
