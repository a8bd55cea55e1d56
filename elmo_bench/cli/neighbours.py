"""`python -m elmo_bench neighbours`: nearest neighbours of a word in context, and of its static vector."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from elmo_bench.cli.overrides import take_overrides
from elmo_bench.types import UsageError, log_to_stderr

if TYPE_CHECKING:
    from elmo_bench.records import NeighboursRecord

HELP = """nearest neighbours of a word in context, and in GloVe (the paper's Table 4)

For some occurrences of the word in the corpus, it prints the token occurrences with the highest cosine in
one layer of the encoder. The corpus is encoded once, some thousand tokens at a time."""
EXAMPLE = (
    "python -m elmo_bench neighbours play --corpus wsd/semcor\n"
    "  python -m elmo_bench neighbours play --corpus text.txt.gz --encoder small --layer 2 --json\n"
    "  python -m elmo_bench neighbours play --corpus wsd/semcor --sentence 'They saw a play .'\n"
    "  python -m elmo_bench neighbours play --corpus wsd/semcor --id d004.s017 d006.s056\n"
    "  python -m elmo_bench neighbours play --corpus wsd/semcor --encoder words      # word vectors alone"
)
USUAL_ENCODER = "small"
AROUND = 14  # tokens shown on each side


def configure(parser: argparse.ArgumentParser) -> None:
    """The word, the corpus, the encoder, and the number of results."""
    parser.add_argument("word", metavar="WORD")
    parser.add_argument(
        "--corpus",
        required=True,
        help="a file of one tokenised sentence per line, plain or .gz; TASK or TASK/CORPUS; or world",
    )
    parser.add_argument("--encoder", help=f"as for `python run.py` (default: {USUAL_ENCODER})")
    parser.add_argument("--vectors", type=Path, metavar="FILE", help="word vectors (default: GloVe)")
    parser.add_argument("--sentence", help="ask about this sentence, its tokens separated by blanks")
    parser.add_argument(
        "--word", dest="other_word", metavar="WORD", help="the word of --sentence, if it is not WORD"
    )
    parser.add_argument(
        "--id",
        nargs="+",
        action="append",
        metavar="ID",
        help="ask about the sentence with this id; a second id is that of a sentence whose rank is printed",
    )
    parser.add_argument(
        "--layer", type=int, metavar="N", help="layer to compare; 0 has no context (default: last)"
    )
    parser.add_argument(
        "--queries", type=int, default=3, metavar="N", help="number of occurrences (default: %(default)s)"
    )
    parser.add_argument(
        "--count", type=int, default=5, metavar="N", help="number of neighbours (default: %(default)s)"
    )
    parser.add_argument(
        "--candidates",
        choices=("any", "same", "other"),
        default="any",
        help="occurrences of any word, of the same word, or of other words (default: %(default)s)",
    )
    take_overrides(parser)
    parser.add_argument("--json", action="store_true", help="print the record as JSON")
    parser.add_argument("--record", action="store_true", help="write the record to paths.records")


def run(arguments: argparse.Namespace) -> None:
    """Compute and print the neighbours, and write the record if requested."""
    if arguments.queries < 1 or arguments.count < 1:
        raise UsageError("--queries and --count: expected at least 1")
    if arguments.sentence is not None and not arguments.sentence.split():
        raise UsageError("--sentence: expected tokens separated by blanks, got none")
    if arguments.other_word and not arguments.sentence:
        raise UsageError("--word: it selects a word of --sentence; give --sentence too")
    from elmo_bench.records import NeighboursRecord, read_record_of, write_record
    from elmo_bench.runs.neighbours import Question, Setting, answer, prepare
    from elmo_bench.sweep.compose import compose

    question = Question(
        word=arguments.other_word or arguments.word,
        corpus=arguments.corpus,
        sentence=tuple(arguments.sentence.split()) if arguments.sentence else None,
        sentences=_read_ids(arguments),
        vectors=arguments.vectors,
        layer=arguments.layer,
        queries=arguments.queries,
        count=arguments.count,
        candidates=arguments.candidates,
    )
    chosen = [f"encoder={arguments.encoder}"] if arguments.encoder else []
    values = compose([*chosen, *arguments.overrides], "neighbours", [f"encoder={USUAL_ENCODER}"])
    setting = Setting.of(values)
    prepared = prepare(question, setting, log_to_stderr)
    path = prepared.place(setting.paths.records) if arguments.record else None
    known = path is not None and path.is_file()
    record = read_record_of(NeighboursRecord, path) if path and known else answer(prepared)
    if arguments.json:
        print(record.model_dump_json(indent=1))
    else:
        print("\n".join(describe(record, is_bold=sys.stdout.isatty())))
    if known:
        log_to_stderr(f"already written: {path}")
    elif path:
        write_record(path, record)
        log_to_stderr(f"wrote {path}")


def _read_ids(arguments: argparse.Namespace) -> dict[str, str | None] | None:
    """The sentences of --id, each with the one whose rank is printed."""
    if not arguments.id:
        return None
    if arguments.sentence or any(len(ids) > 2 for ids in arguments.id):
        raise UsageError("--id: expected one id or two, and no --sentence beside it")
    first = [ids[0] for ids in arguments.id]
    if twice := [one for one in first if first.count(one) > 1]:
        raise UsageError(f"--id {twice[0]}: given twice; expected each sentence once")
    return {ids[0]: ids[1] if len(ids) > 1 else None for ids in arguments.id}


def describe(record: NeighboursRecord, is_bold: bool) -> Iterator[str]:
    """Static neighbours in one line, then every occurrence with its neighbours below it."""
    from elmo_bench.report.neighbours import describe_rank

    if record.static:
        words = ", ".join(f"{word} {near:.2f}" for word, near in record.static)
        yield f"{record.word} in {record.vectors}:\n  {words}\n"
    elif record.vectors:
        yield f"{record.word} is not in {record.vectors}\n"
    yield (
        f"{record.word} in context: layer {record.layer} of {record.encoder}, {record.corpus} "
        f"({record.corpus_tokens:,} tokens, {record.occurrences:,} of them {record.word})"
    )
    for context in record.contexts:
        yield ""
        yield f"        {highlight(context.query.sentence, context.query.position, is_bold)}"
        for found in context.nearest:
            yield f"  {found.near:5.3f} {highlight(found.sentence, found.position, is_bold)}"
        for one in context.ranks:
            shown = highlight(one.context.sentence, one.context.position, is_bold)
            yield f"  {one.context.near:5.3f} {shown}\n        {describe_rank(one, record.word)}"


def highlight(words: Sequence[str], position: int, is_bold: bool) -> str:
    """The word in brackets, bold on a terminal, with the words around it."""
    start, end = max(0, position - AROUND), position + 1 + AROUND
    marked = f"[{words[position]}]"
    shown = [
        *words[start:position],
        f"\033[1m{marked}\033[0m" if is_bold else marked,
        *words[position + 1 : end],
    ]
    return " ".join([*(["..."] if start else []), *shown, *(["..."] if end < len(words) else [])])
