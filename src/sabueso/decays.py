"""Decays: how a penalty on the weights that is too strong is told where a library that takes no steps of ours to see has fitted them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .events import Fact
from .findings import Finding

NOTHING = 0.25  # of the norm of the weights


def by_alpha(decayed: list[Fact], left: float, share: float = 0.1, pull: float = 0.01, more: float = 1.05, least: float = 4.0) -> Iterator[Finding]:
    """A network of scikit-learn. Several values of alpha that one line tries are a search; of weights that are gone the penalty is small again."""
    for fact in decayed:
        tried = {f["alpha"] for f in decayed if f.process == fact.process and (f.place.file, f.place.line) == (fact.place.file, fact.place.line)}
        kept = float(np.median(fact["left"]))
        strong = fact["penalty"] >= share * fact["loss"] or kept <= NOTHING and fact["alpha"] >= pull * fact["batch"]
        if len(tried) > 1 or kept > left or not strong or fact.get("errors", 0.0) < least:
            continue
        if fact["mine"] < more * fact["linear"]:
            continue
        what = "share of its training rows that it answers wrongly" if fact["classes"] else "mean squared error on its own training rows"
        evidence = [
            ("alpha", fact["alpha"], f"{fact['alpha'] / fact['rows']:.1g} or less"),
            ("norm of the median weight matrix, by what its initialiser gives it", kept, "0.5 or more"),
            ("alpha by the rows of a step: what a step of rate 1 takes off each weight", fact["alpha"] / fact["batch"], "below 0.01"),
            (what, fact["mine"], f"below {fact['linear']:.4g}, that of least squares on rows held out"),
        ]
        says = f"alpha={fact['alpha']:g}, divided by {fact['batch']} rows a step, shrank the weights to {100 * kept:.2g} % of their norm: "
        says += "the network fits its own rows worse than a straight line does"
        remedy = f"set alpha={max(fact['alpha'] / fact['rows'], 1e-5):.1g} (a sum over all rows has to be divided by them)"
        yield Finding(says, fact.place, evidence, remedy, confidence=0.92, verified="fact")
        return
