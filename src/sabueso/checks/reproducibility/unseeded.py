"""unseeded."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact, latest
from ...findings import Finding


@check(stage="reproducibility", severity="warning", interventions=("seeds set",))
def unseeded(split_drawn: list[Fact], torch_seed: list[Fact], *, small: int = 1000) -> Iterator[Finding]:
    """Neither the split of the data nor the training has a seed: two runs give two answers.

    What it means
    -------------
    The rows held out, the first weights, the order of batches and dropout all come from streams that start elsewhere in each run.

    Why it is bad
    -------------
    The score of one run cannot be compared with that of another: on few held-out rows the split alone moves it by several per cent, and
    no change to the program can be told from luck.

    Evidence
    --------
    A split drawn from NumPy's global stream, and weights from torch's, none of which was ever seeded; the held-out rows, and the spread
    that a score of 90 % has on so many. Threshold: fewer than 1,000 held-out rows: above, the split moves a score by less than one per
    cent.

    Remedy
    ------
    Seed all streams at the top of the program, and give the split a random_state.

    Fault
    -----
        import torch
        from sklearn.datasets import load_wine
        from sklearn.model_selection import train_test_split

        x, y = load_wine(return_X_y=True)
        a, b, ya, yb = train_test_split(x, y, test_size=0.4, stratify=y)  # sabueso: unseeded
        mean, std = a.mean(0), a.std(0)
        a, b = torch.tensor((a - mean) / std).float(), torch.tensor((b - mean) / std).float()
        net = torch.nn.Linear(13, 3)
        opt = torch.optim.Adam(net.parameters(), lr=0.05)
        for step in range(60):
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(a), torch.tensor(ya)).backward()
            opt.step()
        print((net(b).argmax(1) == torch.tensor(yb)).float().mean())

    Control
    -------
        import torch
        from sklearn.datasets import load_wine
        from sklearn.model_selection import train_test_split

        torch.manual_seed(0)
        x, y = load_wine(return_X_y=True)
        a, b, ya, yb = train_test_split(x, y, test_size=0.4, stratify=y, random_state=0)
        mean, std = a.mean(0), a.std(0)
        a, b = torch.tensor((a - mean) / std).float(), torch.tensor((b - mean) / std).float()
        net = torch.nn.Linear(13, 3)
        opt = torch.optim.Adam(net.parameters(), lr=0.05)
        for step in range(60):
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(a), torch.tensor(ya)).backward()
            opt.step()
        print((net(b).argmax(1) == torch.tensor(yb)).float().mean())

    Known limits
    ------------
    Only splits by scikit-learn are known as such; a program where one of the two has a seed is left alone.
    """
    free = [f for f in latest(torch_seed) if not f["seeded"] and f["drawn"] and f["steps"]]
    splits = [f for f in split_drawn if f.process in {g.process for g in free}]
    if not free or not splits or any(f["seeded"] for f in split_drawn):
        return
    first = splits[0]
    held = first["rows"][1] if len(first["rows"]) > 1 else None
    if held is None or held >= small:
        return
    spread = (0.9 * 0.1 / max(1, held)) ** 0.5
    yield Finding(
        says=f"no seed is set: the split into {first['rows'][0]} and {held} rows, the first weights and the order of batches differ in each run",
        place=first.place.but(stage="reproducibility", step=None),
        evidence=[
            ("seed of the stream that the split is drawn from", None, "a number"),
            ("seed of the stream that weights and batches are drawn from", None, "a number"),
            ("held-out rows", held, None),
            ("standard deviation of a score of 90 % on so many rows", round(spread, 3), None),
        ],
        remedy=f"set `torch.manual_seed(0)`, `np.random.seed(0)` and `random.seed(0)` before line {first.place.line}, "
        f"or pass random_state to {first['function']}",
        edit=("before", "torch.manual_seed(0)"),
        confidence=0.85,
        verified="fact",
    )
