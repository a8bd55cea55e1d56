"""What each of the paper's tables shows, row by row: the paper's number and the condition that is ours."""

from __future__ import annotations

from collections.abc import Mapping
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
    statistics: tuple[tuple[str, str], ...] = ()  # labels and names, where it has more than the task's metric
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
        "ELMo at the input of the task's RNN, at its output, or both. Dev scores; the baseline is Table 2's, "
        "which the paper does not repeat here."
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


def _listed(table: str, ours: Mapping[str, Wanted], baseline: Wanted = BASELINE) -> tuple[Row, ...]:
    """The systems a table of the paper lists, in its order; those that are ours have a condition."""
    baseline_key = next((key for key, wanted in ours.items() if wanted == baseline), None)
    before: Path | None = ("tables", table, baseline_key) if baseline_key else None
    rows = []
    for key, entry in lookup("tables", table).items():
        if "value" not in entry and "kind" not in entry:
            continue  # a remark, no row of the table
        wanted, path = ours.get(key), ("tables", table, key)
        if wanted is None or wanted == baseline:
            rows.append(Row(key, path, wanted))
        else:
            rows.append(Row(key, path, wanted, baseline, before))
    return tuple(rows)


def probes() -> list[Layout]:
    """Tables 5 and 6."""
    layers = {"biLM layer 1": Wanted(layers=1), "biLM layer 2": Wanted(layers=2)}
    vectors = Wanted(where="none", words="any")
    token_layer = "token layer (no context)"
    senses = (
        *_listed("table5_wsd_F1", {"WordNet 1st sense": BASELINE, **layers}),
        Row(token_layer, None, Wanted(layers=0), BASELINE),
    )
    tags = (
        *_listed("table6_pos_accuracy_PTB_test", layers, vectors),
        Row(token_layer, None, Wanted(layers=0), vectors),
        Row("word vectors alone", None, vectors),
    )
    return [
        Layout(
            "table5",
            "Table 5: word senses",
            "test",
            (Part("wsd", "WSD", senses),),
            "The nearest averaged training vector of one frozen layer decides the sense.",
            experiment="table5",
        ),
        Layout(
            "table6",
            "Table 6: parts of speech",
            "test",
            (Part("pos", "POS", tags),),
            "A linear probe on one frozen layer. The gain is over word vectors alone, our control.",
            experiment="table6",
        ),
    ]


SUPPLEMENT: dict[str, tuple[str, str, dict[str, Wanted]]] = {  # by task: title, table, which systems are ours
    "SNLI": (
        "Table 8: SNLI", "table8_snli_test",
        {"ESIM (Chen 2017)": BASELINE, "ESIM+ELMo": PAPER},
    ),
    "SQuAD": (
        "Table 9: SQuAD", "table9_squad_test",
        {"BiDAF + Self Attention": BASELINE, "BiDAF + Self Attention + ELMo": PAPER},
    ),
    "SRL": (
        "Table 10: SRL", "table10_srl_conll2012_test_F1",
        {"He et al. 2017, authors' reimplementation": BASELINE, "He et al. 2017 + ELMo": PAPER},
    ),
    "Coref": (
        "Table 11: coreference", "table11_coref_test_avgF1",
        {"Lee et al. 2017 single": BASELINE, "Lee et al. 2017 + ELMo": PAPER},
    ),
    "NER": ("Table 12: NER", "table12_ner_test_F1", {"biLSTM-CRF + ELMo": PAPER}),
    "SST-5": ("Table 13: SST-5", "table13_sst5_test_accuracy", {"BCN+ELMo": PAPER}),
}  # fmt: skip


def per_task() -> list[Layout]:
    """Tables 8 to 13 of the supplement: what others had reached, and our row."""
    about = "The supplement's comparison, with our runs in the rows of the same system. Test scores."
    layouts = []
    for name, (title, table, ours) in SUPPLEMENT.items():
        rows = _listed(table, ours)
        if BASELINE not in ours.values():
            rows = (*rows, Row("our baseline", None, BASELINE))
        statistics = (("EM", "exact_match"), ("F1", "f1")) if name == "SQuAD" else ()
        part = Part(TASKS[name], name, rows)
        number = title.partition(":")[0].replace("Table ", "table")
        layouts.append(Layout(number, title, "test", (part,), about, statistics))
    return layouts
