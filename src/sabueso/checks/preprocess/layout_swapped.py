"""layout-swapped."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalogue import check
from ...crashes import cause_of, is_shape
from ...events import Fact
from ...findings import Finding


@check(
    stage="preprocess",
    severity="error",
    leads_to=("not-learning", "underfitting", "overfitting", "shape-mismatch", "learning-rate-too-low", "learning-rate-too-high"),
)
def layout_swapped(
    input_layout: list[Fact] = None, crash: list[Fact] = None, picture_layout: list[Fact] = None, *, most: float = 0.6, related: float = 0.6,
) -> Iterator[Finding]:  # fmt: skip
    """The axes of pictures are in another order than the model takes them to be.

    What it means
    -------------
    Pictures of height, width, channels were brought to channels, height, width by a reshape, which keeps the order in memory and mixes
    rows and colours, in place of a transpose; or they were given with the channels last; or the pictures that the model is asked about are
    turned, mirrored or have their channels in another order than those that it learnt from.
    Why it is bad
    -------------
    The shape fits, so nothing complains, but neighbouring pixels are no longer neighbours and a convolution has nothing to find.
    Evidence
    --------
    Differences of neighbouring pixels over those of any two: as the shape has them, and with the same memory read channels last. Told where
    the second is under 0.6 of the first, in nine of ten pictures, and itself under 0.6 of noise; of noisy pictures that a line of the program
    reshapes where nine of ten are smoother so, by at least 5 % along both axes and eight standard errors. Measured: coloured digits reshaped 0.45,
    the same transposed 2.3, noise 1.0. Colours that lay one behind the other and were reshaped to channels last: along both axes under 0.7
    when read as planes (measured 0.27 to 0.54; rightly transposed, grey or coloured, 2.3 and more along one). A crash of a convolution on
    channels-last data is told by its shapes.
    Judged pictures: the correlation of their mean picture with that of the training pictures, as given and turned (better by 0.15 when turned,
    and then as good as the wobble of the means allows). Digits: 0.99 as trained, 0.3 with height and width exchanged.
    Remedy
    ------
    Move the axis: `x.transpose(0, 3, 1, 2)` in NumPy, `x.permute(0, 3, 1, 2)` in torch.
    Fault
    -----
        import numpy as np
        import torch
        from torch import nn

        rng = np.random.default_rng(0)
        torch.manual_seed(0)
        ramp = np.linspace(0, 1, 12)
        pictures = (ramp[None, :, None, None] * rng.random((64, 1, 1, 3)) + ramp[None, None, :, None] * rng.random((64, 1, 1, 3))).astype("float32")
        x = torch.from_numpy(pictures.reshape(-1, 3, 12, 12))  # sabueso: layout-swapped
        y = torch.arange(64) % 2
        net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(400, 2))
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        for rows in torch.arange(64).split(16):
            opt.zero_grad()
            nn.functional.cross_entropy(net(x[rows]), y[rows]).backward()
            opt.step()
    Control
    -------
        import numpy as np
        import torch
        from torch import nn

        rng = np.random.default_rng(0)
        torch.manual_seed(0)
        ramp = np.linspace(0, 1, 12)
        pictures = (ramp[None, :, None, None] * rng.random((64, 1, 1, 3)) + ramp[None, None, :, None] * rng.random((64, 1, 1, 3))).astype("float32")
        x = torch.from_numpy(pictures.transpose(0, 3, 1, 2).copy())
        y = torch.arange(64) % 2
        net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(400, 2))
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        for rows in torch.arange(64).split(16):
            opt.zero_grad()
            nn.functional.cross_entropy(net(x[rows]), y[rows]).backward()
            opt.step()
    References
    ----------
    numpy.reshape keeps the order of the elements; numpy.moveaxis moves an axis.
    """
    for fact in crash or []:
        cause = cause_of(fact) if is_shape(fact) else None
        if cause is not None and cause.kind == "layout":
            place = fact.place.but(file=cause.file, line=cause.line, module=cause.module, tensor=cause.tensor)
            yield Finding(cause.says, place, cause.evidence[:4], cause.remedy, confidence=0.95, verified="fact", covers=("shape-mismatch",))
            return
    for fact in [f for f in input_layout or [] if f.get("gain", 1.0) < 0.7][:1]:
        yield torn(fact)
    swapped = [f for f in input_layout or [] if f.get("channels_last", 1.0) < most * f["given"] and f["channels_last"] < related or _faintly(f)]
    if swapped:
        yield reshaped(swapped[0], len(swapped))
    for fact in picture_layout or []:
        if fact["steady"] < 0.8 or fact["best"] < fact["steady"] - 0.1 or fact["as_given"] > fact["best"] - 0.15:
            continue
        here = [f for f in picture_layout or [] if f["model"] == fact["model"] and f.place.line == fact.place.line]
        if not any(f["as_given"] > f["steady"] - 0.1 for f in here):  # else they are turned on purpose, beside the straight ones
            yield turned(fact)
            return


def _faintly(fact: Fact) -> bool:
    """Pictures of hardly more than noise, nearly each of which is a little smoother along both axes when read channels last."""
    return fact.get("text") is not None and fact.get("faint", 0.0) <= -0.05 and fact.get("sure", 0.0) <= -8 and fact.get("smoother", 0.0) >= 0.9


def turned(fact: Fact) -> Finding:
    """Pictures judged that lie otherwise than those learnt from."""
    says = f"the {fact['judged']} pictures that `{fact['model']}` is asked about here lie otherwise than those that it learnt from: {fact['how']}"
    evidence = [
        ("correlation of their mean picture with that of the training pictures", round(fact["as_given"], 3), round(fact["steady"], 3)),
        (f"the same with {fact['how']}", round(fact["best"], 3), None),
    ]
    remedy = "prepare them by the very function that prepares the training pictures (the order of axes in permute or transpose, BGR and RGB)"
    return Finding(says, fact.place.but(stage="preprocess"), evidence, remedy, confidence=0.9, verified="fact", covers=("preprocess-skew", "covariate-drift"))


def reshaped(fact: Fact, looks: int) -> Finding:
    """A reshape in place of a transpose."""
    n, c, h, w = fact["shape"]
    name = fact.get("array") or "the pictures"
    says = f"pictures of shape ({c}, {h}, {w}) hold the memory of ({h}, {w}, {c}): {name} was reshaped where its channel axis had to be moved"
    evidence = [
        ("difference of neighbouring pixels as the shape has them (1 is noise)", round(fact["given"], 3), round(fact["channels_last"], 3)),
        ("the same memory read channels last", round(fact["channels_last"], 3), None),
        (f"share of {fact['counted']} pictures smoother when read channels last", round(fact["smoother"], 2), 0.0),
    ]
    remedy = f"{fact.get('array') or 'x'}.reshape(-1, {h}, {w}, {c}).transpose(0, 3, 1, 2) (permute in torch)"
    remedy += f" in place of {fact['text']}" if fact.get("text") else ""
    return Finding(says, fact.place.but(tensor=fact.get("array"), stage=None), evidence, remedy, confidence=0.92, verified="fact")


def torn(fact: Fact) -> Finding:
    """Planes of colour that were reshaped to pixels."""
    _, c, h, w = fact["shape"]
    name = fact.get("array") or "x"
    says = f"pictures of shape ({h}, {w}, {c}) hold the memory of ({c}, {h}, {w}): each pixel is made of {c} neighbours of one colour"
    evidence = [
        ("difference of neighbouring pixels as the shape has them (1 is noise)", round(fact["given"], 3), round(fact["planar"], 3)),
        ("the same memory read one colour after the other, over that, along the worse axis", round(fact["gain"], 3), "above 1"),
        (f"share of {fact['counted']} pictures smoother so along both axes", round(fact["images"], 2), 0.0),
    ]
    remedy = f"{name}.reshape(-1, {c}, {h}, {w}).transpose(0, 2, 3, 1) (permute in torch)" + (f" in place of {fact['text']}" if fact.get("text") else "")
    return Finding(says, fact.place.but(tensor=fact.get("array"), stage=None), evidence, remedy, confidence=0.92, verified="fact")
