"""Healthy trainings of unusual kinds, each run under sabueso: prints one table of the culprits said, which should be none.

    python bench/healthy.py [NAME ..]

Each learns what it is meant to (checked by its own last line), though a naive rule on losses, gradients or units would bark.
"""

from __future__ import annotations

import sys

from programs import healthy, healthy_loops, healthy_models
from watched import diagnosis_of

PROGRAMS = {**healthy.PROGRAMS, **healthy_models.PROGRAMS, **healthy_loops.PROGRAMS}


def main(names: list[str]) -> int:
    loud = 0
    print(f"{'program':24}{'its own last line':44}culprits")
    for name in names or PROGRAMS:
        told, line = diagnosis_of(healthy.HEAD + PROGRAMS[name])
        said = [f"{c['check']} ({c['severity']}, {c['confidence']}): {c['says'][:100]}" for c in told["culprits"]]
        said += [f"own error: {e['error'].strip().splitlines()[-1]}" for e in told["own_errors"]]
        loud += bool(said)
        print(f"{name:24}{line[:42]:44}{'; '.join(said) or '-'}", flush=True)
    print(f"{len(names or PROGRAMS)} programs, {loud} accused")
    return loud


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
