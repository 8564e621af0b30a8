"""Watching changes nothing: results to the bit, random streams, output, exceptions; an error of ours never reaches the program."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from programs import diagnosed, forked, sabueso, watched

import sabueso as package

END = """
import hashlib, pickle, random
import numpy as _np
def digest(*arrays):
    h = hashlib.sha256()
    for a in arrays:
        h.update(_np.ascontiguousarray(a).tobytes())
    return h.hexdigest()
def streams():
    said = [random.random(), _np.random.random(), _np.random.default_rng(0).random()]
    import sys
    if "torch" in sys.modules:
        import torch
        said.append(torch.rand(3).tolist())
        said.append(digest(torch.get_rng_state().numpy()))
    return said
"""
SEEDED = "import random, numpy\nrandom.seed(7); numpy.random.seed(7)\n"
PROGRAMS = {
    "torch-loop": """
        import torch
        from torch import nn
        torch.manual_seed(3)
        x, y = torch.randn(256, 8), torch.randint(0, 3, (256,))
        model = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 3))
        opt = torch.optim.Adam(model.parameters(), lr=1e-2)
        sched = torch.optim.lr_scheduler.StepLR(opt, 2)
        loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=16, shuffle=True)
        for epoch in range(4):
            for a, b in loader:
                opt.zero_grad()
                loss = nn.functional.cross_entropy(model(a), b)
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                opt.step()
            sched.step()
        model.eval()
        with torch.no_grad():
            out = model(x)
        print(digest(out.numpy(), *[p.detach().numpy() for p in model.parameters()]), loss.item())
        """,
    "torch-nonfinite": """
        import torch
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        x = torch.randn(64, 4)
        x[17, 2] = float("inf")
        for step in range(12):
            rows = torch.randperm(64)[:16]
            loss = torch.nn.functional.dropout(model(x[rows]), 0.2).pow(2).mean()
            opt.zero_grad(); loss.backward(); opt.step()
            print(step, loss.item())
        print(digest(*[p.detach().numpy() for p in model.parameters()]))
        """,
    "torch-closure": """
        import torch
        torch.manual_seed(1)
        w = torch.nn.Parameter(torch.randn(5))
        x, y = torch.randn(50, 5), torch.randn(50)
        opt = torch.optim.LBFGS([w], max_iter=5)
        def closure():
            opt.zero_grad()
            loss = ((x @ w - y) ** 2).mean()
            loss.backward()
            return loss
        for _ in range(3):
            print(opt.step(closure).item())
        g = torch.autograd.grad(((x @ w) ** 2).sum(), w, create_graph=True)[0]
        print(digest(w.detach().numpy(), torch.autograd.grad(g.sum(), w)[0].numpy()))
        """,
    "torch-workers": """
        import torch
        from torch.utils.data import DataLoader, Dataset
        class Rows(Dataset):
            def __len__(self):
                return 40
            def __getitem__(self, n):
                return torch.rand(3) + n
        if __name__ == "__main__":
            torch.manual_seed(5)
            print(digest(*[b.numpy() for b in DataLoader(Rows(), batch_size=8, num_workers=2, shuffle=True)]))
        """,
    "sklearn-pandas": """
        import numpy as np, pandas as pd
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        rng = np.random.default_rng(0)
        df = pd.DataFrame(rng.normal(size=(300, 5)), columns=list("abcde"))
        df["y"] = (df.a + df.b > 0).astype(int)
        df.loc[3, "c"] = np.nan
        df = df.merge(pd.DataFrame({"y": [0, 1], "z": [0.5, 0.7]}), on="y").dropna()
        np.random.seed(4)
        a, b, c, d = train_test_split(df.drop(columns="y"), df.y, test_size=0.3)
        model = make_pipeline(StandardScaler(), LogisticRegression()).fit(a, c)
        forest = RandomForestClassifier(20).fit(a, c)
        grid = GridSearchCV(model, {"logisticregression__C": [0.1, 1]}, cv=3).fit(a, c)
        print(digest(model.predict_proba(b), forest.predict_proba(b), cross_val_score(model, a, c)), grid.best_params_, a.index.tolist()[:5])
        """,
    "strict-warnings": """
        import warnings
        warnings.simplefilter("error")
        import numpy as np
        np.seterr(all="raise")
        import pandas as pd
        from sklearn.linear_model import LogisticRegression
        from sklearn.preprocessing import StandardScaler
        df = pd.DataFrame({"a": np.linspace(0, 1, 60), "b": np.full(60, 1e300), "c": ["x", "y", "z"] * 20, "y": [0, 1] * 30})
        df["a"] = df["a"].astype("float32")
        x = StandardScaler().fit_transform(df[["a"]])
        print(digest(LogisticRegression().fit(x, df.y).predict_proba(x)), df.drop_duplicates().shape)
        """,
    "numpy-only": """
        import numpy as np
        np.random.seed(0)
        a = np.random.randn(50, 50)
        print(digest(np.linalg.svd(a)[1]), a.sum())
        """,
    "crash": """
        import numpy as np
        import torch
        a = torch.nn.Linear(3, 2)
        def f(x):
            return a(x)
        f(torch.ones(2, 4))
        """,
}


def compared(source: str, folder: Path, *before: str) -> tuple[subprocess.CompletedProcess[str], subprocess.CompletedProcess[str]]:
    """The program bare and watched, each in a folder of its own name, so that no path differs."""
    done = []
    for command in ([sys.executable], [sys.executable, "-m", "sabueso", "run"]):
        shutil.rmtree(folder / "w", ignore_errors=True)
        (folder / "w").mkdir()
        (folder / "w" / "prog.py").write_text(END + textwrap.dedent(source) + ("\nif __name__ == '__main__':\n    print(streams())\n"))
        env = {**os.environ, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
        done.append(subprocess.run([*command, *before, "prog.py"], cwd=folder / "w", capture_output=True, text=True, env=env, timeout=120))
    return done[0], done[1]


def told_by_the_program(text: str) -> str:
    """stderr without our report, which comes last and begins with its rule or its name."""
    return re.split(r"(?m)^(?:sabueso: |─{10})", text)[0]


@pytest.mark.parametrize("name", PROGRAMS)
def test_bit_equal(name: str, tmp_path: Path) -> None:
    bare, seen = compared((SEEDED if name != "crash" else "") + textwrap.dedent(PROGRAMS[name]), tmp_path)
    assert bare.stdout == seen.stdout
    assert bare.returncode == seen.returncode
    assert bare.stderr == told_by_the_program(seen.stderr)
    assert name == "crash" or bare.returncode == 0, bare.stderr
    runs = str(tmp_path / "w" / ".sabueso/runs")
    assert package.open(dir=runs).names() or name == "numpy-only", "the program was watched"


def adapters() -> list[str]:
    from sabueso.adapters import names

    return names()


BREAKING = """
from sabueso.capture.recorder import Recorder
def _fail(*a, **k):
    raise RuntimeError("planted")
