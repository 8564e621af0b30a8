"""torchmetrics' values of batches, collected or logged, are told apart from metrics that are reckoned over all rows."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from programs import sabueso

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torchmetrics") is None, reason="torchmetrics is not installed")

HEAD = """
import torch
from torchmetrics.classification import BinaryAccuracy, BinaryF1Score
torch.manual_seed(0)
y = (torch.rand(630) < 0.06).int()
p = 0.7 * y + 0.6 * torch.rand(630)
batches = list(zip(p.split(16), y.split(16)))
f1 = BinaryF1Score(threshold=0.55)
"""
FAULTY = {
    "summed": "total = 0.0\nwith torch.no_grad():\n    for a, b in batches:\n        total += f1(a, b).item()\nprint(total / len(batches))\n",
    "collected": "with torch.no_grad():\n    print(torch.stack([f1(a, b) for a, b in batches]).mean())\n",
}
HEALTHY = {
    "accumulated": "with torch.no_grad():\n    for a, b in batches:\n        f1(a, b)\n    print(f1.compute())\n",
    "shown beside": "seen = []\nwith torch.no_grad():\n    for a, b in batches:\n        seen.append(f1(a, b))\n    print(seen, f1.compute())\n",
    "a mean over rows": "right = BinaryAccuracy()\nwith torch.no_grad():\n    print(torch.stack([right(a, b) for a, b in batches]).mean())\n",
}


def culprits(program: str, folder: Path) -> list[str]:
    (folder / "program.py").write_text(HEAD + program)
    ran = sabueso("run", "--json", "out.json", "program.py", cwd=folder)
    assert ran.returncode == 0, ran.stderr
    return [c["check"] for c in json.loads((folder / "out.json").read_text())["culprits"]]


@pytest.mark.parametrize("name", FAULTY)
def test_values_of_batches_that_are_averaged(name: str, tmp_path: Path) -> None:
    assert culprits(FAULTY[name], tmp_path) == ["metric-averaging"]


@pytest.mark.parametrize("name", HEALTHY)
def test_values_of_batches_that_are_not(name: str, tmp_path: Path) -> None:
    assert culprits(HEALTHY[name], tmp_path) == []
