"""What the encoder reads of an example: its sentences alone, or inside their documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from elmo_bench.catalog import list_documented
from elmo_bench.config import TextContext
from elmo_bench.task import AnyTask, Documented, Example
from elmo_bench.types import Excerpt, UsageError, Words


def excerpts_of(task: AnyTask, example: Example, context: TextContext) -> Mapping[str, tuple[Excerpt, ...]]:
    """The token sequences of an example by stream, each inside the text that the encoder reads."""
    located = _in_document(task, example) if context == "document" else None
    return located or {
        stream: tuple(map(Excerpt.whole, rows)) for stream, rows in task.sentences(example).items()
    }


def texts_of(task: AnyTask, examples: Iterable[Example], context: TextContext) -> list[Words]:
    """Every text that the encoder reads for some examples; a document that they share occurs once."""
    excerpts = (
        excerpt for row in examples for rows in excerpts_of(task, row, context).values() for excerpt in rows
    )
    return list({id(excerpt.text): excerpt.text for excerpt in excerpts}.values())


def check_documents(
    task: AnyTask, examples: Mapping[str, Sequence[Example]], context: TextContext, corpus: str
) -> None:
    """Refuse the context of documents where the files of a split do not say which sentences make one."""
    if context == "sentence":
        return
    for split, rows in examples.items():
        if all(_in_document(task, row) is None for row in rows):
            raise UsageError(
                f"encoder.context=document: {corpus} ({split}) does not name its documents; "
                f"choose encoder.context=sentence, or a corpus that does: {', '.join(list_documented())}"
            )


def _in_document(task: AnyTask, example: Example) -> Mapping[str, tuple[Excerpt, ...]] | None:
    return task.excerpts(example) if isinstance(task, Documented) else None
