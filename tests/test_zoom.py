"""The replay of a step: it names the operation, and the program goes on as if nothing had been run twice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from programs import diagnosed

PROGRAM = """
import random
import numpy as np, torch
from torch import nn
torch.manual_seed(0); random.seed(0); np.random.seed(0)
rng = np.random.default_rng(3)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.norm, self.drop, self.b = nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 1)
        self.calls, self.seen = 0, []
        self.register_buffer("mean", torch.zeros(8))
    def forward(self, x):
        self.calls += 1
        self.seen.append(float(x.detach().sum()))
        x = x + torch.from_numpy(rng.normal(size=tuple(x.shape)).astype("float32")) + np.random.rand() + random.random()
        h = self.drop(torch.relu(self.norm(self.a(x))))
        with torch.no_grad():
            self.mean.mul_(0.9).add_(h.mean(0), alpha=0.1)
        return self.b(h)
net = Net()
opt = torch.optim.SGD(net.parameters(), 0.01)
x = torch.rand(64, 4)
for i in range(6):
    out = net(x)
    if i >= 3:
        out = torch.sqrt(out - out.detach())
    loss = out.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with open("said.txt", "a") as f:
        f.write(repr([loss.item(), net.calls, net.seen, net.mean.tolist(), net.norm.running_mean.tolist(), x.sum().item()]) + "\\n")
with open("said.txt", "a") as f:
    f.write(repr([torch.rand(2).tolist(), random.random(), np.random.rand(), rng.random()]))
"""


def test_replay_names_the_operation_and_changes_nothing(tmp_path: Path) -> None:
    bare, watched = tmp_path / "bare", tmp_path / "watched"
    for folder in (bare, watched):
        folder.mkdir()
        (folder / "program.py").write_text(PROGRAM)
    subprocess.run([sys.executable, "program.py"], cwd=bare, check=True)
    diagnosis = diagnosed("program.py", watched)
    first = diagnosis["culprits"][0]
    assert first["check"] == "nonfinite-loss" and "to the last bit" in first["verified"]["how"]
    assert (watched / "said.txt").read_text() == (bare / "said.txt").read_text()
