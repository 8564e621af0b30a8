"""The pytest plugin, the assertions and the unittest mixin."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import unittest
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from sabueso import testing

TRAINS = """
    import torch, pytest

    def train(clear):
        torch.manual_seed(0)
        x = torch.randn(96, 5)
        y = x.sum(1, keepdim=True)
        net = torch.nn.Linear(5, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.02)
        for step in range(30):
            rows = torch.randint(0, 96, (16,))
            loss = torch.nn.functional.mse_loss(net(x[rows]), y[rows])
            if clear:
                opt.zero_grad()
            loss.backward()
            opt.step()
"""


def written(folder: Path, tests: str) -> Path:
    path = folder / "test_it.py"
    path.write_text(textwrap.dedent(TRAINS) + textwrap.dedent(tests))
    return path


def pytest_run(folder: Path, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *PLUGIN, *arguments], cwd=folder, capture_output=True, text=True)
    return done.stdout + done.stderr


def installed() -> bool:
    from importlib.metadata import entry_points

    return any(e.value == "sabueso.pytest_plugin" for e in entry_points(group="pytest11"))


PLUGIN = [] if installed() else ["-p", "sabueso.pytest_plugin"]


def test_a_watched_test_fails_with_the_diagnosis(tmp_path: Path) -> None:
    """By the option, by the mark, beside an ignored check, and not at all; on a worker of xdist."""
    written(
        tmp_path,
        """
        def test_faulty(): train(False)
        def test_healthy(): train(True)
        def test_own_failure():
            train(False)
            assert 0, "mine"
        @pytest.mark.sabueso(ignore=["missing-zero-grad"])
        def test_ignored(): train(False)
        """,
    )
    out = pytest_run(tmp_path, "--sabueso", "-n", "1")
    assert "2 failed, 2 passed" in out, out
    assert "CULPRIT missing-zero-grad" in out and "test_it.py:15" in out and "mine" in out
    assert "4 failed" not in out and not (tmp_path / ".sabueso").exists()


def test_unwatched_tests_are_left_alone_and_cost_nothing(tmp_path: Path) -> None:
    path = tmp_path / "test_bare.py"
    path.write_text("import sys\ndef test_bare(): assert not {'torch', 'numpy', 'sabueso.wiring', 'sabueso.testing'} & set(sys.modules)\n")
    out = pytest_run(tmp_path)
    assert "1 passed" in out, out


def test_a_script_run_watched(tmp_path: Path) -> None:
    (tmp_path / "score.py").write_text("from sklearn.metrics import accuracy_score\nprint('auc:', 0.75)\naccuracy_score([0, 1, 1, 0], [0, 1, 0, 0])\n")
    seen = testing.run("score.py", cwd=tmp_path).no_culprit()
    assert seen.metric("accuracy").within(0.7, 0.8) == 0.75 and seen.metric("auc").within(0.7, 0.8) == 0.75
    with pytest.raises(AssertionError, match="expected 0.9 to 1"):
        seen.metric("auc").within(0.9, 1)
    with pytest.raises(AssertionError, match="told no recall"):
        seen.metric("recall")
    with pytest.raises(AssertionError, match="no culprit overfitting"):
        seen.culprit("overfitting")


def test_learns_one_batch() -> None:
    torch.manual_seed(0)
    x = torch.randn(24, 4)
    y = (x[:, 0] > 0).long()
    testing.assert_learns_one_batch(torch.nn.Linear(4, 2), torch.nn.functional.cross_entropy, (x, y))
    with pytest.raises(AssertionError, match="loss-activation-mismatch"):
        testing.assert_learns_one_batch(torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.Softmax(1)), torch.nn.functional.cross_entropy, (x, y))


def frame(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {"a": rng.normal(size=rows), "day": np.arange(rows) + 100 * seed, "who": rng.integers(0, 9, rows) + 10 * seed, "y": rng.integers(0, 2, rows)}
    )


def test_no_leakage() -> None:
    train, test = frame(60, 1), frame(30, 2)
    testing.assert_no_leakage(train, test, target="y", group="who", time="day")
    testing.assert_no_leakage(train.to_numpy(), test.to_numpy())
    with pytest.raises(AssertionError, match=r"split-overlap: 1 of 31 test rows .* 30 \(training row 7\)"):
        testing.assert_no_leakage(train, pd.concat([test, train.iloc[[7]]]))
    with pytest.raises(AssertionError, match="group-leakage: 1 values of 'who'"):
        testing.assert_no_leakage(train, test.assign(who=train["who"].max()), group="who")
    with pytest.raises(AssertionError, match="time-leakage: .* training rows are later"):
        testing.assert_no_leakage(test, train, time="day")
    with pytest.raises(AssertionError, match="target-leakage: column 'twin'"):
        testing.assert_no_leakage(train.assign(twin=train["y"].map({0: "no", 1: "yes"})), test.assign(twin="no"), target="y")
    names = pd.DataFrame({"smoker": ["yes", "no"] * 40})
    testing.assert_no_leakage(names, names)  # of two distinct rows all repeat


def test_schema() -> None:
    table = frame(20, 1)
    testing.assert_schema(table, frame(10, 2))
    testing.assert_schema(table, {"a": "float64", "day": (100, 119), "who": "whole", "y": {0, 1}})
    for change, why in (
        (table.drop(columns="a"), "lacking"),
        (table[["day", "a", "who", "y"]], "feature-order: column 0 is 'day'"),
        (table.assign(a=table["a"].astype(str)), "dtype-changed"),
        (table.assign(a=table["a"].where(table.index != 3)), r"missing-values: 1 .* rows \[3\]"),
    ):
        with pytest.raises(AssertionError, match=why):
            testing.assert_schema(change, frame(10, 2))
    with pytest.raises(AssertionError, match=r"1 values outside .* rows \[4\]"):
        testing.assert_schema(table.assign(day=table["day"].where(table.index != 4, 7)), {"a": "number", "day": (100, 119), "who": "number", "y": "number"})
    with pytest.raises(AssertionError, match="unseen-category"):
        testing.assert_schema({"c": np.array(["x", "z"], dtype=object)}, {"c": {"x", "y"}})


def test_same_output() -> None:
    a = torch.linspace(0, 1, 50)
    testing.assert_same_output({"p": a, "n": [1, 2]}, {"p": a * (1 + 1e-7), "n": [1, 2]})
    testing.assert_same_output(frame(9, 1), frame(9, 1))
    with pytest.raises(AssertionError, match=r"output\['p'\]: 1 of 50 values differ, first at 7"):
        testing.assert_same_output({"p": a}, {"p": a + 0.01 * (torch.arange(50) == 7)})
    with pytest.raises(AssertionError, match=r"shape \(3,\) before, \(4,\) after"):
        testing.assert_same_output(np.zeros(3), np.zeros(4))
    testing.assert_same_output(np.array([1.0, np.nan]), np.array([1.0, np.nan]))
    testing.assert_same_output(a.bfloat16(), (a + 1e-3).bfloat16())


def test_unittest() -> None:
    class Tests(testing.Mixin, unittest.TestCase):
        sabueso_watch = True

        def test_faulty(self) -> None:
            scope: dict = {}
            exec(compile(textwrap.dedent(TRAINS), str(Path(__file__)), "exec"), scope)
            scope["train"](False)

        def test_healthy(self) -> None:
            self.assertSameOutput([1.0], [1.0])
            self.assertSchema({"a": np.zeros(2)}, {"a": "number"})

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Tests).run(result)
    assert result.testsRun == 2 and not result.errors
    assert [t.id().rpartition(".")[2] for t, _ in result.failures] == ["test_faulty"] and "missing-zero-grad" in result.failures[0][1]
