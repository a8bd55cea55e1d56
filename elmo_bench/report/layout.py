"""What each of the paper's tables shows, row by row: the paper's number and the condition that is ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from elmo_bench.report.library import BASELINE, PAPER, Wanted
from elmo_bench.report.paper import lookup

Path = tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """One system: the paper's number, ours, or both."""

    label: str
    paper: Path | None = None
    wanted: Wanted | None = None
    against: Wanted | None = None  # what the gain is over
    paper_against: Path | None = None
    paper_gain: Path | None = None  # where the paper prints it; else the difference of its numbers


@dataclass(frozen=True)
class Part:
    """The rows of one task."""

    task: str
    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Layout:
    """One table."""

    name: str
    title: str
    split: str
    parts: tuple[Part, ...]
    about: str  # what it asks
    statistics: tuple[
        tuple[str, str], ...
    ] = ()  # label and name, where a table has more than the task's metric
    experiment: str = "table1"  # whose runs it shows


TASKS = {
    "SQuAD": "squad",
    "SNLI": "snli",
    "SRL": "srl",
    "Coref": "coref",
    "NER": "ner",
    "SST-5": "sst5",
}
ABLATED = ("SQuAD", "SNLI", "SRL")  # the tasks of Tables 2, 3 and 7
DEV_BASELINE = "table2_dev_layer_weighting"


def main_results() -> Layout:
    """Table 1."""
    table = "table1_test_main"

    def rows(task: str) -> tuple[Row, ...]:
        before = ("tables", table, task, "baseline")
        return (
            Row("previous best", ("tables", table, task, "previous_sota")),
            Row("baseline", before, BASELINE),
            Row("+ ELMo", ("tables", table, task, "elmo"), PAPER, BASELINE, before, ("tables", table, task)),
        )

    parts = tuple(Part(name, title, rows(title)) for title, name in TASKS.items())
    about = "Six tasks without and with ELMo. Test scores; dev data chose the epoch."
    return Layout("table1", "Table 1: six tasks", "test", parts, about)


def _ablation(
    name: str, title: str, table: str, conditions: Mapping[str, tuple[str, Wanted]], about: str
) -> Layout:
    """Rows per task: the baseline, then every condition and what it gains over it."""
    parts = []
    for task in ABLATED:
        before: Path = ("tables", DEV_BASELINE, task, "baseline")
        rows = [Row("baseline", before, BASELINE)]
        for label, (key, wanted) in conditions.items():
            rows.append(Row(label, ("tables", table, task, key), wanted, BASELINE, before))
        parts.append(Part(TASKS[task], task, tuple(rows)))
    return Layout(name, title, "dev", tuple(parts), about, experiment=name)


def layer_weighting() -> Layout:
    """Table 2."""
    conditions = {
        "last layer only": ("last_only", Wanted(layers="last")),
        "all layers, λ = 1": ("all_lambda_1", Wanted(layers="all", lam=1.0)),
        "all layers, λ = 0.001": ("all_lambda_0.001", Wanted(layers="all", lam=0.001)),
    }
    about = "The top layer alone, all held near their average, all free. Dev scores, as in the paper."
    return _ablation("table2", "Table 2: which layers", DEV_BASELINE, conditions, about)


def location() -> Layout:
    """Table 3."""
    conditions = {
        "input only": ("input_only", Wanted(where="input")),
        "input and output": ("input_and_output", Wanted(where="both")),
        "output only": ("output_only", Wanted(where="output")),
    }
    about = (
        "ELMo at the input of the task's RNN, at its output, or both. Dev scores; the baseline is Table "
        "2's, which "
        "the paper does not repeat here."
    )
    return _ablation("table3", "Table 3: where ELMo enters", "table3_dev_location", conditions, about)


def word_vectors() -> Layout:
    """Table 7 of the camera-ready version."""
    table = "table7_naacl_camera_ready_glove_ablation_dev"
    without = Wanted(layers=0, words="none")

    def rows(task: str) -> tuple[Row, ...]:
        before: Path = ("tables", table, task, "glove")
        return (
            Row("word vectors only", before, BASELINE),
            Row(
                "character layer, no word vectors",
                ("tables", table, task, "char_layer_only_no_glove"),
                without,
                BASELINE,
                before,
            ),
            Row(
                "ELMo, no word vectors",
                ("tables", table, task, "elmo_no_glove"),
                Wanted(words="none"),
                BASELINE,
                before,
            ),
            Row("ELMo + word vectors", ("tables", table, task, "elmo_plus_glove"), PAPER, BASELINE, before),
        )

    parts = tuple(Part(TASKS[task], task, rows(task)) for task in ABLATED)
    about = "What word vectors add to ELMo (a table of the camera-ready version only). Dev scores."
    title = "Table 7 (camera-ready): with and without word vectors"
    return Layout("table7_words", title, "dev", parts, about, experiment="table7_words")


