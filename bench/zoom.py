"""The zoom-in measured: is what it names exact, and what does it cost?

    python bench/zoom.py [named] [cost] [--only NAME,..]

`named` runs each of the planted operations (programs/planted.py) and asks whether the operation, the module, the line and the rows are the
planted ones, and that nothing is said where non-finite values are made on purpose. `cost` trains the loops of overhead.py, plants a root at 0 in one
backward pass, and prints the time from that step to the named operation in plain steps, beside what `torch.autograd.detect_anomaly`
costs every step and whether it names the line.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from programs.planted import HEAD, HEALTHY, PLANTED, Planted
from watched import diagnosis_of

STEPS = {"mlp": 120, "cnn": 60, "transformer": 20}
SMALL, LARGE = 16, 3  # steps that it may take to name the operation


def guilty(source: str) -> int | None:
    return next((n for n, line in enumerate(source.splitlines(), 1) if line.rstrip().endswith("# <-")), None)


def judge(planted: Planted, line: int | None, told: dict[str, Any]) -> list[str]:
    """What is not as planted."""
    wrong = [f"own error {e['adapter']}: {e['error'].strip().splitlines()[-1]}" for e in told["own_errors"]]
    if not told["culprits"]:
        return ["no culprit", *wrong]
    first = told["culprits"][0]
    place = first["place"]
    rows = place.get("row")
    rows = tuple(rows) if isinstance(rows, list) else () if rows is None else (rows,)
    if first["check"] not in planted.check.split("|"):
        wrong.append(f"check {first['check']}")
    if not first["says"].startswith(tuple(planted.operation.split("|"))):
        wrong.append(f"says {first['says'][:90]}")
    if planted.module is not None and place.get("module") != planted.module:
        wrong.append(f"module {place.get('module')}")
    if line is not None and place.get("line") != line:
        wrong.append(f"line {place.get('line')}, not {line}")
    if planted.rows is not None and rows != planted.rows:
        wrong.append(f"rows {rows[:6]}")
    if planted.column is not None and place.get("column") != planted.column:
        wrong.append(f"column {place.get('column')}")
    if planted.check == "nonfinite-loss" and "to the last bit" not in str(first["verified"]):
        wrong.append(f"verified {first['verified']}")
    return wrong


def named(only: list[str]) -> int:
    """Every planted operation, and the healthy ones beside them."""
    missed = 0
    for name, planted in PLANTED.items():
        if only and name not in only:
            continue
        source = HEAD + planted.program
        told, last = diagnosis_of(source)
        wrong = judge(planted, guilty(source), told)
        missed += bool(wrong)
        print(f"{name:28}{'exact' if not wrong else 'NOT ' + '; '.join(wrong)}" + (f"  [{last}]" if last.startswith("raised") else ""), flush=True)
    for name, program in HEALTHY.items():
        if only and name not in only:
            continue
        told, _ = diagnosis_of(HEAD + program)
        said = [f"{c['check']}: {c['says'][:80]}" for c in told["culprits"]] + [e["error"][-200:] for e in told["own_errors"]]
        missed += bool(said)
        print(f"{name:28}{'silent' if not said else 'NOT ' + '; '.join(said)}", flush=True)
    return missed


BAD = 12  # the step in whose backward pass a root at 0 has no slope
ANOMALY = "torch.autograd.set_detect_anomaly(True)"
TIMED = """
import json, time, torch, warnings
import traceback
warnings.simplefilter("always")
from overhead import cnn, mlp, transformer
torch.set_num_threads(1)
work, spent, line = {name}(), [], None
plain = work.loss
def planted(out, y):
    first = out.flatten(1)[:2].sum(1)
    return plain(out, y) + (first - first.detach()).square().sqrt().sum()  # <-
{anomaly}
for step in range({steps}):
    if step == {bad}:
        work.loss = planted
    began = time.process_time()
    try:
        work.step()
    except RuntimeError as error:
        break
    spent.append(time.process_time() - began)
    if step == {bad}:
        break
print(json.dumps(spent))
"""


def timed(name: str, bad: int, anomaly: bool) -> tuple[list[float], dict[str, Any], bool, bool]:
    """Seconds of each step (the last is the planted one where there is one), what was said, and whether anomaly detection named the line."""
    here = os.path.dirname(os.path.abspath(__file__))
    source = TIMED.replace("{name}", name).replace("{steps}", str(STEPS[name])).replace("{bad}", str(bad)).replace("{anomaly}", ANOMALY if anomaly else "")
    line = guilty(source)
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "program.py"), "w") as f:
            f.write(source)
        env = {**os.environ, "PYTHONPATH": here}
        run = [sys.executable] if anomaly or bad < 0 else [sys.executable, "-m", "sabueso", "run", "--json", "out.json"]
        done = subprocess.run([*run, "program.py"], cwd=folder, env=env, capture_output=True, text=True)
        told = json.loads(open(os.path.join(folder, "out.json")).read()) if len(run) > 1 else {}
    named_line = f'program.py", line {line}' in done.stderr
    first = (told.get("culprits") or [{"place": {}}])[0]
    return json.loads(next(x for x in done.stdout.splitlines() if x.startswith("["))), told, named_line, first["place"].get("line") == line


def cost() -> int:
    """What it costs to know, in plain steps."""
    missed = 0
    print(f"\n{'loop':12}{'plain step':>12}{'to the operation':>18}{'exact':>7}   detect_anomaly: {'a step':>7}{'line':>6}")
    for name in STEPS:
        plain = statistics.median(timed(name, -1, False)[0][5:])
        spent, _, _, exact = timed(name, BAD, False)
        always = statistics.median(timed(name, -1, True)[0][5:])
        by_anomaly = timed(name, BAD, True)[2]
        steps = spent[-1] / plain - 1
        missed += not exact or steps > (LARGE if name == "transformer" else SMALL)
        print(
            f"{name:12}{plain * 1e3:9.2f} ms{steps:12.1f} steps{'yes' if exact else 'NO':>7}   {'':15}{always / plain:7.2f}x{'yes' if by_anomaly else 'NO':>6}",
            flush=True,
        )
    return missed


def main() -> int:
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("parts", nargs="*", default=["named", "cost"])
    parse.add_argument("--only", default="")
    given = parse.parse_args()
    missed = 0
    if "named" in given.parts:
        missed = named([n for n in given.only.split(",") if n])
    if "cost" in given.parts:
        missed += cost()
    return missed


if __name__ == "__main__":
    sys.exit(main())
