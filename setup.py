"""The native module is optional: without a compiler the install succeeds and the fall-backs in Python serve."""

import sys

from setuptools import Extension, setup

# The kernel tells finite from non-finite by bits, so the optimiser may take numbers as finite and reorder sums: only then do the loops vectorise.
FLAGS = [
    "-O3",
    "-fno-math-errno",
    "-fassociative-math",
    "-fno-signed-zeros",
    "-fno-trapping-math",
    "-ffinite-math-only",
    "-fno-strict-aliasing",
]

setup(
    ext_modules=[
        Extension(
            "sabueso._native",
            sources=[f"src/sabueso/native/{name}.c" for name in ("module", "around", "guard", "log", "reader", "stack", "statistics")],
            depends=["src/sabueso/native/native.h", "src/sabueso/native/statistics.h"],
            extra_compile_args=[] if sys.platform == "win32" else FLAGS,
            optional=True,
        )
    ]
)
