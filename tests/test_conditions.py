"""What a run is called in tables and messages."""

from __future__ import annotations

from pathlib import Path

from elmo_bench.conditions import choose_encoder, describe_condition, describe_method, tell_apart
from elmo_bench.report.published import block_of
from tests.support.composition import run_config
from tests.support.report_records import ELMO, make_record, summarise_records


def test_an_encoder_of_a_directory_is_named_after_it(tmp_path: Path) -> None:
    names = []
    for directory in ("A", "B"):
        chosen = run_config("task=ner", "encoder=model", f"encoder.directory={tmp_path / directory}/").encoder
        twin = chosen.model_copy(update={"untrained": True})
        names += [chosen.full_name, twin.full_name]
        assert chosen.own_name == directory
    assert names == ["model A", "untrained_model A", "model B", "untrained_model B"]


def test_an_encoder_with_a_file_of_its_own_has_the_name_of_the_file() -> None:
    assert run_config("task=ner", "encoder=sample").encoder.full_name == "sample"


def test_a_model_below_the_models_directory_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "options.json").write_text("{}")
    chosen = run_config("task=ner", "encoder=mine", f"paths.models={tmp_path}").encoder
    assert chosen.full_name == "mine"


def test_the_context_of_documents_stands_in_the_line() -> None:
    assert describe_method(run_config("task=ner", "encoder.context=document")).endswith(", context document")
    assert "context" not in describe_method(run_config("task=ner", "encoder.context=sentence"))


def test_encoders_that_share_a_name_have_digits_of_their_fingerprint() -> None:
    found = tell_apart([("model A", "a" * 64), ("model A", "b" * 64), ("words", "c" * 64)])
    assert found == {"a" * 64: "model A aaaaaa", "b" * 64: "model A bbbbbb", "c" * 64: "words"}


def test_a_record_says_how_its_encoder_is_chosen() -> None:
    config = {"name": "model", "named_after": "directory", "directory": "/models/A"}
    words = ["encoder=model", "encoder.directory=/models/A"]
    assert choose_encoder("model A", config) == words
    assert choose_encoder("untrained_model A", config) == [*words, "encoder.untrained=true"]
    record = make_record("ner", 1, 20, ELMO, encoder="model A")
    record.config["encoder"] = config
    assert list(block_of(record).chosen_by) == words


def test_a_summary_has_no_two_identical_lines_for_two_encoders() -> None:
    records = [
        make_record("ner", 1, 20, ELMO, encoder="model A", identity={"encoder_fingerprint": digit * 64})
        for digit in "ab"
    ]
    lines = summarise_records(records).splitlines()[1:]
    assert len({line.strip() for line in lines}) == len(lines) == 2


def test_methods_of_a_dashboard_tell_encoders_of_one_name_apart() -> None:
    config = run_config("task=ner")
    assert describe_method(config, "a" * 64) != describe_method(config, "b" * 64)
    assert describe_method(run_config("task=ner", "elmo=none"), None) == "without ELMo"


def test_layer_norm_is_part_of_a_description() -> None:
    plain, normalised = (make_record("ner", 1, 20, {**ELMO, "layer_norm": norm}) for norm in (False, True))
    assert describe_condition(normalised) == f"{describe_condition(plain)}, layer norm"


def test_a_summary_has_no_two_identical_lines_for_two_rates() -> None:
    records = [
        make_record("ner", 1, 20, ELMO, identity={"task": {"training": {"optimiser": {"lr": rate}}}})
        for rate in (0.001, 0.003)
    ]
    lines = summarise_records(records).splitlines()[1:]
    assert [", rate 0.001" in line for line in sorted(lines)] == [True, False]
