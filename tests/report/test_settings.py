"""Settings are said once where conditions share them, and none is lost."""

from __future__ import annotations

from pathlib import Path

from elmo_bench.report.page import write_page
from elmo_bench.report.settings import group_settings
from tests.report.test_report import build
from tests.support.report_records import ELMO, make_record, publish, publish_world


def test_every_setting_is_a_conditions_own_or_shared_with_all_of_its_family(tmp_path: Path) -> None:
    publish_world(tmp_path)
    report = build(tmp_path)
    conditions = {one.condition: one for one in report.details.conditions}
    families = list(group_settings(conditions.values()))
    assert sorted(name for family in families for name in family.conditions) == sorted(conditions)
    for family in families:
        members = [conditions[name] for name in family.conditions]
        assert len({(one.task, one.setting) for one in members}) == 1
        for one in members:
            assert sorted((*family.own(one), *family.shared)) == sorted(one.settings)
    assert any(family.shared and family.own(conditions[family.conditions[0]]) for family in families)
    page = write_page(report)
    for family in families:
        assert page.count(f'<div id="s-{family.name}"') == bool(family.shared)


def test_a_condition_alone_has_all_of_its_settings(tmp_path: Path) -> None:
    publish(tmp_path, make_record("ner", 1, 30, ELMO), 30)
    (one,) = build(tmp_path).details.conditions
    (family,) = group_settings([one])
    assert (family.shared, family.own(one)) == ((), one.settings)
