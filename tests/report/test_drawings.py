"""What several drawings of a page share is written once."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from elmo_bench.report.drawings import SharedParts
from elmo_bench.report.svg import draw_dots


def test_what_drawings_share_is_written_once_and_the_rest_stays_where_it_is() -> None:
    values = [[10.0, 20.0, other] for other in (12.0, 13.0, 14.0)]
    drawings = [draw_dots("Scores", [("test", 1, own)], "f1") for own in values]
    shared = SharedParts(drawings)
    defined = dict(re.findall(r'^<\w+ id="([^"]+)" class="(\w+)"', str(shared.define()), re.MULTILINE))
    assert list(defined.values()) == ["grid", "column", "label"]
    for drawing in drawings:
        drawn = str(shared.draw(drawing))
        ElementTree.fromstring(drawn)
        assert re.findall(r'<use href="#([^"]+)"/>', drawn) == list(defined)
        (dots,) = re.findall(r'<g class="dots.*?</g>', drawing)
        assert dots in drawn


def test_a_drawing_that_shares_nothing_is_drawn_as_it_is() -> None:
    drawing = draw_dots("Scores", [("test", 1, [10.0, 20.0])], "f1")
    shared = SharedParts([drawing])
    assert (shared.draw(drawing), shared.define()) == (drawing, "")
