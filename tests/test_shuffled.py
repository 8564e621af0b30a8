"""Answers in a loader's order against truths in the table's."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np
import pytest
from programs import told, watched

from sabueso.capture import rejoined, shuffled
from sabueso.capture.shuffled import Passed

PROGRAM = """
    import torch
    from sklearn.metrics import balanced_accuracy_score
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(600, 6)
    y = (x @ torch.randn(6, 3)).argmax(1)
    net = torch.nn.Linear(6, 3)
    opt = torch.optim.Adam(net.parameters(), lr=0.05)
    for epoch in range(6):
        for a, b in DataLoader(TensorDataset(x[:400], y[:400]), batch_size=40, shuffle=True):
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(a), b).backward()
            opt.step()
    judge = DataLoader(TensorDataset(x[400:], y[400:]), batch_size=50, shuffle={shuffle})
    net.eval()
    with torch.no_grad():
        pairs = [(net(a).argmax(1), b) for a, b in judge]
    said, true = (torch.cat(part) for part in zip(*pairs))
    print(balanced_accuracy_score({true}, said))
"""


@pytest.mark.parametrize(("shuffle", "true", "wrong"), [(True, "y[400:]", True), (False, "y[400:]", False), (True, "true", False)])
def test_a_shuffled_loader_beside_the_tables_truths(shuffle: bool, true: str, wrong: bool, tmp_path: Path) -> None:
    (tmp_path / "judge.py").write_text(textwrap.dedent(PROGRAM).format(shuffle=shuffle, true=true))
    diagnosis = watched(tmp_path / "judge.py")
    first = diagnosis["culprits"][0] if diagnosis["culprits"] else None
    assert bool(first) == wrong, told(diagnosis)
    assert not first or first["check"] == "misaligned-labels" and first["place"]["tensor"] == "judge" and first["place"]["line"] == 16, told(diagnosis)


def test_scores_are_compared_by_correlation() -> None:
    rng = np.random.default_rng(0)
    true, order = rng.normal(size=200), rng.permutation(200)
    answered = true[order] + rng.normal(0, 0.1, 200)
    found = shuffled.look([Passed(order, "test", "a.py", 3)], true, answered)
    assert found is not None and found["along"] > 0.9 and abs(found["agree"]) < 0.3
    assert shuffled.look([Passed(order, "test", "a.py", 3)], true, true + 0.1) is None, "they fit as they are"
    assert shuffled.look([Passed(order, "test", "a.py", 3)], true, rng.normal(size=200)) is None, "they fit neither way"


LABELS = """
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    def loader():
        torch.manual_seed(0)
        x = torch.randn(500, 5)
        y = (x @ torch.randn(5, 3)).argmax(1)
        return DataLoader(TensorDataset(x, y.roll({shift})), batch_size=50, shuffle=True)

    batches = loader()
    net = torch.nn.Sequential(torch.nn.Linear(5, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
    opt = torch.optim.Adam(net.parameters(), lr=0.02)
    for epoch in range(8):
        for a, b in batches:
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(a), b).backward()
            opt.step()
"""


@pytest.mark.parametrize("shift", [0, 1])
def test_all_labels_of_a_data_set_are_a_row_off(shift: int, tmp_path: Path) -> None:
    (tmp_path / "fed.py").write_text(textwrap.dedent(LABELS).format(shift=shift))
    diagnosis = watched(tmp_path / "fed.py")
    assert [c["check"] for c in diagnosis["culprits"]] == ["misaligned-labels"] * shift, told(diagnosis)


def test_what_is_foretold_of_a_series_is_no_row_off() -> None:
    """The next value's class can't be told, and is the class of a column of the next row."""
    rng = np.random.default_rng(0)
    series = rng.normal(size=1200)
    rows = np.column_stack([series[i : len(series) - 6 + i] for i in range(5)])
    ahead = np.digitize(series[5 : len(series) - 1], [-0.4, 0.4])
    near = rejoined.neighbours_of(rows)
    found = rejoined.confirmed(near, ahead, np.roll(ahead, 1))  # type: ignore[arg-type]
    assert found is not None and rejoined.by_one(rows, np.roll(ahead, 1), found), "by its neighbours alone it would be told"
    assert rejoined.follow(np.cumsum(rows, axis=0)) and not rejoined.follow(rows[rng.permutation(len(rows))])