def _listing(
    name: str,
    title: str,
    table: str,
    part: tuple[str, str],
    ours: Mapping[str, Wanted],
    added: Sequence[Row] = (),
    baseline: Wanted = BASELINE,
    statistics: tuple[tuple[str, str], ...] = (),
    experiment: str = "table1",
    about: str = "",
) -> Layout:
    """The systems a table of the paper lists, in its order, and rows of ours alone after them."""
    baseline_key = next((key for key, wanted in ours.items() if wanted == baseline), None)
    before: Path | None = ("tables", table, baseline_key) if baseline_key else None
    rows = []
    for key, entry in lookup("tables", table).items():
        if "value" in entry or "kind" in entry:  # the others are remarks, not rows of the table
            wanted = ours.get(key)
            compared = wanted is not None and wanted != baseline
            rows.append(
                Row(
                    key,
                    ("tables", table, key),
                    wanted,
                    baseline if compared else None,
                    before if compared else None,
                )
            )
    parts = (Part(*part, (*rows, *added)),)
    return Layout(name, title, "test", parts, about, statistics, experiment)


def probes() -> list[Layout]:
    """Tables 5 and 6."""
    layers = {"biLM layer 1": Wanted(layers=1), "biLM layer 2": Wanted(layers=2)}
    vectors = Wanted(where="none", words="any")
    return [
        _listing(
            "table5",
            "Table 5: word senses",
            "table5_wsd_F1",
            ("wsd", "WSD"),
            {"WordNet 1st sense": BASELINE, **layers},
            added=[Row("token layer (no context)", None, Wanted(layers=0), BASELINE)],
            experiment="table5",
            about="The nearest averaged training vector of one frozen layer decides the sense.",
        ),
        _listing(
            "table6",
            "Table 6: parts of speech",
            "table6_pos_accuracy_PTB_test",
            ("pos", "POS"),
            layers,
            added=[
                Row("token layer (no context)", None, Wanted(layers=0), vectors),
                Row("word vectors alone", None, vectors),
            ],
            baseline=vectors,
            experiment="table6",
            about="A linear probe on one frozen layer. The gain is over word vectors alone, our control.",
        ),
    ]


def per_task() -> list[Layout]:
    """Tables 8 to 13 of the supplement: what others had reached, and our row."""
    own = Row("our baseline", None, BASELINE)
    about = "The supplement's comparison, with our runs in the rows of the same system. Test scores."
    both = (("EM", "exact_match"), ("F1", "f1"))
    return [
        _listing(
            "table8", "Table 8: SNLI", "table8_snli_test", ("snli", "SNLI"),
            {"ESIM (Chen 2017)": BASELINE, "ESIM+ELMo": PAPER}, about=about,
        ),
        _listing(
            "table9", "Table 9: SQuAD", "table9_squad_test", ("squad", "SQuAD"),
            {"BiDAF + Self Attention": BASELINE, "BiDAF + Self Attention + ELMo": PAPER},
            statistics=both, about=about,
        ),
        _listing(
            "table10", "Table 10: SRL", "table10_srl_conll2012_test_F1", ("srl", "SRL"),
            {"He et al. 2017, authors' reimplementation": BASELINE, "He et al. 2017 + ELMo": PAPER},
            about=about,
        ),
        _listing(
            "table11", "Table 11: coreference", "table11_coref_test_avgF1", ("coref", "Coref"),
            {"Lee et al. 2017 single": BASELINE, "Lee et al. 2017 + ELMo": PAPER}, about=about,
        ),
        _listing(
            "table12", "Table 12: NER", "table12_ner_test_F1", ("ner", "NER"),
            {"biLSTM-CRF + ELMo": PAPER}, added=[own], about=about,
        ),
        _listing(
            "table13", "Table 13: SST-5", "table13_sst5_test_accuracy", ("sst5", "SST-5"),
            {"BCN+ELMo": PAPER}, added=[own], about=about,
        ),
    ]  # fmt: skip
