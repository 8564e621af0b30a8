"""The replay of a step: it names the operation, and the program goes on as if nothing had been run twice."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import textwrap
from pathlib import Path

from programs import diagnosed

from sabueso.capture import operands

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


TWICE = """
import copy, hashlib, json, random, warnings
import numpy as np, torch
from torch import nn
from torch.nn import functional as F
import sabueso

warnings.simplefilter("ignore")


def parts(value):
    if torch.is_tensor(value):
        return value.detach().contiguous().view(torch.uint8).numpy().tobytes() if value.dim() else repr(value.item()).encode()
    if isinstance(value, dict):
        return b"".join(repr(k).encode() + parts(v) for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return b"".join(parts(v) for v in value)
    return repr(value).encode()


def digest(net, opt):
    random_states = [torch.get_rng_state(), repr(np.random.get_state()), repr(random.getstate())]
    grads = [p.grad for p in net.parameters()]
    modes = [m.training for m in net.modules()]
    return hashlib.sha256(parts([net.state_dict(), opt.state_dict()["state"], grads, modes, random_states])).hexdigest()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.norm, self.drop, self.out = nn.LSTM(3, 6, batch_first=True), nn.BatchNorm1d(6), nn.Dropout(0.3), nn.Linear(6, 1)

    def forward(self, x):
        return self.out(self.drop(self.norm(self.rnn(x)[0][:, -1]))) + 0.01 * float(np.random.rand()) + 0.01 * random.random()


def train(kind):
    torch.manual_seed(0), np.random.seed(0), random.seed(0)
    x, net, seen = torch.rand(48, 5, 3), Net(), []
    t = x.sum((1, 2))[:, None]
    make = {"momentum": lambda p: torch.optim.SGD(p, 0.01, momentum=0.9), "closure": lambda p: torch.optim.LBFGS(p, 0.1, max_iter=3)}
    opt = make.get(kind, lambda p: torch.optim.AdamW(p, 1e5 if kind == "rate" else 0.01))(net.parameters())

    def loss_of(ids, bad):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=kind == "bf16"):
            out = net(x[ids]).float()
        loss = F.mse_loss(out, t[ids])
        return loss + torch.sqrt(out - out.detach()).mean() if bad else loss

    for step, ids in enumerate(list(torch.arange(48).split(8)) * 2):
        bad = step == 8 and kind != "rate"
        if kind == "closure":
            def closure():
                opt.zero_grad()
                loss = loss_of(ids, bad)
                loss.backward()
                return loss
            opt.step(closure)
        elif kind == "accumulated":
            (loss_of(ids, bad) / 2).backward()
            seen.append(digest(net, opt))
            if step % 2:
                opt.step()
                opt.zero_grad()
        else:
            opt.zero_grad()
            loss = loss_of(ids, bad)
            loss.backward()
            seen.append(digest(net, opt))
            opt.step()
        seen.append(digest(net, opt))
    return seen, net, opt


told = {}
for kind in ("momentum", "adam", "bf16", "accumulated", "closure", "rate"):
    bare, net, opt = train(kind)
    last = digest(net, opt)
    with sabueso.watch(quiet=True) as watched:
        again, net, opt = train(kind)
    found = [(f.check, str(f.verified)) for f in watched.diagnosis.findings]
    told[kind] = {"same": bare == again, "after": digest(net, opt) == last, "found": found}
print(json.dumps(told))
"""


def test_replay_and_experiment_leave_every_state_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "twice.py").write_text(TWICE)
    done = subprocess.run([sys.executable, "twice.py"], cwd=tmp_path, check=True, capture_output=True, text=True)
    told = json.loads(done.stdout.splitlines()[-1])
    for kind, one in told.items():
        assert one["same"] and one["after"], kind
        checks = dict(one["found"])
        if kind != "rate":
            assert "to the last bit" in checks["nonfinite-loss"], (kind, checks)


def test_a_function_parsed_alone_has_the_lines_and_columns_of_its_file() -> None:
    whole = operands.parsed(textwrap.__file__)
    assert whole is not None
    functions = [n for n in ast.walk(whole) if isinstance(n, ast.FunctionDef)]
    for function in functions:
        alone = operands.parsed_function(textwrap.__file__, function.lineno)
        assert alone is not None
        found = next(n for n in ast.walk(alone) if isinstance(n, ast.FunctionDef) and n.name == function.name)
        assert ast.dump(found, include_attributes=True) == ast.dump(function, include_attributes=True)
    assert len(functions) > 5 and operands.parsed_function(textwrap.__file__, 1) is None