for _n in ("fact", "points", "point", "profile", "series", "here"):
    setattr(Recorder, _n, _fail)
"""


@pytest.mark.parametrize("name", ["torch-loop", "torch-nonfinite", "sklearn-pandas", "torch-workers"])
def test_an_error_planted_in_every_hook_never_reaches_the_program(name: str, tmp_path: Path) -> None:
    """All that hooks call to record fails; the program neither sees it nor changes."""
    planted = "try:\n" + textwrap.indent(BREAKING, "    ") + "\nexcept ImportError:\n    pass\n"
    bare, seen = compared(planted + SEEDED + textwrap.dedent(PROGRAMS[name]), tmp_path)
    assert bare.returncode == seen.returncode == 0, seen.stderr
    assert bare.stdout == seen.stdout
    assert "planted" not in told_by_the_program(seen.stderr)


@pytest.mark.parametrize("adapter", adapters())
def test_an_adapter_that_can_not_be_installed_stays_asleep(adapter: str, tmp_path: Path) -> None:
    """Each adapter in turn fails at its installation: it is told as our own error, and the program runs as ever."""
    (tmp_path / "prog.py").write_text(
        textwrap.dedent(f"""
            import sabueso, sabueso.adapters.{adapter} as broken
            def fail(recorder):
                raise RuntimeError("planted")
            broken.install = fail
            with sabueso.watch(quiet=True) as told:
                import torch, pandas
                from sklearn.linear_model import LogisticRegression
                model = torch.nn.Linear(2, 1)
                opt = torch.optim.SGD(model.parameters(), lr=0.1)
                for _ in range(3):
                    opt.zero_grad(); model(torch.ones(4, 2)).mean().backward(); opt.step()
                print(LogisticRegression().fit([[0.0], [1.0]], [0, 1]).predict([[2.0]]))
            print(*(e['adapter'] + ' ' + e['error'] for e in told.diagnosis.own_errors), sep='\\n')
        """)
    )
    said, _, errors = forked(tmp_path / "prog.py").partition("\n")
    assert said == "[1]"
    assert all(e.startswith(adapter) and "planted" in e for e in errors.split("\n") if e), errors
    assert errors.strip() or adapter not in ("torch", "pandas", "sklearn", "sklearn_calls")


def test_a_disk_that_is_full_from_the_start(tmp_path: Path) -> None:
    """The log can't be made: nothing is recorded, nothing is said by the program, and it runs."""
    (tmp_path / "prog.py").write_text("import torch\nprint(torch.nn.Linear(2, 1)(torch.ones(1, 2)).shape)\n")
    hook = "import resource, signal, os, sys\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nresource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))\n"
    command = [sys.executable, "-c", hook + "os.execv(sys.executable, [sys.executable, '-m', 'sabueso', 'run', 'prog.py'])"]
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=env, timeout=60)
    assert done.returncode == 0 and done.stdout == "torch.Size([1, 1])\n" and "Traceback" not in done.stderr


