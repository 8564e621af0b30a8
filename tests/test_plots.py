"""Figures and what notebooks show: nothing odd is hidden, nothing is run, no global state of Matplotlib is touched."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest
from made import HOSTILE, diagnosis_of, finished

from sabueso import drawings
from sabueso.curves import reduced
from sabueso.errors import UsageError
from sabueso.profiles import GRID, Profile
from sabueso.runs import Run
from sabueso.store.reader import open_run

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return open_run(finished(tmp_path_factory.mktemp("plots")))


def test_figures_draw_and_show_what_is_not_finite(run: Run) -> None:
    before = "matplotlib.pyplot" in sys.modules  # which would take over the program's windows
    loss = run.plot("loss")
    (axes,) = loss.axes
    assert axes.get_yscale() == "log" and "2 not finite" in axes.lines[0].get_label()
    assert sum(len(c.get_segments()) for c in axes.collections if hasattr(c, "get_segments")) == 2
    for made in (loss, run.plot_layers("gradient_norm"), run.plot_distribution("age"), run.plot_distribution(HOSTILE), run.plot_learning_curves()):
        made.savefig(io.BytesIO())
    assert before or "matplotlib.pyplot" not in sys.modules


@pytest.mark.parametrize(("call", "word"), [("plot", "train_loss"), ("plot_layers", "weight_gradient"), ("plot_distribution", "age")])
def test_what_is_not_there_is_said_with_what_is(run: Run, call: str, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        getattr(run, call)("nothing")


def test_without_matplotlib_it_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(UsageError, match=r"sabueso\[plot\]"):
        run.plot("loss")


def test_what_notebooks_show_is_escaped(run: Run, tmp_path: Path) -> None:
    diagnosis = diagnosis_of(finished(tmp_path))
    shown = [run._repr_html_(), diagnosis._repr_html_(), diagnosis.culprits[0]._repr_html_(), Profile.of(run.profiles("column")[0].value)._repr_html_()]
    assert not [text for text in shown if "<script" in text]
    assert "<svg" in shown[0] and "missing-zero-grad" in shown[1] and "&lt;script&gt;" in shown[1] and "<svg" in shown[3]
    assert "facts" in repr(run)


def test_drawing_crosses_no_gap() -> None:
    import numpy as np

    text = drawings.line_chart(reduced(np.arange(5), np.array([1.0, 2.0, np.nan, 3.0, np.inf])), HOSTILE)
    assert text.count("<polyline") == 1 and text.count("<circle") == 1 and text.count('class="broken"') == 2 and "<script" not in text
    for values in ([], [1.0], [np.nan], [1e308, -1e308], [5e-324, 1e300], [-1.0, -1.0]):
        assert drawings.line_chart(reduced(np.arange(len(values)), np.array(values)), "x").endswith("</svg>")


def test_a_stretch_of_nan_hides_nothing() -> None:
    import numpy as np

    values = np.where((np.arange(300) > 50) & (np.arange(300) < 90), np.nan, 1.0)
    values[200] = np.inf
    text = drawings.line_chart(reduced(np.arange(300), values), "x")
    assert text.count('class="stretch"') == 1 and text.count('class="broken"') == 3  # both edges, and the one that stands alone


def test_histogram_of_quantiles() -> None:
    counts, labels = drawings.histogram(list(GRID), [])
    assert len(counts) == drawings.BINS and abs(sum(counts) - 1) < 1e-9 and max(counts) - min(counts) < 1e-9 and labels == ["0", "1"]
    counts, _ = drawings.histogram([0.0] * 15 + [1.0] * 6, [])
    assert abs(sum(counts) - 1) < 1e-9 and counts[0] > 0.6
    assert drawings.histogram([], [("a", 3), ("b", 1)]) == ([3.0, 1.0], ["a", "b"])


def test_histograms_of_one_column_can_be_compared() -> None:
    grid = [float(g) for g in GRID]
    (usual, ends), (moved, same) = drawings.histograms([(grid, [], 500), ([g + 3 for g in grid], [], 500)])
    assert ends == same == ["0", "4"] and sum(usual[4:]) == 0.0 and sum(moved[:12]) == 0.0 and abs(sum(moved) - 1) < 1e-9
    whole = [(grid, [(0.0, 3), (1.0, 9)], 2), (grid, [(1.0, 4), (2.0, 1)], 2)]  # few values: a bar for each, in the order of the numbers
    assert drawings.histograms(whole) == [([3.0, 9.0, 0.0], ["0", "1", "2"]), ([0.0, 4.0, 1.0], ["0", "1", "2"])]
    texts = [([], [("ios", 5), ("web", 4)], 2), ([], [("web", 9), ("tv", 1)], 2)]
    assert drawings.histograms(texts) == [([4.0, 5.0, 0.0], ["web", "ios", "tv"]), ([9.0, 0.0, 1.0], ["web", "ios", "tv"])]  # the most frequent first
    assert drawings.histograms([([], [], 0)]) == [([], [])]
    cut = [([], [("a", 5)], 900), ([], [("b", 4)], 900)]  # of many values only the most frequent are kept: what is not there is not zero
    assert drawings.histograms(cut) == [([5.0], ["a"]), ([4.0], ["b"])]
    assert "<script" not in drawings.bars([1.0, 2.0], [HOSTILE, "b"], HOSTILE)


def test_numpy_is_not_needed_to_tell_a_finding() -> None:
    code = "import sys, sabueso.findings, sabueso.diagnoses\nprint('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "False"
