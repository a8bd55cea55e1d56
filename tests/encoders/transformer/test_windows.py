"""Windows against their definition: every word once, whole, and where its shorter side has most context."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from elmo_bench.encoders.transformer.windows import Window, plan_windows, shorten

SIZE = 12
texts = st.lists(st.integers(1, SIZE // 2), min_size=1, max_size=60).map(np.array)


def context(window: Window, word: int, pieces: np.ndarray, looks_back_only: bool) -> float:
    """The pieces on the shorter side of a word in a window; where the text ends, nothing is missing."""
    left = float("inf") if window.read.start == 0 else pieces[window.read.start : word].sum()
    right = float("inf") if window.read.stop == len(pieces) else pieces[word + 1 : window.read.stop].sum()
    return float(left if looks_back_only else min(left, right))


@given(texts, st.booleans())
def test_every_word_is_taken_once_where_it_has_most_context(
    pieces: np.ndarray, looks_back_only: bool
) -> None:
    windows = plan_windows(pieces, SIZE, looks_back_only)
    taken = [word for window in windows for word in range(window.taken.start, window.taken.stop)]
    assert taken == list(range(len(pieces)))
    for window in windows:
        assert pieces[window.read].sum() <= SIZE
        for word in range(window.taken.start, window.taken.stop):
            others = [other for other in windows if other.read.start <= word < other.read.stop]
            best = max(context(other, word, pieces, looks_back_only) for other in others)
            assert context(window, word, pieces, looks_back_only) == best


@given(texts)
def test_what_fits_is_one_window(pieces: np.ndarray) -> None:
    windows = plan_windows(pieces, int(pieces.sum()))
    everything = slice(0, len(pieces))
    assert windows == [Window(everything, everything)]


def test_words_of_one_piece_have_a_quarter_of_a_window_on_both_sides() -> None:
    pieces = np.ones(100, np.int64)
    windows = plan_windows(pieces, SIZE)
    assert len(windows) == 16  # half a window further each time
    for window in windows:
        for word in range(window.taken.start, window.taken.stop):
            assert context(window, word, pieces, False) >= SIZE // 4 - 1


def test_a_long_word_keeps_its_beginning_and_its_end() -> None:
    assert shorten(tuple(range(9)), 9) == tuple(range(9))
    assert shorten(tuple(range(9)), 4) == (0, 1, 7, 8)
    assert shorten(tuple(range(9)), 5) == (0, 1, 2, 7, 8)
    assert shorten(tuple(range(9)), 1) == (0,)
