"""A copy from before the training that answers in the end is told; copies that are compared, followed or asked in training are not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from programs import sabueso

HEAD = """
import copy
import torch
from torch import nn
torch.manual_seed(0)
x = torch.randn(256, 5)
y = x.sum(1, keepdim=True)
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
slow = copy.deepcopy(net)
opt = torch.optim.Adam(net.parameters(), lr=0.01)

def follow():
    for p, q in zip(slow.parameters(), net.parameters()):
        FOLLOW

for step in range(120):
    rows = torch.randint(256, (32,))
    loss = nn.functional.mse_loss(net(x[rows]), y[rows]) MORE
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        follow()
with torch.no_grad():
    print(nn.functional.mse_loss(slow(x), y))
    LAST
"""
BOUND, WRITTEN = "p = 0.9 * p + 0.1 * q", "p.copy_(0.9 * p + 0.1 * q)"


def program(follow: str, more: str = "", last: str = "pass") -> str:
    return HEAD.replace("FOLLOW", follow).replace("MORE", more).replace("LAST", last)


def culprits(text: str, folder: Path) -> list[tuple[str, int]]:
    (folder / "program.py").write_text(text)
    ran = sabueso("run", "--json", "out.json", "program.py", cwd=folder)
    assert ran.returncode == 0, ran.stderr
    return [(c["check"], c["place"]["line"]) for c in json.loads((folder / "out.json").read_text())["culprits"]]


def test_an_average_that_writes_nothing(tmp_path: Path) -> None:
    assert culprits(program(BOUND), tmp_path) == [("not-learning", 14)]


@pytest.mark.parametrize(
    "text",
    [
        program(WRITTEN),
        program("pass", last="print(nn.functional.mse_loss(net(x), y))"),
        program("pass", "+ 0.01 * nn.functional.mse_loss(net(x[rows]), slow(x[rows]).detach())"),
    ],
    ids=["written", "compared", "asked in training"],
)
def test_copies_that_are_meant(text: str, tmp_path: Path) -> None:
    assert culprits(text, tmp_path) == []
