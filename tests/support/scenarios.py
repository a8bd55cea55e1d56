"""The commands of the campaign: every one that writes files, each as small as it can be.

A scenario works in a tree of its own, on what earlier scenarios have left there and on what a user brought.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from elmo_bench import world
from elmo_bench.cli import embed
from elmo_bench.data.coreference import read_coreference
from elmo_bench.runs import scale
from elmo_bench.sources import joining
from elmo_bench.sources.joining import RECIPES
from elmo_bench.world import WorldSize

Words = list[str]

BROUGHT = "brought"  # what the user has put into the tree; it is not damaged here
SMALL = WorldSize(
    text=4, heldout=1, pos=(1, 1, 1), ner=(1, 1, 1), srl=(1, 1, 1), wsd=(1, 1, 1),
    sst5=(3, 3, 3), snli=(3, 3, 3), coref=(1, 1, 1), squad=(1, 1, 1),
)  # fmt: skip
BRIEF = ("steps=4", "curve_every=2", "curve_tokens=50")
ALWAYS = ("trainer.checkpoint_seconds=0", "trainer.threads=1")
SAMPLE = ("bilm@encoder.bilm=tiny", *(f"encoder.bilm.{word}" for word in BRIEF))
RUN = (
    *("task=sst5", "size=sst5_sample", *SAMPLE),
    *("task.training.epochs=9", "task.training.patience=1", "task.training.evaluate_every=null"),
    "task.training.batch_size=2",
)
PAIRS = [("A man sleeps .", "Nobody sleeps .", "contradiction"), ("A man ran .", "He ran .", "entailment")]
FINDING = """
title: Our own
position: 99
findings:
  elmo_helps:
    claim: ELMo helps
    sentence: ELMo helps.
    section: "1"
    tasks: [sst5]
    first: {elmo.where: none}
    second: {}
    split: test
    direction: greater
    test: examples
"""


@dataclass(frozen=True)
class Scenario:
    """Commands, typed one after the other until one fails, and the scenarios whose results they find."""

    commands: Callable[[Path], list[Words]]
    after: tuple[str, ...] = ()
    brings: Callable[[Path], None] | None = None
    compiles: bool = False  # finds no compiled library
    gathers: bool = False  # takes what is there, names what is damaged, and goes on


def shrink() -> None:
    """Make what the commands generate as small as it can be, in this process."""
    write = world.write_world
    world.write_world = lambda directory: write(directory, SMALL)  # type: ignore[assignment]
    embed.TOKENS_AT_ONCE = 24
    recipe = RECIPES["conll2003"]
    small = tuple(replace(one, published={"sentences": 2, "tokens": 3}) for one in recipe.files)
    joining.RECIPES = {**RECIPES, "conll2003": replace(recipe, files=small)}
    scale.TIMED_TOKENS = scale.TRACED_TOKENS = 600
    scale.FEW, scale.MANY = 20, 60
    scale.ROWS = (2, 4)


def paths(root: Path) -> Words:
    return [f"paths.{name}={root / name}" for name in ("runs", "cache", "records", "models", "local")]


def find_run(root: Path, seed: int) -> Path:
    """The run with ELMo of a seed: of two conditions the one that has kept layers' weights."""
    runs = sorted((root / "runs" / "sst5").glob(f"*-s{seed}"))
    return next(run for run in runs if json.loads((run / "result.json").read_bytes())["encoder"])


def ask_neighbours(root: Path) -> list[Words]:
    asked = ["neighbours", "the", "--corpus", "world", "--encoder", "sample", "--queries", "1", "--record"]
    return [[*asked, *SAMPLE, *ALWAYS, *paths(root)]]


def run(root: Path) -> list[Words]:
    return [["run", *RUN, "tracking=csv", *ALWAYS, *paths(root)]]


def sweep(root: Path) -> list[Words]:
    return [["run", "-m", *RUN, "elmo=none,paper", "seed=2", *ALWAYS, *paths(root)]]


def repeat(root: Path) -> list[Words]:
    """A finished run once more."""
    return [["run", *RUN, "elmo=none", "seed=3", "force=true", *ALWAYS, *paths(root)]]


def track(root: Path) -> list[Words]:
    """A run that W&B tracks without a server."""
    return [["run", *RUN, "elmo=none", "seed=3", "tracking=wandb", *ALWAYS, *paths(root)]]


