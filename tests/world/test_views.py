"""The views of the generated world: every annotation agrees with the story it is read off."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from elmo_bench.world.coreference import write_document
from elmo_bench.world.english import article, conjugate, pluralise
from elmo_bench.world.entailment import draw_identity, draw_pair
from elmo_bench.world.lexicon import NAMED_KINDS, Scope, seeded
from elmo_bench.world.questions import write_paragraph
from elmo_bench.world.sentences import tagged
from elmo_bench.world.sentiment import Node, join, negate, write_review
from elmo_bench.world.tables import NOUNS
from elmo_bench.world.tagging import name_tags
from elmo_bench.world.writing import SPLITS, WorldSize, told_stories, world_files


@pytest.fixture(scope="module")
def world() -> dict[str, str]:
    return world_files(WorldSize(text=5, heldout=2))


@pytest.mark.parametrize(
    ("entry", "forms"),
    [
        ("hire", ("hire", "hired", "hired", "hiring", "hires")),
        ("hug+", ("hug", "hugged", "hugged", "hugging", "hugs")),
        ("bury", ("bury", "buried", "buried", "burying", "buries")),
        ("eat/ate/eaten", ("eat", "ate", "eaten", "eating", "eats")),
        ("run/ran/run", ("run", "ran", "run", "running", "runs")),
        ("lie/lay/lain", ("lie", "lay", "lain", "lying", "lies")),
        ("flee/fled/fled", ("flee", "fled", "fled", "fleeing", "flees")),
        ("crash", ("crash", "crashed", "crashed", "crashing", "crashes")),
    ],
)
def test_conjugation(entry: str, forms: tuple[str, ...]) -> None:
    verb = conjugate(entry)
    assert tuple(verb.form(tag) for tag in ("VB", "VBD", "VBN", "VBG", "VBZ")) == forms


def test_plurals_and_articles() -> None:
    plurals = [pluralise(noun) for noun in ("nurse", "city", "bus", "goose", "fish")]
    assert plurals == ["nurses", "cities", "buses", "geese", "fish"]
    articles = [article(word) for word in ("actor", "unionised", "unabridged", "heiress", "nurse")]
    assert articles == ["an", "a", "an", "an", "a"]


def test_fixed_words_have_their_tags() -> None:
    assert [token.tag for token in tagged("that was said/VBN by the old men")] == [
        "IN", "VBD", "VBN", "IN", "DT", "JJ", "NN"
    ]  # fmt: skip


def test_names_and_roles_cover_what_the_story_says() -> None:
    for story in told_stories("check", "test", 30):
        for sentence in story:
            tags = name_tags(sentence)
            for mention in sentence.mentions:
                assert 0 <= mention.start < mention.end <= len(sentence.tokens)
                if mention.name is not None:
                    start, end = mention.name
                    assert sentence.words[start:end] == mention.entity.name
                    assert tags[start][0] == "B" and all(tag[0] == "I" for tag in tags[start + 1 : end])
            (proposition,) = sentence.propositions
            assert sentence.tokens[proposition.predicate].tag.startswith("VB")
            covered: list[int] = [proposition.predicate]
            for argument in proposition.arguments:
                covered += range(argument.start, argument.end)
            assert len(covered) == len(set(covered)), (sentence.words, proposition)


def test_one_name_means_one_thing_in_a_story() -> None:
    for story in told_stories("check", "test", 40):
        kinds: dict[str, set[tuple[int, str]]] = defaultdict(set)
        for sentence in story:
            for mention in sentence.mentions:
                if mention.entity.id >= 0 and mention.entity.owner is None:
                    for name in mention.entity.name:
                        kinds[name].add((mention.entity.id, mention.entity.kind))
        assert max((len(meanings) for meanings in kinds.values()), default=1) <= 2


def test_conllu_has_ten_columns_and_both_tags(world: dict[str, str]) -> None:
    universal: dict[str, set[str]] = defaultdict(set)
    for split in SPLITS:
        for line in world[f"pos/{split}.conllu"].splitlines():
            if line and not line.startswith("#"):
                columns = line.split("\t")
                assert len(columns) == 10 and all(columns)
                universal[columns[3]].add(columns[4])
    assert universal["NOUN"] == {"NN", "NNS"} and universal["PROPN"] == {"NNP"}
    assert universal["AUX"] <= {"MD", "VBD", "VBZ", "VBP", "VB", "VBN"}


def test_many_words_have_a_tag_by_context_only(world: dict[str, str]) -> None:
    tags: dict[str, set[str]] = defaultdict(set)
    for line in world["pos/test.conllu"].splitlines():
        if "\t" in line:
            tags[line.split("\t")[1].lower()].add(line.split("\t")[4])
    assert sum(len(of) > 1 for of in tags.values()) > 40


def test_role_brackets_are_balanced_and_columns_match_predicates(world: dict[str, str]) -> None:
    for split in SPLITS:
        sentences = [
            [line.split("\t") for line in block.splitlines() if not line.startswith("#")]
            for block in world[f"srl/{split}.gold_conll"].split("\n\n")
        ]
        for rows in filter(None, sentences):
            predicates = sum(row[7] != "-" for row in rows)
            assert {len(row) for row in rows} == {12 + predicates}
            for column in range(11, 11 + predicates):
                text = "".join(row[column] for row in rows)
                assert text.count("(") == text.count(")") and text.count("(V") == 1
                assert not re.search(r"\([^)]*\(", text), text  # arguments do not nest


def test_the_same_place_has_different_roles(world: dict[str, str]) -> None:
    """What stands first is the doer or the thing done to: position alone does not decide."""
    first = Counter()
    for block in world["srl/test.gold_conll"].split("\n\n"):
        rows = [line.split("\t") for line in block.splitlines() if not line.startswith("#")]
        if rows and len(rows[0]) > 12 and rows[0][11].startswith("(ARG"):
            first[rows[0][11].strip("(*)")] += 1
    assert first["ARG1"] > 0.2 * sum(first.values()) and first["ARG0"] > 0.2 * sum(first.values())


def test_senses_are_keyed_and_known(world: dict[str, str]) -> None:
    rows = [line.split("\t") for line in world["wsd/senses.tsv"].splitlines()]
    assert rows[0] == ["lemma", "pos", "sense_number", "sense_key", "synset_offset", "tag_count"]
    known = {(lemma, pos, key) for lemma, pos, _, key, _, _ in rows[1:]}
    assert len({key for _, _, key in known}) == len(rows) - 1
    trained: set[str] = set()
    for split in SPLITS:
        root = ElementTree.fromstring(world[f"wsd/{split}/{split}.data.xml"].split("\n", 1)[1])
        lines = [line.split(" ") for line in world[f"wsd/{split}/{split}.gold.key.txt"].splitlines()]
        instances = list(root.iter("instance"))
        assert [instance.get("id") for instance in instances] == [identifier for identifier, _ in lines]
        for instance, (_, key) in zip(instances, lines, strict=True):
            assert (instance.get("lemma"), str(instance.get("pos"))[0].lower(), key) in known
        if split == "train":
            trained = {key for _, key in lines}
    assert {key for _, _, key in known} == trained


def test_first_sense_is_neither_floor_nor_ceiling(world: dict[str, str]) -> None:
    first = {
        row.split("\t")[3] for row in world["wsd/senses.tsv"].splitlines()[1:] if row.split("\t")[2] == "1"
    }
    keys = [line.split(" ")[1] for line in world["wsd/test/test.gold.key.txt"].splitlines()]
    assert 0.45 < sum(key in first for key in keys) / len(keys) < 0.7


def test_sentiment_trees_are_binary_with_a_worth_at_every_node(world: dict[str, str]) -> None:
    roots: Counter[str] = Counter()
    for line in world["sst5/test.txt"].splitlines():
        assert line.count("(") == line.count(")")
        stripped = re.sub(r"\([0-4] [^() ]+\)", "x", line)
        while stripped != "x":
            smaller = re.sub(r"\([0-4] x x\)", "x", stripped)
            assert smaller != stripped, line
            stripped = smaller
        roots[line[1]] += 1
    assert set(roots) == set("01234") and max(roots.values()) < 0.4 * sum(roots.values())


def test_negation_and_opposition() -> None:
    good, bad = Node(2, word="superb"), Node(-1, word="dull")
    assert [negate(node, "not").worth for node in (good, bad)] == [-1, 1]
    assert join(good, bad).worth == 1 and join(good, Node(0, word="the")).worth == 2
    assert str(join(good, bad)) == "(3 (4 superb) (1 dull))"


def test_double_edged_words_change_their_worth() -> None:
    worth: dict[str, set[int]] = defaultdict(set)

    def collect(node: Node) -> None:
        worth[node.word].add(node.worth)
        for part in node.parts:
            collect(part)

    for number in range(600):
        collect(write_review(Scope("text"), seeded("check", number)))
    assert worth["predictable"] == {1, -1} and worth["dark"] == {1, -1} and worth["superb"] == {2}


def test_pairs_are_balanced_and_not_decided_by_overlap(world: dict[str, str]) -> None:
    rows = [json.loads(line) for line in world["snli/test.jsonl"].splitlines()]
    labels = Counter(row["gold_label"] for row in rows)
    assert len(set(labels.values())) == 1 and len(labels) == 3
    overlap: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        premise, hypothesis = set(row["sentence1"].lower().split()), set(row["sentence2"].lower().split())
        assert row["sentence1"] != row["sentence2"] and row["sentence1"] == row["sentence1_tokens"]
        overlap[row["gold_label"]].append(len(premise & hypothesis) / len(hypothesis))
    means = {label: sum(values) / len(values) for label, values in overlap.items()}
    assert max(means.values()) - min(means.values()) < 0.25, means


def test_a_pair_of_opposites_differs_in_what_it_should() -> None:
    for number in range(200):
        premise, hypothesis = draw_pair("contradiction", Scope("test"), seeded("check", number))
        assert premise != hypothesis and premise.endswith(" .") and hypothesis.endswith(" .")


def test_claims_about_a_name_follow_are_open_or_are_ruled_out_by_its_kind() -> None:
    for number in range(200):
        pairs = {
            label: draw_identity(label, Scope("test"), seeded("check", number))
            for label in ("entailment", "neutral", "contradiction")
        }
        assert len({premise for premise, _ in pairs.values()}) == 1  # the label decides the noun alone
        claims = {label: claim.split() for label, (_, claim) in pairs.items()}
        assert len({tuple(claim[:-3]) for claim in claims.values()}) == 1
        kind, open_to, other = (claims[label][-2] for label in pairs)
        assert kind in NAMED_KINDS and open_to in NOUNS[kind]
        assert other != kind and other not in NOUNS[kind]
        assert other in NAMED_KINDS or any(other in NOUNS[rival] for rival in NAMED_KINDS)


def test_chains_are_balanced_and_pronouns_have_one_possible_meaning(world: dict[str, str]) -> None:
    for split in SPLITS:
        for document in world[f"coref/{split}.conll"].split("#end document\n"):
            opened: Counter[str] = Counter()
            closed: Counter[str] = Counter()
            for line in document.splitlines():
                if "\t" in line:
                    opened.update(re.findall(r"\((\d+)", line.split("\t")[-1]))
                    closed.update(re.findall(r"(\d+)\)", line.split("\t")[-1]))
            assert opened == closed and all(count > 1 for count in opened.values())


def test_a_pronoun_agrees_with_somebody_just_mentioned_and_with_nobody_else() -> None:
    genders = {"she": "f", "her": "f", "he": "m", "him": "m", "it": "n"}
    seen = Counter()
    for number in range(60):
        sentences = write_document("test", number, 7).sentences
        for before, sentence in pairwise(sentences[3:]):
            for mention in sentence.mentions:
                word = sentence.words[mention.start].lower()
                if mention.end - mention.start == 1 and word in genders:
                    assert mention.entity.gender == genders[word]
                    seen[word] += 1
                    if before is not sentences[3]:
                        previous = {m.entity.id: m.entity for m in before.mentions}.values()
                        assert [e for e in previous if e.gender == genders[word]] == [mention.entity]
    assert seen["she"] > 20 and seen["he"] > 20 and seen["it"] > 20


def test_answers_are_slices_of_the_context(world: dict[str, str]) -> None:
    identifiers = set()
    for split in SPLITS:
        data = json.loads(world[f"squad/{split}.json"])
        assert data["version"] == "1.1"
        for topic in data["data"]:
            for paragraph in topic["paragraphs"]:
                for entry in paragraph["qas"]:
                    (answer,) = entry["answers"]
                    start, text = answer["answer_start"], answer["text"]
                    assert paragraph["context"][start : start + len(text)] == text and text
                    assert entry["question"].endswith("?")
                    identifiers.add(entry["id"])
    assert len(identifiers) > 800


def test_a_question_never_repeats_the_verb_of_its_answer() -> None:
    for number in range(50):
        paragraph = write_paragraph("test", number, 6)
        sentences = re.split(r"(?<=\.) ", paragraph.context)
        assert len(sentences) == len(paragraph.questions)
        starts = [question.start for question in paragraph.questions]
        assert starts == sorted(starts)
