"""oversample-before-split."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ... import row_uses
from ...catalogue import check
from ...events import Fact
from ...findings import Finding


@check(
    stage="preprocess",
    severity="error",
    leads_to=("split-overlap", "duplicate-rows", "tested-on-train", "class-imbalance"),
    interventions=("resampled within the training rows", "judged rows left out of the fit"),
)
def oversample_before_split(row_use: list[Fact], *, near_copies: list[Fact] | None = None, least: int = 5) -> Iterator[Finding]:
    """Rows were repeated or made up from others before the split, so that copies of one row stand on both sides.

    What it means
    -------------
    A resampler balanced the classes over the whole table; the split then sent copies (or mixtures) of a row to training and to evaluation.

    Why it is bad
    -------------
    The model is judged on rows that it has seen, all of the rare class, and on a base rate that will never be met: recall looks near perfect.

    Evidence
    --------
    Which rows the resampler drew from, how often training repeats rows beyond their table's count, and how many of the evaluation's rows
    have a copy or an offspring in training.

    Remedy
    ------
    Split first, resample the training part alone (with imbalanced-learn's own pipeline within cross-validation), judge on the real rate.

    Fault
    -----
        import numpy as np
        from sklearn.model_selection import train_test_split
        from sklearn.tree import DecisionTreeClassifier
        from sklearn.utils import resample
        rng = np.random.default_rng(0)
        X = rng.normal(size=(600, 4))
        y = (X[:, 0] + rng.normal(size=600) > 1).astype(int)
        more = resample(np.flatnonzero(y == 1), n_samples=300, random_state=0)
        rows = np.concatenate([np.flatnonzero(y == 0), more])
        a, b, c, d = train_test_split(X[rows], y[rows], random_state=0)  # sabueso: oversample-before-split
        print(DecisionTreeClassifier().fit(a, c).score(b, d))

    Control
    -------
        import numpy as np
        from sklearn.model_selection import train_test_split
        from sklearn.tree import DecisionTreeClassifier
        from sklearn.utils import resample
        rng = np.random.default_rng(0)
        X = rng.normal(size=(600, 4))
        y = (X[:, 0] + rng.normal(size=600) > 1).astype(int)
        a, b, c, d = train_test_split(X, y, random_state=0)
        more = resample(np.flatnonzero(c == 1), n_samples=200, random_state=0)
        rows = np.concatenate([np.flatnonzero(c == 0), more])
        print(DecisionTreeClassifier().fit(a[rows], c[rows]).score(b, d))

    References
    ----------
    imbalanced-learn, Common pitfalls and recommended practices: data leakage.
    """
    yield from (_noisy(f) for f in (near_copies or ())[:1])
    for pair in row_use:
        if not pair["supervised"]:
            continue
        known = [r for r in pair["resampled"] if r.get("extra_rows", 0) and (r["both"] >= least or (r["on_way"] and r["hits"] >= least))]
        repeated = row_uses.made_twice(pair) and pair["twice"] >= least and (pair.get("class_share") or 0) > 0.9
        repeated = repeated or one_class(pair)
        if known:
            r = max(known, key=lambda k: k["hits"])
            place = row_uses.at(r)
            says = f"{r['name']} made {r['extra_rows']} rows out of rows of which {r['hits']} are judged"
        elif repeated:
            place = row_uses.part_place(pair).but(stage="preprocess")
            says = f"The table repeats rows of one class only, and {pair['eval_twins']} of the judged rows have a copy in training; they are judged"
        else:
            continue
        evidence = [("rows judged with a copy or offspring in training", pair.get("eval_twins") or known[0]["hits"], 0),
                    ("rows judged", pair["eval_rows"], None), ("rows of the table that training repeats", pair.get("repeated_in_train", 0), 0)]  # fmt: skip
        if known:
            evidence.append(("rows added by the resampling", known[0]["extra_rows"], 0))
        yield Finding(
            says=f"{says} by {pair['model']} ({row_uses.where(pair['eval_line'])}): copies stand on both sides of the split.",
            place=place.but(row=row_uses.rows_of(pair)),
            evidence=evidence,
            remedy="Split first; resample the training part only, and leave the evaluation at its real rate.",
            confidence=0.96, verified="fact",
        )  # fmt: skip
        return


def one_class(pair: Fact) -> bool:
    """Are the rows that stand on both sides all of one class, many, and too rich to be equal by chance? A file that came twice repeats all classes."""
    need = 2 * np.log2(max(pair["train_rows"], 2)) + 10
    many = pair.get("eval_twins", 0) >= max(10, 0.05 * pair["eval_rows"]) and pair["shared"] < 0.95 * pair["eval_distinct"]
    return bool(many and (pair.get("class_share") or 0) > 0.97 and pair.get("twin_bits", 0) >= need and pair["how"] != "folds")


def _noisy(fact: Fact) -> Finding:
    """Copies with a little noise, made of all rows before the cut."""
    return Finding(
        says=f"{fact['share']:.0%} of the {fact['rows']} rows judged by {fact['model']} have a copy in training that differs by a trifle and has the very "
             "same label: rows were multiplied with noise before the split.",
        place=fact.place.but(row=fact["row_numbers"] or None, stage="preprocess"),
        evidence=[("judged rows with a near copy in training, share", fact["share"], 0.0),
                  ("of these with the copy's very label, share", fact["same"], None),
                  ("distance of the copy by that of the 24th nearest training row", fact["ratio"], "about 0.5")],
        remedy="Split first; make the noisy copies of the training part only.", confidence=0.88, verified="fact",
    )  # fmt: skip
