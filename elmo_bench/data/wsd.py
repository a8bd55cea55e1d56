"""Word senses in the unified format (Raganato et al. 2017): XML text, gold keys, WordNet's sense index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from elmo_bench.data.lines import decode_line, fault, open_bytes, read_lines, require_any, shown
from elmo_bench.types import DataError, Words

PARTS_OF_SPEECH = {"NOUN": "n", "VERB": "v", "ADJ": "a", "ADV": "r"}
# WordNet's numbers of parts of speech; 5 are adjective satellites, which count as adjectives.
SENSE_TYPES = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
PARENTS = {"corpus": "", "text": "corpus", "sentence": "text", "wf": "sentence", "instance": "sentence"}


@dataclass(frozen=True)
class SenseInstance:
    """A word to disambiguate; it may span several words of the sentence."""

    id: str
    lemma: str
    part_of_speech: str  # n, v, a or r
    start: int
    end: int
    keys: tuple[str, ...]  # the correct senses; any of them counts as correct


@dataclass(frozen=True)
class SenseSentence:
    """One sentence; multiword tokens are split into words."""

    id: str
    document: int  # the number of its <text>, from 1
    words: Words
    instances: tuple[SenseInstance, ...]


@dataclass(frozen=True)
class Sense:
    """One sense of a lemma; sense number 1 is the most frequent."""

    key: str
    number: int


class SenseInventory:
    """The senses of every lemma and part of speech, by number."""

    def __init__(self, senses: Mapping[tuple[str, str], list[Sense]]) -> None:
        self._senses = {
            lemma: tuple(sorted(of_lemma, key=lambda sense: sense.number))
            for lemma, of_lemma in senses.items()
        }

    def senses(self, lemma: str, part_of_speech: str) -> tuple[Sense, ...]:
        """The candidates in the order of their sense numbers; none for an unknown lemma."""
        return self._senses.get((lemma.lower(), part_of_speech), ())


def read_sense_sentences(text: Path, keys: Path) -> Iterator[SenseSentence]:
    """The sentences of `X.data.xml` with the senses of `X.gold.key.txt`; every instance needs its key."""
    gold = read_keys(keys)
    yield from require_any(text, _SenseParser(text, gold).sentences(), "sentence")


def read_keys(path: Path) -> dict[str, tuple[str, ...]]:
    """Sense keys by instance id."""
    keys: dict[str, tuple[str, ...]] = {}
    for number, line in require_any(path, read_lines(path), "line"):
        name, *senses = line.split() or [""]
        if name and not senses:
            raise fault(path, number, "an instance id and at least one sense key", shown(line))
        if name in keys:
            raise fault(path, number, "a new instance id", shown(name))
        if name:
            keys[name] = tuple(senses)
    return keys


class _SenseParser:
    """Expat's callbacks; a document type is refused, which excludes expanding and external entities."""

    def __init__(self, path: Path, gold: Mapping[str, tuple[str, ...]]) -> None:
        self.path, self.gold = path, gold
        self.expat = expat.ParserCreate()
        self.expat.buffer_text = True
        self.expat.StartDoctypeDeclHandler = self.refuse_doctype
        self.expat.StartElementHandler = self.start
        self.expat.EndElementHandler = self.end
        self.expat.CharacterDataHandler = self.characters
        self.open: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.document = 0
        self.words: list[str] = []
        self.instances: list[SenseInstance] = []
        self.done: list[SenseSentence] = []

    def sentences(self) -> Iterator[SenseSentence]:
        """The sentences, while the file is being read."""
        with open_bytes(self.path) as file:
            for number, line in enumerate(file, start=1):
                decode_line(self.path, number, line)  # to report bytes that are not UTF-8
                yield from self.parse(line, is_last=False)
            yield from self.parse(b"", is_last=True)

    def parse(self, data: bytes, is_last: bool) -> list[SenseSentence]:
        """The sentences that end in this piece of the file."""
        try:
            self.expat.Parse(data, is_last)
        except expat.ExpatError as error:
            raise fault(self.path, error.lineno, "XML", expat.ErrorString(error.code)) from error
        done, self.done = self.done, []
        return done

    def fail(self, expected: str, got: str) -> NoReturn:
        raise fault(self.path, self.expat.CurrentLineNumber, expected, got)

    def refuse_doctype(self, *_: object) -> None:
        self.fail("no document type", "<!DOCTYPE")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        parent = self.open[-1][0] if self.open else ""
        if PARENTS.get(name, name) != parent:
            self.fail("corpus, text, sentence and in it wf or instance", f"<{name}> in <{parent}>")
        self.document += name == "text"
        if name == "sentence":
            self.words, self.instances = [], []
        self.open.append((name, attributes))
        self.text = ""

    def characters(self, text: str) -> None:
        self.text += text

    def end(self, name: str) -> None:
        _, attributes = self.open.pop()
        if name == "sentence":
            name, words = attributes.get("id", ""), tuple(self.words)
            sentence = SenseSentence(name, self.document, words, tuple(self.instances))
            self.done += [sentence] if self.words else []
        elif name in ("wf", "instance"):
            pieces = self.text.split()
            if not pieces:
                self.fail("a word", f"an empty <{name}>")
            if name == "instance":
                self.instances.append(self.instance(attributes, len(pieces)))
            self.words += pieces

    def instance(self, attributes: dict[str, str], length: int) -> SenseInstance:
        missing = [name for name in ("id", "lemma", "pos") if not attributes.get(name)]
        if missing:
            self.fail("an instance with id, lemma and pos", f"none of {', '.join(missing)}")
        if attributes["pos"] not in PARTS_OF_SPEECH:
            self.fail(f"one of {', '.join(PARTS_OF_SPEECH)}", shown(attributes["pos"]))
        keys = self.gold.get(attributes["id"])
        if keys is None:
            self.fail("a gold key for every instance", f"none for {attributes['id']}")
        part_of_speech = PARTS_OF_SPEECH[attributes["pos"]]
        start = len(self.words)
        return SenseInstance(
            attributes["id"], attributes["lemma"], part_of_speech, start, start + length, keys
        )


def read_inventory(path: Path) -> SenseInventory:
    """Senses from WordNet's `index.sense`, or from a table whose header has sense_key and sense_number."""
    senses: dict[tuple[str, str], list[Sense]] = {}
    header: list[str] | None = None
    for number, line in require_any(path, read_lines(path), "sense"):
        fields = line.split("\t") if header or "\t" in line else line.split()
        if number == 1 and "sense_key" in fields:
            header = fields
            continue
        row = dict(
            zip(header or ("sense_key", "synset_offset", "sense_number", "tag_count"), fields, strict=False)
        )
        try:
            key = row["sense_key"]
            lemma, _, rest = key.partition("%")
            entry = (lemma.lower(), SENSE_TYPES[rest[:1]])
            senses.setdefault(entry, []).append(Sense(key, int(row["sense_number"])))
        except (KeyError, ValueError):
            expected = "a sense key such as art%1:09:00:: and its number"
            raise fault(path, number, expected, shown(line)) from None
    if not senses:
        raise DataError(f"{path}:1: expected at least one sense, got none")
    return SenseInventory(senses)
