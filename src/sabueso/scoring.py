"""What confusion counts say: shares, recall, the majority's answer, and metrics reckoned from them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

ACCURACY = ("accuracy_score", "zero_one_loss", "hamming_loss")  # what the majority's answer satisfies


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts by (truth, answer)."""

    counts: dict[tuple[str, str], int]

    @classmethod
    def of(cls, triples: Iterable[Iterable[Any]] | None) -> Confusion | None:
        """From [truth, answer, count]; None for nothing."""
        found = {(str(t), str(p)): int(n) for t, p, n in triples or ()}
        return cls(found) if found else None

    @property
    def rows(self) -> int:
        return sum(self.counts.values())

    @property
    def truths(self) -> dict[str, int]:
        """Rows by true class."""
        found: dict[str, int] = {}
        for (t, _), n in self.counts.items():
            found[t] = found.get(t, 0) + n
        return found

    @property
    def accuracy(self) -> float:
        return sum(n for (t, p), n in self.counts.items() if t == p) / self.rows

    @property
    def majority(self) -> float:
        """The accuracy of always answering the most frequent class."""
        return max(self.truths.values()) / self.rows

    @property
    def rarest(self) -> str:
        return min(self.truths, key=lambda c: (self.truths[c], c))

    def recall(self, label: str) -> float:
        """Share of a class's rows that were answered so."""
        return self.counts.get((label, label), 0) / max(self.truths.get(label, 0), 1)

    def precision(self, label: str) -> float:
        """Share of a class's answers that are right."""
        answered = sum(n for (_, p), n in self.counts.items() if p == label)
        return self.counts.get((label, label), 0) / answered if answered else 0.0

    def f(self, label: str, beta: float = 1.0) -> float:
        """The F measure of a class."""
        p, r = self.precision(label), self.recall(label)
        return (1 + beta**2) * p * r / (beta**2 * p + r) if p + r else 0.0

    @property
    def balanced(self) -> float:
        """The mean recall of the classes."""
        return sum(self.recall(t) for t in self.truths) / len(self.truths)

    def renaming(self, least: int = 5, sure: float = 0.7, gain: float = 0.4) -> dict[str, str] | None:
        """{class: the class that is answered for it} where nearly every row is answered by one and the same other class, one to one.

        That is what two numberings of the same classes look like: after it `sure` of each class's rows are right, and `gain` more than before.
        """
        truths = {t: n for t, n in self.truths.items() if n >= least}
        tops = {t: max((n, p) for (other, p), n in self.counts.items() if other == t) for t in truths}
        named = {t: p for t, (_, p) in tops.items()}
        moved = sum(t != p for t, p in named.items())
        if len(truths) < 2 or len(set(named.values())) < len(named) or moved < 2 or not set(named.values()) <= set(self.truths):
            return None
        if moved < len(named) / 2:
            return named if all(self._exchanged(t, p, truths) for t, p in named.items() if t != p) else None
        right = sum(n for n, _ in tops.values()) / sum(truths.values())
        recalls = sorted(n / truths[t] for t, (n, _) in tops.items())
        if right < max(sure, self.accuracy + gain) or recalls[0] < 0.5 or len(truths) == 2 and right < 0.85:
            return None
        return named

    def _exchanged(self, label: str, answer: str, truths: dict[str, int], few: int = 20) -> bool:
        """Is a class answered by another one all but always, and by itself hardly ever? Classes that are alike are mixed up in part."""
        n = truths[label]
        return n >= few and self.counts.get((label, answer), 0) >= 0.75 * n and self.counts.get((label, label), 0) <= 0.1 * n

    def swapped(self) -> Confusion:
        """Truth and answer exchanged."""
        return Confusion({(p, t): n for (t, p), n in self.counts.items()})

    def score(self, metric: str, settings: dict[str, Any]) -> float | None:
        """A metric of sklearn's names from the counts, averaged over classes as its settings say; None where it can't be had."""
        if metric in ("accuracy_score", "balanced_accuracy_score"):
            return self.accuracy if metric == "accuracy_score" else self.balanced
        average = settings.get("average", "binary")
        of = {"precision_score": self.precision, "recall_score": self.recall, "f1_score": self.f,
              "fbeta_score": lambda c: self.f(c, float(settings.get("beta", 1.0)))}.get(metric)  # fmt: skip
        if of is None:
            return None
        classes = sorted({*self.truths, *(p for _, p in self.counts)})
        if average == "binary":
            positive = str(settings.get("pos_label", 1))
            return of(positive) if positive in classes else of(classes[-1]) if len(classes) == 2 else None
        if average == "macro":
            return sum(of(c) for c in classes) / len(classes)
        if average == "micro":
            return self.accuracy
        if average == "weighted":
            return sum(of(c) * n for c, n in self.truths.items()) / self.rows
        return None
