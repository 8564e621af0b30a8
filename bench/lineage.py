"""What watching the rows costs a pipeline of pandas and scikit-learn: CPU seconds of all processes and peak memory, bare and watched in turn, medians.

Bars: 0.4 CPU s and 40 MB more for 100,000 rows of 50 columns, and at most 1.05 times bare where that takes more than 10 s (the line "long").
The line "start-up" is what an import of the same libraries costs more by itself. On a busy machine both sides cost more, and the difference too.

    python bench/lineage.py [ROUNDS] [PROGRAM ..]
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

BAR, BAR_MB, BAR_TIMES, LONG = 0.4, 40, 1.05, 10.0
IMPORTS = """
import numpy as np, pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
"""
TABLE = """
rng = np.random.default_rng(7)
values = rng.normal(size=(100_000, 50))
frame = pd.DataFrame(values, columns=[f"f{i:02d}" for i in range(50)])
label = (values[:, :5].sum(axis=1) + rng.normal(size=len(values)) > 0).astype(int)
"""
PIPELINE = """
model = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(max_iter=200))
model.fit(X_train, y_train)
predicted = model.predict(X_test)
print(model.score(X_test, y_test), (predicted == y_test).mean())
"""
SPLIT = "X_train, X_test, y_train, y_test = train_test_split(frame.drop(columns='label'), frame['label'], test_size=0.2, random_state=3)\n"
STEPS = """
X_train, X_test, y_train, y_test = train_test_split(values, label, test_size=0.2, random_state=3)
imputer, scaler = SimpleImputer().fit(X_train), StandardScaler()
Z_train = scaler.fit_transform(imputer.transform(X_train))
Z_test = scaler.transform(imputer.transform(X_test))
model = LogisticRegression(max_iter=200).fit(Z_train, y_train)
print(model.score(Z_test, y_test), (model.predict(Z_test) == y_test).mean())
"""
PROGRAMS = {
    "start-up": IMPORTS,
    "frame": IMPORTS + TABLE + "frame['label'] = label\n" + SPLIT + PIPELINE,
    "gaps dropped": IMPORTS + TABLE + "frame = frame.mask(rng.random(frame.shape) < 0.001).dropna()\nframe['label'] = label[frame.index]\n" + SPLIT + PIPELINE,
    "arrays": IMPORTS + TABLE + STEPS,
    "long": IMPORTS + TABLE + "frame['label'] = label\n" + SPLIT + PIPELINE.replace("LogisticRegression(max_iter=200)", "RandomForestClassifier(25)"),
    "read": IMPORTS + "frame = pd.read_csv('table.csv')\n" + SPLIT + PIPELINE,
}
WRITE = IMPORTS + TABLE + "frame['label'] = label\nframe.round(5).to_csv('table.csv', index=False)\n"


def spent(command: list[str], folder: str) -> tuple[float, float]:
    """(CPU seconds of a command and of all that it started, MB of the largest of them), by the kernel's account of the waited-for child."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    child = subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise RuntimeError(f"{command} ended with status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main(rounds: int, chosen: list[str]) -> None:
    print(f"{'program':14} {'bare CPU s':>11} {'watched':>9} {'more':>7} {'without start-up':>17} {'MB more':>9}")
    startup = 0.0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-c", WRITE], cwd=folder, check=True)
        for name, source in PROGRAMS.items():
            if chosen and name not in chosen:
                continue
            Path(folder, "prog.py").write_text(source)
            commands = {"bare": [sys.executable, "prog.py"], "watched": [sys.executable, "-m", "sabueso", "run", "prog.py"]}
            taken: dict[str, list[tuple[float, float]]] = {k: [] for k in commands}
            for turn in range(rounds + 1):
                for k, command in commands.items():
                    held = spent(command, folder)
                    if turn:  # the first one compiles
                        taken[k].append(held)
            (bare, bare_mb), (watched, mb) = (map(statistics.median, zip(*taken[k])) for k in commands)
            more = watched - bare
            startup = more if name == "start-up" else startup
            above = watched > BAR_TIMES * bare if bare > LONG else more - startup > BAR
            marks = ("  above the bar" if above else "") + ("  more memory than the bar" if mb - bare_mb > BAR_MB else "")
            print(f"{name:14} {bare:11.2f} {watched:9.2f} {more:7.2f} {more - startup:17.2f} {mb - bare_mb:9.0f}{marks}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5, sys.argv[2:])
