"""duplicate-augmentation."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact
from ...findings import Finding


@check(stage="preprocess", severity="error", leads_to=("overfitting", "covariate-drift", "preprocess-skew"), interventions=("seeds varied", "workers 0"))
def duplicate_augmentation(sample_seed: list[Fact]) -> Iterator[Finding]:
    """Every sample is augmented with the same random numbers.

    What it means
    -------------
    A generator with a fixed seed is made (or a stream seeded) for each sample, so that each gets the same shift, crop and noise, in every
    epoch.
    Why it is bad
    -------------
    There is no augmentation: the model sees one variant and fails on any other.
    Evidence
    --------
    The seed that was set while samples were made, and for how many different ones: told from 20 on, for a shuffled loader. Not told where
    a loader in fixed order does the same, as for a fixed permutation of the inputs.
    Remedy
    ------
    Make the generator once, or seed it with the sample's number and the epoch.
    Fault
    -----
        import numpy as np
        import torch
        from torch.utils.data import DataLoader, Dataset

        class Noisy(Dataset):
            def __len__(self):
                return 60

            def __getitem__(self, k):
                rng = np.random.default_rng(7)  # sabueso: duplicate-augmentation
                return torch.from_numpy(rng.normal(size=3).astype("float32")) + k

        torch.manual_seed(0)
        for _ in range(2):
            for x in DataLoader(Noisy(), batch_size=10, shuffle=True):
                pass
    Control
    -------
        import numpy as np
        import torch
        from torch.utils.data import DataLoader, Dataset

        class Noisy(Dataset):
            def __len__(self):
                return 60

            def __getitem__(self, k):
                rng = np.random.default_rng((7, k))
                return torch.from_numpy(rng.normal(size=3).astype("float32")) + k

        torch.manual_seed(0)
        for _ in range(2):
            for x in DataLoader(Noisy(), batch_size=10, shuffle=True):
                pass
    References
    ----------
    PyTorch, Reproducibility: generators of a data loader.
    """
    ordered = {(f.place.file, f.place.line, str(f["seed"])) for f in sample_seed if not f["shuffled"]}
    for fact in [f for f in sample_seed if f["shuffled"] and (f.place.file, f.place.line, str(f["seed"])) not in ordered][:1]:
        says = f"{fact['call']}({fact['seed']}) runs anew for each sample of {fact['dataset']}: all get the same random numbers"
        if fact["call"].startswith("torch."):
            says = (
                f"{fact['call']} draws for each sample of {fact['dataset']} from a generator set back to seed {fact['seed']}: all get the same random numbers"
            )
        evidence = [
            (f"different samples made with seed {fact['seed']}", f"{fact['samples']} or more", 1),
            ("distinct seeds on that line", len({str(f["seed"]) for f in sample_seed if f.place.line == fact.place.line}), "one a sample"),
        ]
        remedy = "make the generator once in __init__, or seed it with the sample's number and the epoch: default_rng((seed, epoch, k))"
        yield Finding(says, fact.place.but(stage=None, step=None), evidence, remedy, confidence=0.93, verified="fact")