def pretrain(root: Path) -> list[Words]:
    brief = [f"bilm.{word}" for word in BRIEF]
    return [["pretrain", "bilm=tiny", f"corpus={root / BROUGHT}", *brief, *ALWAYS, *paths(root)]]


def finetune(root: Path) -> list[Words]:
    encoder = ["encoder=model", f"encoder.directory={root / 'models' / 'tiny'}"]
    brief = ["bilm.epochs=2", "bilm.batches.tokens=64", "bilm.products=float32"]
    return [["pretrain", *encoder, "finetune=ner", *brief, *ALWAYS, *paths(root)]]


def embed_text(root: Path, out: str, *encoder: str) -> Words:
    return ["embed", str(root / BROUGHT / "heldout.txt"), str(root / out), *encoder, *paths(root)]


def of_model(root: Path) -> tuple[str, str]:
    return "encoder=model", f"encoder.directory={root / 'models' / 'tiny'}"


def embed_in_parts(root: Path) -> list[Words]:
    whole = embed_text(root, "out.safetensors", *of_model(root))
    return [[*whole, *part.split()] for part in ("--shard 1/2", "--shard 2/2", "--join 2")]


def embed_otherwise(root: Path) -> list[Words]:
    """With encoders that keep something of their own in the cache."""
    vectors = root / BROUGHT / "vectors.txt"
    cove = ["encoder=cove", f"encoder.weights={root / BROUGHT / 'cove.pth'}", f"encoder.vectors={vectors}"]
    untrained = ["encoder=untrained", "bilm@encoder.bilm=tiny"]
    return [
        embed_text(root, "out.1.hdf5", "encoder=words", f"encoder.file={vectors}"),
        embed_text(root, "out.2.hdf5", *cove),
        embed_text(root, "out.3.hdf5", *untrained),
    ]


def embed_with_transformer(root: Path) -> list[Words]:
    encoder = ["encoder=transformer", f"encoder.model={root / BROUGHT / 'bert'}", "encoder.untrained=true"]
    return [embed_text(root, "out.hdf5", *encoder)]


def predict(root: Path) -> list[Words]:
    (own,) = (root / "cache" / "world").glob("v*/sst5/test.txt")
    output = root / "predicted.jsonl"
    return [["predict", str(find_run(root, 1)), str(own), "--output", str(output), *paths(root)]]


def ensemble(root: Path) -> list[Words]:
    return [["ensemble", str(find_run(root, 1)), str(find_run(root, 2)), *paths(root)]]


def publish(root: Path) -> list[Words]:
    return [["publish", *paths(root)]]


def report(root: Path) -> list[Words]:
    places = ["--output", str(root / "report"), "--figures", str(root / "figures")]
    return [["report", *places, "--resamples", "100", *paths(root)]]


def judge(root: Path) -> list[Words]:
    own = ["--config-dir", str(root / BROUGHT / "conf")]
    return [["findings", "--source", "sample", *own, *paths(root)]]


def summarise(root: Path) -> list[Words]:
    figure = ["--gains", "--source", "sample", "--figure", str(root / "gains.svg")]
    return [["summary", *figure, *paths(root)]]


def join_corpus(root: Path) -> list[Words]:
    return [["prepare", "conll2003", str(root / BROUGHT / "reuters"), *paths(root)]]


def export(root: Path) -> list[Words]:
    return [["export", str(root / "models" / "tiny"), str(root / "elmo_weights.hdf5")]]


def convert(root: Path) -> list[Words]:
    key, predictions = root / BROUGHT / "key.conll", root / BROUGHT / "chains.jsonl"
    return [["conll", str(key), str(predictions), str(root / "response.conll")]]


def build_dashboard(root: Path) -> list[Words]:
    return [["dashboard", "--offline", "--output", str(root / "dashboard.json")]]


def read_hub(root: Path) -> list[Words]:
    repository = f"data.repository={root / BROUGHT / 'repository'}"
    counts = [f"task.sources.paper.snli.hub.rows.{split}={len(PAIRS)}" for split in ("train", "dev", "test")]
    small = ["task=snli", "size=snli_sample", "elmo=none", "words=random", "data=paper", repository, *counts]
    return [["validate", *small, *paths(root)]]


def measure_scale(root: Path) -> list[Words]:
    return [["scale", "bilm=tiny", "bilm.negatives=60", *paths(root)]]


