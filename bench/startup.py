"""What `sabueso run` costs a program before and after its own time: wall seconds of an empty script and of one that imports numpy,
bare and watched in turn, medians. Bar: 0.35 s over bare Python for the empty script.

    python bench/startup.py [ROUNDS]
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAMS = {"empty": "", "numpy": "import numpy\n", "two seconds": "import time\ntime.sleep(2)\n"}
BAR = 0.35


def seconds(command: list[str], folder: str) -> float:
    began = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def main(rounds: int) -> None:
    print(f"{'program':12} {'bare s':>8} {'watched s':>10} {'more s':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for name, source in PROGRAMS.items():
            Path(folder, "prog.py").write_text(source)
            taken: dict[str, list[float]] = {"bare": [], "watched": []}
            for _ in range(rounds):
                taken["bare"].append(seconds([sys.executable, "prog.py"], folder))
                taken["watched"].append(seconds([sys.executable, "-m", "sabueso", "run", "prog.py"], folder))
            bare, watched = (statistics.median(taken[k]) for k in ("bare", "watched"))
            over = "  above the bar" if name == "empty" and watched - bare > BAR else ""
            print(f"{name:12} {bare:8.3f} {watched:10.3f} {watched - bare:8.3f}{over}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
