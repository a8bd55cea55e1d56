"""The tagged sets: parts of speech, names, and semantic roles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from elmo_bench.world.sentences import Proposition, Sentence, Token

NAME_TAGS: dict[str, str] = {"person": "PER", "place": "LOC", "organisation": "ORG", "work": "MISC"}

_UNIVERSAL: dict[str, str] = {
    "NN": "NOUN", "NNS": "NOUN", "NNP": "PROPN", "JJ": "ADJ", "JJR": "ADJ", "RB": "ADV", "RBR": "ADV",
    "DT": "DET", "IN": "ADP", "TO": "PART", "CC": "CCONJ", "CD": "NUM", "MD": "AUX", "PRP": "PRON",
    "PRP$": "PRON", "WP": "PRON", "WP$": "PRON", "WDT": "PRON", "WRB": "ADV", "POS": "PART", "RP": "ADP",
    "EX": "PRON", ",": "PUNCT", ".": "PUNCT",
}  # fmt: skip


def universal_tag(token: Token) -> str:
    """The UD part of speech of a token, from its Penn tag and lemma."""
    if token.tag.startswith("VB"):
        return "AUX" if token.lemma == "be" or (token.lemma in ("have", "do") and not token.sense) else "VERB"
    return _UNIVERSAL[token.tag]


def conllu(sentences: Sequence[Sentence], prefix: str) -> str:
    """CoNLL-U with form, lemma and both part-of-speech columns."""
    blocks = []
    for number, sentence in enumerate(sentences, 1):
        rows = [f"# sent_id = {prefix}-{number:04d}"]
        for position, token in enumerate(sentence.tokens, 1):
            tags = f"{universal_tag(token)}\t{token.tag}"
            rows.append(f"{position}\t{token.word}\t{token.lemma}\t{tags}" + "\t_" * 5)
        blocks.append("\n".join(rows) + "\n\n")
    return "".join(blocks)


def name_tags(sentence: Sentence) -> list[str]:
    """IOB2 tags of the names in a sentence."""
    tags = ["O"] * len(sentence.tokens)
    for mention in sentence.mentions:
        if mention.name is None:
            continue
        start, end = mention.name
        kind = NAME_TAGS[mention.entity.kind]
        tags[start:end] = [f"B-{kind}"] + [f"I-{kind}"] * (end - start - 1)
    return tags


def conll2003(stories: Iterable[Sequence[Sentence]]) -> str:
    """Four columns, a DOCSTART line before every story; the chunk column is left empty."""
    blocks = []
    for story in stories:
        blocks.append("-DOCSTART- -X- O O\n\n")
        for sentence in story:
            tags = name_tags(sentence)
            rows = [
                f"{token.word} {token.tag} _ {tag}\n"
                for token, tag in zip(sentence.tokens, tags, strict=True)
            ]
            blocks.append("".join(rows) + "\n")
    return "".join(blocks)


def conll2012_roles(stories: Iterable[tuple[str, Sequence[Sentence]]]) -> str:
    """CoNLL-2012 columns with predicates and bracketed roles; one document per story."""
    blocks = []
    for name, story in stories:
        blocks.append(f"#begin document ({name}); part 000\n")
        for sentence in story:
            columns = [_brackets(proposition, len(sentence.tokens)) for proposition in sentence.propositions]
            predicates = {proposition.predicate: proposition for proposition in sentence.propositions}
            for position, token in enumerate(sentence.tokens):
                frame = predicates.get(position)
                lemma, roleset = (frame.lemma, f"{frame.lemma}.01") if frame else ("-", "-")
                roles = [column[position] for column in columns]
                head = [name, "0", str(position), token.word, token.tag, "*", lemma, roleset, "-", "-", "*"]
                blocks.append("\t".join([*head, *roles, "-"]) + "\n")
            blocks.append("\n")
        blocks.append("#end document\n")
    return "".join(blocks)


def _brackets(proposition: Proposition, length: int) -> list[str]:
    column = ["*"] * length
    column[proposition.predicate] = "(V*)"
    for argument in proposition.arguments:
        column[argument.start] = f"({argument.role}" + column[argument.start]
        column[argument.end - 1] += ")"
    return column