def clean_store(root: Path) -> list[Words]:
    return [["store", "clean", "--all", *paths(root)]]


def bring_text(brought: Path) -> None:
    """Texts to learn from and to embed."""
    for name in ("train.txt", "heldout.txt"):
        chooser = random.Random(name)
        lines = "".join(" ".join(chooser.choices("abcdefgh", k=6)) + "\n" for _ in range(20))
        (brought / name).write_text(lines)


def bring_vectors(brought: Path) -> None:
    """Word vectors, and CoVe's LSTM in small."""
    import torch

    chooser = random.Random("vectors")
    rows = [" ".join([word, *(f"{chooser.random():.3f}" for _ in range(4))]) for word in "abcdefgh"]
    (brought / "vectors.txt").write_text("\n".join(rows) + "\n")
    torch.manual_seed(5)
    lstm = torch.nn.LSTM(4, 3, num_layers=2, bidirectional=True)
    torch.save(lstm.state_dict(), brought / "cove.pth", _use_new_zipfile_serialization=False)


def bring_transformer(brought: Path) -> None:
    """A model of Hugging Face transformers."""
    from tests.support.tiny_transformers import save_tiny

    save_tiny(brought / "bert", "bert")


def bring_finding(brought: Path) -> None:
    """A claim for whose test one seed is enough."""
    (brought / "conf" / "findings").mkdir(parents=True)
    (brought / "conf" / "findings" / "own.yaml").write_text(FINDING)


def bring_reuters(brought: Path) -> None:
    """A licensed download."""
    (brought / "reuters").mkdir()
    for name in ("eng.train", "eng.testa", "eng.testb"):
        (brought / "reuters" / name).write_text(f"{name} NNP I-NP I-ORG\nwon VBD I-VP O\n\nIt PRP I-NP O\n")


def bring_chains(brought: Path) -> None:
    """Predictions of coreference, and the documents that they are of."""
    made = brought / "made"
    world.write_world(made, SMALL)
    shutil.copyfile(made / "coref" / "test.conll", brought / "key.conll")
    shutil.rmtree(made)
    documents = read_coreference(brought / "key.conll")
    rows = [{"id": document.id, "prediction": [[[0, 1], [1, 2]]]} for document in documents]
    (brought / "chains.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def bring_repository(brought: Path) -> None:
    """A copy of a repository of the Hub."""
    data = brought / "repository" / "data"
    data.mkdir(parents=True)
    rows = [dict(zip(("premise", "hypothesis", "label"), pair, strict=True)) for pair in PAIRS]
    for split in ("train", "validation", "test"):
        (data / f"{split}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


SCENARIOS = {  # in the order of their first trials
    "preparing": Scenario(join_corpus, brings=bring_reuters),
    "exporting": Scenario(export, ("pre-training",)),
    "converting": Scenario(convert, brings=bring_chains),
    "dashboard": Scenario(build_dashboard),
    "scale": Scenario(measure_scale),
    "ensemble": Scenario(ensemble, ("sweep",)),
    "report": Scenario(report, ("publishing",), gathers=True),
    "findings": Scenario(judge, ("publishing",), bring_finding, gathers=True),
    "summary": Scenario(summarise, ("publishing",), gathers=True),
    "embedding in parts": Scenario(embed_in_parts, ("pre-training",)),
    "embedding otherwise": Scenario(embed_otherwise, ("pre-training",), bring_vectors),
    "compiling": Scenario(predict, ("run",), compiles=True),
    "cleaning": Scenario(clean_store, ("run",)),
    "neighbours": Scenario(ask_neighbours),
    "fine-tuning": Scenario(finetune, ("neighbours", "pre-training")),
    "publishing": Scenario(publish, ("ensemble", "fine-tuning"), gathers=True),
    "predicting": Scenario(predict, ("run",)),
    "run": Scenario(run, ("neighbours",)),
    "sweep": Scenario(sweep, ("run",)),
    "pre-training": Scenario(pretrain, brings=bring_text),
    "embedding": Scenario(lambda root: [embed_text(root, "out.hdf5", *of_model(root))], ("pre-training",)),
    "hub": Scenario(read_hub, brings=bring_repository),
    "embedding with a transformer": Scenario(embed_with_transformer, ("pre-training",), bring_transformer),
    "repeating": Scenario(repeat, ("tracking",)),
    "tracking": Scenario(track, ("neighbours",)),
}
