"""device-fallback."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact
from ...findings import Finding


@check(stage="deploy", severity="warning")
def device_fallback(device_asked: list[Fact]) -> Iterator[Finding]:
    """A model asked for an accelerator, did not get it, and goes on on the CPU without a word.

    What it means
    -------------
    The move to the device raised an error that was caught; the model stayed where it was.

    Why it is bad
    -------------
    Everything works, many times slower, while configuration and log still name the accelerator.

    Evidence
    --------
    The device asked for, the device of the parameters when the model was called, and that no log record named the CPU.

    Remedy
    ------
    Let the error through, or say the device that is really used: `next(net.parameters()).device`.

    Fault
    -----
        import torch
        net = torch.nn.Linear(8, 1)
        device = "cuda:7"
        try:
            net.to(device)  # sabueso: device-fallback
        except (RuntimeError, AssertionError):
            device = "cpu"
        net.eval()
        with torch.no_grad():
            print(net(torch.randn(4, 8)).mean())

    Control
    -------
        import torch
        net = torch.nn.Linear(8, 1)
        device = "cuda:7" if torch.cuda.device_count() > 7 else "cpu"
        net.to(device)
        net.eval()
        with torch.no_grad():
            print(net(torch.randn(4, 8)).mean())

    References
    ----------
    PyTorch documentation, CUDA semantics.
    """
    for fact in device_asked:
        if fact["ran_on"] != "cpu" or fact["said"]:
            continue
        yield Finding(
            says=f"{fact['model']} was to run on {fact['device']}, the move failed and the error was caught: it runs on the CPU and nothing says so",
            place=fact.place.but(stage="deploy"),
            evidence=[("device asked for", fact["device"], None), ("device of its parameters when called", fact["ran_on"], fact["device"])],
            remedy="let the error through, or log next(net.parameters()).device in place of the configured name",
            confidence=0.92, verified="fact",
        )  # fmt: skip
