"""`sabueso diff` on planted divergences: one program, and twenty copies of it with one thing changed. Prints one line a copy.

    python bench/diff.py [NAME ..]

A copy counts where the first divergence is named at the expected line and of the expected column or tensor.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import sys
import tempfile
from pathlib import Path

BASE = """\
import numpy as np
import pandas as pd
import torch
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn

table = pd.read_csv("rows.csv")
table["ratio"] = table["a"] / (table["b"].abs() + 1)
names = ["a", "b", "c", "ratio"]
x, x_test, y, y_test = train_test_split(table[names], table["y"], test_size=0.25, random_state=3)
scaler = StandardScaler().fit(x)
rows = torch.tensor(scaler.transform(x), dtype=torch.float32)
labels = torch.tensor(y.to_numpy())
torch.manual_seed(5)
body = nn.Linear(4, 16)
head = nn.Linear(16, 2)
net = nn.Sequential(body, nn.ReLU(), nn.Dropout(0.0), head)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for epoch in range(3):
    for ids in torch.randperm(len(rows)).split(30):
        out = net(rows[ids])
        loss = nn.functional.cross_entropy(out, labels[ids])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
net.eval()
with torch.no_grad():
    answer = net(torch.tensor(scaler.transform(x_test), dtype=torch.float32)).argmax(1)
print(accuracy_score(y_test, answer.numpy()))
"""

# name: (line to be changed, its new text, lines at which the divergence may be named, what it is of)
PLANTED = {
    "seed-of-torch": (16, "torch.manual_seed(6)", (17, 20, 27), "0.weight"),
    "seed-of-the-split": (12, 'x, x_test, y, y_test = train_test_split(table[names], table["y"], test_size=0.25, random_state=4)', (12, 13), "column a"),
    "size-of-the-split": (12, 'x, x_test, y, y_test = train_test_split(table[names], table["y"], test_size=0.3, random_state=3)', (12, 13), "rows"),
    "column-by-another-formula": (10, 'table["ratio"] = table["a"] / (table["b"].abs() + 2)', (10, 13), "column ratio"),
    "columns-in-another-order": (11, 'names = ["b", "a", "c", "ratio"]', (13,), "columns"),
    "rows-in-another-order": (9, 'table = pd.read_csv("rows.csv").iloc[::-1]', (9, 12, 13), "column a"),
    "fewer-rows": (9, 'table = pd.read_csv("rows.csv", nrows=300)', (9,), "rows"),
    "column-as-float32": (9, 'table = pd.read_csv("rows.csv", dtype={"c": "float32"})', (9,), "dtype of column c"),
    "scaler-without-mean": (13, "scaler = StandardScaler(with_mean=False).fit(x)", (13, 14, 23), "input"),
    "inputs-halved": (14, "rows = torch.tensor(scaler.transform(x), dtype=torch.float32) / 2", (14, 23), "input"),
    "inputs-rounded": (14, "rows = torch.tensor(scaler.transform(x), dtype=torch.float16).float()", (14, 23), "input"),
    "labels-turned": (15, "labels = 1 - torch.tensor(y.to_numpy())", (15, 24), "target"),
    "initialiser-of-the-head": (18, "head = nn.Linear(16, 2); nn.init.zeros_(head.weight)", (18, 20, 27), "3.weight"),
    "initialiser-of-the-body": (17, "body = nn.Linear(4, 16); body.weight.data.mul_(1.01)", (17, 20, 27), "0.weight"),
    "another-activation": (19, "net = nn.Sequential(body, nn.LeakyReLU(0.3), nn.Dropout(0.0), head)", (19, 23, 18), "3"),
    "dropout": (19, "net = nn.Sequential(body, nn.ReLU(), nn.Dropout(0.5), head)", (19, 23, 18), "3"),
    "another-rate": (20, "optimizer = torch.optim.Adam(net.parameters(), lr=0.011)", (20, 27), "lr"),
    "weight-decay": (20, "optimizer = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=0.1)", (20, 27), "weight_decay"),
    "smoothed-loss": (24, "        loss = nn.functional.cross_entropy(out, labels[ids], label_smoothing=0.1)", (24, 26), "loss"),
    "scaled-loss": (26, "        (2 * loss).backward()", (26,), "loss"),
    "clipped-gradients": (26, "        loss.backward(); nn.utils.clip_grad_norm_(net.parameters(), 0.01)", (26, 27, 18, 17), "gradient"),
    "score-of-other-rows": (31, "print(accuracy_score(y_test[:-20], answer.numpy()[:-20]))", (31,), "accuracy_score"),
}
SAME = {"nothing": BASE, "other-threads": BASE.replace("torch.manual_seed(5)", "torch.set_num_threads(2); torch.manual_seed(5)")}


def changed(line: int, text: str) -> str:
    """The program with one line replaced."""
    lines = BASE.splitlines()
    lines[line - 1] = text
    return "\n".join(lines) + "\n"


def watched(folder: str, text: str, home: str) -> None:
    """Run a program in this process, watched."""
    import runpy

    import sabueso

    os.chdir(folder)
    Path("program.py").write_text(text)
    sys.argv, sys.path[0] = ["program.py"], folder
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit), sabueso.watch(quiet=True, dir=home):
        runpy.run_path("program.py", run_name="__main__")
    os._exit(0)


def run(folder: Path, name: str, text: str) -> Path:
    """The run folder of a program."""
    home = folder / "runs" / name
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["sabueso.wiring", "numpy", "pandas", "torch", "sklearn.metrics", "sklearn.model_selection", "sklearn.preprocessing"])
    child = context.Process(target=watched, args=(str(folder), text, str(home)))
    child.start()
    child.join()
    return next(home.glob("*/run.json")).parent


def data(folder: Path) -> None:
    """A table that can be learnt from."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(400, 3)), columns=list("abc"))
    table.assign(y=((table["a"] - table["b"] + 0.3 * rng.normal(size=400)) > 0).astype(int)).to_csv(folder / "rows.csv", index=False)


def main(names: list[str]) -> None:
    """One line a copy, the sum last."""
    from sabueso.commands.probe import compared

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        data(folder)
        base = run(folder, "base", BASE)
        good = explained = count = 0
        for name, (line, text, lines, of) in PLANTED.items():
            if names and name not in names:
                continue
            found = compared(base, run(folder, name, changed(line, text)))
            first = found.form if found.form is not None and found.first is None else found.first
            right = first is not None and first.place.line in lines and of in first.what
            why = any(f":{line} " in e.says for e in found.explanations[:2])
            count, good, explained = count + 1, good + right, explained + why
            told = f"{first.what} at line {first.place.line}, step {first.place.step}" if first is not None else "none"
            print(f"{'ok' if right else 'MISS':<5}{name:<28}{told:<70}{'' if why else 'not explained'}", flush=True)
        for name, text in SAME.items() if not names else ():
            found = compared(base, run(folder, name, text))
            print(f"{'ok' if found.first is None else 'MISS':<5}{name:<28}{found.first.what if found.first else 'no divergence'}")
        print(f"\nfirst divergence exact in {good} of {count}, the changed line among the first two explanations in {explained}")


if __name__ == "__main__":
    main(sys.argv[1:])
