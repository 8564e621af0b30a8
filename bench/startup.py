"""What `sabueso run` costs a program before and after its own time: wall and CPU seconds (all processes), bare and watched in turn, medians.

Bar: 0.35 s of wall over bare Python for the empty script, on a machine that is not busy; modules are compiled once before.

    python bench/startup.py [ROUNDS]
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAMS = {"empty": "", "numpy": "import numpy\n", "two seconds": "import time\ntime.sleep(2)\n"}
BAR = 0.35


def seconds(command: list[str], folder: str) -> tuple[float, float]:
    """(wall, CPU) of one run."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(rounds: int) -> None:
    print(f"{'program':12} {'bare s':>8} {'watched s':>10} {'more s':>8} {'more CPU s':>11}")
    with tempfile.TemporaryDirectory() as folder:
        for name, source in PROGRAMS.items():
            Path(folder, "prog.py").write_text(source)
            commands = {"bare": [sys.executable, "prog.py"], "watched": [sys.executable, "-m", "sabueso", "run", "prog.py"]}
            taken: dict[str, list[tuple[float, float]]] = {k: [] for k in commands}
            for turn in range(rounds + 1):
                for k, command in commands.items():
                    held = seconds(command, folder)
                    if turn:  # the first one compiles
                        taken[k].append(held)
            (bare, bare_cpu), (watched, cpu) = (map(statistics.median, zip(*taken[k])) for k in commands)
            over = "  above the bar" if name == "empty" and watched - bare > BAR else ""
            print(f"{name:12} {bare:8.3f} {watched:10.3f} {watched - bare:8.3f} {cpu - bare_cpu:11.3f}{over}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
