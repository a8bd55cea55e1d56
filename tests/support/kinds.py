"""Every kind of file that the project writes, the function that writes it, the scenario that tries it.

`find_writers` reads the code of the package, so that a function that begins to write files is noticed before
its files have a trial.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.conftest import PROJECT

# What writes files when it is called; the functions below `files.py` and those that are handed a path.
PRIMITIVES = {
    "atomic_directory", "atomic_file", "atomic_path", "copyfile", "copytree", "make_once", "mkdtemp",
    "move_into_place", "save_checkpoint", "save_file", "save_pretrained", "savefig", "savez_compressed",
    "scratch_directory", "TemporaryDirectory", "tofile", "touch", "write_atomically", "write_bytes",
    "write_kept", "write_text",
}  # fmt: skip
HANDED = {
    "elmo_bench.bilm.array_files.write_arrays",
    "elmo_bench.bilm.array_files._save_safetensors",
    "elmo_bench.bilm.files.save_bilm",
    "elmo_bench.bilm.layout.write_options",
    "elmo_bench.data.coreference.write_coreference",
    "elmo_bench.data.plain.label_blindly",
    "elmo_bench.data.text.write_word_list",
    "elmo_bench.records.write_counts",
    "elmo_bench.records.write_predictions",
    "elmo_bench.records.write_record",
    "elmo_bench.report.printed.write_figures",
    "elmo_bench.runs.finetuning.write_lines",
    "elmo_bench.runs.scale.write_text",
    "elmo_bench.sweep.outcomes.write_end",
    "elmo_bench.world.writing.write_world",
}
CALLS = PRIMITIVES | {name.rpartition(".")[2] for name in HANDED}
MODES = ("w", "wb", "x", "xb", "a", "ab", "r+", "r+b", "w+b")

WORK, RUN, VECTORS = "runs/pretraining", "runs/sst#/#-s#", "elmo_bench.cli.vector_files"
TRAINING = "elmo_bench.bilm.training"
CHECKPOINT = "elmo_bench.training.checkpoints.CheckpointDirectory.save"


def _of_training(scenario: str, model: str, work: str) -> dict[tuple[str, str], str]:
    """What a pre-training or fine-tuning writes: the model, and what it keeps while it goes on."""
    saved = f"{TRAINING}.language_model.save_language_model"
    return {
        (scenario, f"{model}/options.json"): saved,
        (scenario, f"{model}/weights.safetensors"): saved,
        (scenario, f"{model}/softmax.safetensors"): saved,
        (scenario, f"{model}/vocabulary.txt"): "elmo_bench.data.text.TargetVocabulary.write",
        (scenario, f"{model}/record.json"): f"{TRAINING}.pretraining._write",
        (scenario, f"{work}/identity"): f"{TRAINING}.pretraining._check_work",
        (scenario, f"{work}/text/*"): f"{TRAINING}.text._write_encoded",
        (scenario, f"{work}/text/SHA256SUMS"): f"{TRAINING}.text.encode_shards",
        (scenario, f"{work}/checkpoints/.writing.tmp"): CHECKPOINT,
        (scenario, f"{work}/checkpoints/step-#-#.ckpt"): CHECKPOINT,
    }


def _of_runs(scenario: str) -> dict[tuple[str, str], str]:
    execution = "elmo_bench.runs.execution"
    return {
        (scenario, f"{RUN}/checkpoints/.writing.tmp"): CHECKPOINT,
        (scenario, f"{RUN}/checkpoints/step-#-#.ckpt"): CHECKPOINT,
        (scenario, f"{RUN}/counts.npz"): f"{execution}.evaluate",
        (scenario, f"{RUN}/predictions-dev.jsonl"): f"{execution}.evaluate",
        (scenario, f"{RUN}/predictions-test.jsonl"): f"{execution}.evaluate",
        (scenario, f"{RUN}/head.safetensors"): f"{execution}._execute",
        (scenario, f"{RUN}/result.json"): f"{execution}._execute",
    }


def _of_vectors(scenario: str, *names: str) -> dict[tuple[str, str], str]:
    """A file of vectors, what is filled until it is complete, and how far that is."""
    return {
        (scenario, f"{name}{ending}"): f"{VECTORS}.{writer}"
        for name in names
        for ending, writer in (
            ("", "VectorFile.finish"),
            (".part", "VectorFile.open_unfinished"),
            (".part.json", "VectorFile.note"),
        )
    }


KINDS: dict[tuple[str, str], str] = {
    **{
        (scenario, "cache/examples/#"): "elmo_bench.runs.kept_examples.read_split_once"
        for scenario in ("run", "tracking", "fine-tuning", "hub")
    },
    **{
        (scenario, "cache/cards/#"): "elmo_bench.encoders.cards.keep_card"
        for scenario in ("embedding otherwise", "embedding with a transformer")
    },
    ("neighbours", "cache/world/v#/*"): "elmo_bench.sources.corpora.generate_world.write",
    ("neighbours", "cache/world/v#/SHA256SUMS"): "elmo_bench.sources.corpora.generate_world",
    ("neighbours", "records/neighbours/the-#.json"): "elmo_bench.cli.neighbours.run",
    **_of_training("neighbours", "cache/models/sample-#", "cache/models/.sample-#-work"),
    ("run", "cache/speeds/#-#.speed"): "elmo_bench.runs.speed.keep_speed",
    ("run", "cache/store/#/#-layer#.npy"): "elmo_bench.encoders.shards._write",
    ("run", "cache/store/#/#-layer#.sha#"): "elmo_bench.encoders.shards._write",
    ("run", "cache/store/#/unit.json"): "elmo_bench.encoders.shards._write",
    ("run", f"{RUN}/csv/hparams.yaml"): "Lightning's CSVLogger",
    ("run", f"{RUN}/csv/metrics.csv"): "Lightning's CSVLogger",
    **_of_runs("run"),
    **_of_runs("sweep"),
    **_of_runs("repeating"),
    **_of_runs("tracking"),
    ("tracking", f"{RUN}/wandb/*"): "W&B, in its own process",
    ("tracking", f"{RUN}/wandb/offline-run-#_#-#/run-#.wandb"): "W&B, in its own process",
    ("tracking", "home/wandb/*"): "W&B, in its own process",
    ("sweep", "runs/sweeps/#-#-#/#/outcome.json"): "elmo_bench.sweep.multirun.Job.__call__",
    **_of_training("pre-training", "models/tiny", f"{WORK}/tiny"),
    ("compiling", "home/elmo_bench/loops-#/*"): "the C compiler",
    ("compiling", "home/elmo_bench/loops-#/SHA256SUMS"): "elmo_bench.nn.compiled.load_loops",
    ("compiling", "predicted.jsonl"): "elmo_bench.cli.predict.write_new",
    **_of_training("fine-tuning", "models/tiny-ner-world", f"{WORK}/tiny-ner-world"),
    ("fine-tuning", "cache/texts/ner-#/*"): "elmo_bench.runs.finetuning.write_text.write",
    ("fine-tuning", "cache/texts/ner-#/SHA256SUMS"): "elmo_bench.runs.finetuning.write_text",
    **_of_vectors("embedding", "out.hdf#"),
    **_of_vectors("embedding in parts", "out.safetensors", "out.#-of-#.safetensors"),
    ("embedding in parts", "out.#-of-#.safetensors.hashes.json"): f"{VECTORS}.VectorFile.finish",
    **_of_vectors("embedding otherwise", "out.#.hdf#"),
    ("embedding otherwise", "cache/models/untrained-#/*"): "elmo_bench.encoders.bilm.RandomBilm.locate.write",
    ("embedding otherwise", "cache/models/untrained-#/SHA256SUMS"): (
        "elmo_bench.encoders.bilm.RandomBilm.locate"
    ),
    ("embedding otherwise", "cache/vectors/#/*"): "elmo_bench.data.vectors.read_vectors_once.write",
    ("embedding otherwise", "cache/vectors/#/SHA256SUMS"): "elmo_bench.data.vectors.read_vectors_once",
    ("embedding otherwise", "cache/vectors/vectors.txt-#/*"): (
        "elmo_bench.data.mapped_vectors.map_vectors.convert"
    ),
    ("embedding otherwise", "cache/vectors/vectors.txt-#/SHA256SUMS"): (
        "elmo_bench.data.mapped_vectors.map_vectors"
    ),
    **_of_vectors("embedding with a transformer", "out.hdf#"),
    ("embedding with a transformer", "cache/models/untrained-#/*"): (
        "elmo_bench.encoders.transformer.plugin.RandomTransformer.files.write"
    ),
    ("embedding with a transformer", "cache/models/untrained-#/SHA256SUMS"): (
        "elmo_bench.encoders.transformer.plugin.RandomTransformer.files"
    ),
    ("predicting", "predicted.jsonl"): "elmo_bench.cli.predict.write_new",
    **{
        ("ensemble", f"runs/sst#/ensemble-#/{name}"): "elmo_bench.runs.ensemble.write_ensemble"
        for name in ("counts.npz", "ensemble.json", "predictions-dev.jsonl", "predictions-test.jsonl")
    },
    ("publishing", "records/perplexity/tiny-ner-world-#.json"): "elmo_bench.cli.publish.publish",
    ("publishing", "records/pretraining/tiny-#.json"): "elmo_bench.cli.publish.publish",
    ("publishing", "records/sst#/#-s#.json"): "elmo_bench.cli.publish.copy_with_files",
    ("publishing", "records/sst#/#-s#.npz"): "elmo_bench.cli.publish.copy_with_files",
    ("publishing", "records/sst#/#-s#.predictions-test.jsonl"): "elmo_bench.cli.publish.copy_with_files",
    ("publishing", "records/sst#/ensemble-#.json"): "elmo_bench.cli.publish.copy_with_files",
    ("publishing", "records/sst#/ensemble-#.npz"): "elmo_bench.cli.publish.copy_with_files",
    **{
        ("report", f"report/{name}"): "elmo_bench.cli.report.run"
        for name in (
            *("TABLES.md", "index.html", "runs.csv", "tables.csv", "tables.tex"),
            *("details/#.html", "details/curves.html", "details/page.css"),
        )
    },
    **{
        ("report", f"figures/{name}"): "elmo_bench.cli.report.run"
        for name in ("captions.txt", "*.pdf", "*.svg")
    },
    ("report", "cache/resamples/#.drawn"): "elmo_bench.report.comparison._keep_drawn",
    ("findings", "cache/resamples/#.drawn"): "elmo_bench.report.comparison._keep_drawn",
    ("summary", "cache/resamples/#.drawn"): "elmo_bench.report.comparison._keep_drawn",
    ("summary", "gains.svg"): "elmo_bench.cli.summary.print_gains",
    **{
        ("preparing", f"local/conll#/{split}.conll"): "elmo_bench.sources.joining.join"
        for split in ("train", "dev", "test")
    },
    ("exporting", "elmo_options.json"): "elmo_bench.cli.export.run",
    ("exporting", "elmo_weights.hdf#"): "elmo_bench.cli.export.run",
    ("converting", "response.conll"): "elmo_bench.cli.conll.run",
    ("dashboard", "dashboard.json"): "elmo_bench.cli.dashboard.run",
    ("hub", "cache/hub/snli/#/*"): "elmo_bench.sources.hub.fetch.write",
    ("hub", "cache/hub/snli/#/SHA256SUMS"): "elmo_bench.sources.hub.fetch",
    ("scale", "cache/scale/*"): "elmo_bench.runs.scale.measure_numbering",
    ("scale", "cache/scale/scale/#/encoded/SHA256SUMS"): "elmo_bench.runs.scale.measure_numbering",
    ("scale", "cache/scale/scale/timed/SHA256SUMS"): "elmo_bench.runs.scale.measure_numbering",
}
"""By scenario and path, as `kind_of_file` spells it: who writes it."""

TRIED_ELSEWHERE = {
    "elmo_bench.runs.scale.trace_text": "below the directory of measure_numbering",
    "elmo_bench.cli.vector_files._lay_out_hdf5": "the file that VectorFile.write fills",
    "elmo_bench.cli.vector_files._lay_out_safetensors": "the file that VectorFile.write fills",
    "elmo_bench.cli.predict.as_text": "a file below TMPDIR, which the system clears",
    "elmo_bench.cli.predict.run": "a directory below TMPDIR, likewise",
    "elmo_bench.runs.finetuning.make": "calls finetuning.write_text, whose files are those of the texts",
    "elmo_bench.runs.tracking.WandbTracker._launch": "below TMPDIR: tests/faults/test_trackers.py",
    "elmo_bench.runs.tracking.mark_offline": "a server has to fail first: tests/faults/test_trackers.py",
    "elmo_bench.sweep.multirun._settle": "outcome.json, as Job.__call__ writes it at the end",
    "elmo_bench.sweep.outcomes._launch_once": "outcome.json of a launcher that failed",
    "elmo_bench.sweep.neighbours.answer_one": "the record of the command neighbours, in a sweep",
    "elmo_bench.training.memory.reset_peak": "a switch of the kernel below /proc",
    "elmo_bench.testing.encoders.check_encoder": "a directory below TMPDIR, for tests of plug-ins",
}
"""The other functions that write files, and why they need no kind of their own."""


def find_writers() -> set[str]:
    """The functions of the package that write files, by module and name, but for those handed a path."""
    package = PROJECT / "elmo_bench"
    found = set()
    for path in package.rglob("*.py"):
        if path != package / "files.py":
            module = ".".join(path.relative_to(PROJECT).with_suffix("").parts)
            found |= {f"{module}.{name}" for name in _writers_in(ast.parse(path.read_text()), "")}
    return found - HANDED


def _writers_in(node: ast.AST, name: str) -> Iterator[str]:
    """The innermost named functions that call what writes files."""
    for child in ast.iter_child_nodes(node):
        is_scope = isinstance(child, ast.FunctionDef | ast.ClassDef)
        inner = ".".join(filter(None, (name, child.name))) if is_scope else name  # type: ignore[attr-defined]
        if isinstance(child, ast.Call) and _writes(child):
            yield inner
        yield from _writers_in(child, inner)


def _writes(call: ast.Call) -> bool:
    called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    words = [*call.args, *(keyword.value for keyword in call.keywords)]
    modes = {word.value for word in words if isinstance(word, ast.Constant)}
    return called in CALLS or (called in ("open", "File") and bool(modes & set(MODES)))