def test_undo_leaves_no_trace(tmp_path: Path) -> None:
    """Attributes that adapters replace are the very objects they were once watching is over."""
    (tmp_path / "prog.py").write_text(
        textwrap.dedent("""
            import sys
            import pandas, sklearn.linear_model, torch, torch.utils.data, sklearn.model_selection, sklearn.metrics
            import sabueso
            def snapshot():
                owners = [torch, torch.Tensor, torch.nn.Module, torch.optim.Optimizer, torch.optim.SGD, torch.autograd, torch.nn.functional,
                          torch.utils.data.DataLoader, pandas, pandas.DataFrame, pandas.Series, sklearn.base.BaseEstimator,
                          sklearn.linear_model.LogisticRegression, sklearn.model_selection, sklearn.metrics, sys, sys.modules["builtins"]]
                return {(repr(o), n): id(v) for o in owners for n, v in list(vars(o).items()) if n not in ("last_value", "last_type", "last_traceback")}
            def work():
                model = torch.nn.Linear(2, 1)
                opt = torch.optim.SGD(model.parameters(), lr=0.1)
                model(torch.ones(4, 2)).mean().backward(); opt.step()
                sklearn.linear_model.LogisticRegression().fit([[0.0], [1.0]], [0, 1])
            work()
            before = snapshot()
            with sabueso.watch(quiet=True):
                work()
            after = snapshot()
            print(sorted(k for k in before.keys() | after.keys() if before.get(k) != after.get(k) and not k[1].startswith("__")))
        """)
    )
    done = subprocess.run([sys.executable, "prog.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_no_own_error_on_ordinary_programs(tmp_path: Path) -> None:
    for name in ("torch-loop", "sklearn-pandas"):
        (tmp_path / "prog.py").write_text(END + textwrap.dedent(PROGRAMS[name]))
        assert not diagnosed("prog.py", tmp_path)["own_errors"]


CRASHES = {
    "in-a-layer": ("nn.Linear(16, 3)", "torch.cat([self.b(h), x.view(3 + self.n, 5)]) if self.n else self.b(h)", "torch.zeros(4).long()"),
    "in-the-loss": ("nn.Linear(16, 3)", "self.b(h)", "torch.zeros(4 + net.n).long()"),
    "at-once": ("nn.Linear(12, 3)", "self.b(h)", "torch.zeros(4).long()"),
}


@pytest.mark.parametrize("case", CRASHES)
def test_traceback_of_a_crash_in_a_watched_step_is_the_same(case: str, tmp_path: Path) -> None:
    """Torch calls modules and functions by other ways while they are watched; the traceback tells the way of a bare run."""
    last, result, target = CRASHES[case]
    script = tmp_path / "crash.py"
    script.write_text(
        textwrap.dedent(f"""
        import torch
        from torch import nn
        class Net(nn.Module):
            n = -1
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(8, 16), {last}
            def forward(self, x):
                self.n += 1
                h = torch.relu(self.a(x))
                return {result}
        net = Net()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            loss = nn.functional.cross_entropy(net(torch.randn(4, 8)), {target})
            opt.zero_grad(); loss.backward(); opt.step()
        """)
    )
    bare = subprocess.run([sys.executable, "crash.py"], cwd=tmp_path, capture_output=True, text=True)
    seen = sabueso("run", "crash.py", cwd=tmp_path)
    assert bare.returncode == seen.returncode == 1
    assert seen.stderr.startswith(bare.stderr), seen.stderr


CHECKPOINTED = """
import torch
from pathlib import Path
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(7)
digits = load_digits()
order = torch.randperm(len(digits.target))
x, y = (torch.tensor(digits.data, dtype=torch.float32) / 16)[order], torch.tensor(digits.target)[order]
x, y, xt, yt = x[:1400], y[:1400], x[1400:], y[1400:]
blocks, head = nn.ModuleList(nn.Sequential(nn.Linear(64, 64), nn.GELU()) for _ in range(3)), nn.Linear(64, 10)
opt = torch.optim.Adam([*blocks.parameters(), *head.parameters()], lr=2e-3)
for ids in torch.randperm(len(x)).split(64):
    h = x[ids]
    for b in blocks:
        h = checkpoint(b, h, use_reentrant=False)
    loss = nn.functional.cross_entropy(head(h), y[ids])
    opt.zero_grad()
    loss.backward()
    opt.step()
Path("done").touch()
"""


def test_no_operation_of_ours_is_part_of_the_programs_graph(tmp_path: Path) -> None:
    """Checkpointing counts the tensors that forward and recomputation save: one of ours among them would end the program."""
    (tmp_path / "program.py").write_text(CHECKPOINTED)
    diagnosis = watched(tmp_path / "program.py")
    assert (tmp_path / "done").exists()
    assert not diagnosis["own_errors"]
