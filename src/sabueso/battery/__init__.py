"""The battery: a model, its loss and one batch put to the questions that find most faults before any training, each on a copy of its own."""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

from ..capture.randomness import Streams
from ..errors import UsageError
from . import contract, estimators, heads, rows, training, units, wiring
from .answers import Answer, Examination
from .subject import Several, Subject

# causes before symptoms: contract, wiring, rows and inputs, beginnings, learning, what became of it
QUESTIONS = (
    contract.it_runs, rows.rows_independent, heads.loss_fits, wiring.gradient_reaches, wiring.optimizer_holds, wiring.mode_arrives, rows.inputs_matter,
    rows.same_each_time, units.start_fits, units.units_differ, units.units_alive, units.layers_bend, units.weights_scaled, training.one_batch_learnt,
    training.updates_fit, training.nothing_does_worse, training.modes_agree, training.labels_tell, wiring.saved_whole,
)  # fmt: skip


def examine(model: Any, loss: Any, batch: Any, optimizer: Any = None, seconds: float = 2.0) -> Examination:
    """See `sabueso.examine`."""
    began = time.process_time()
    if hasattr(model, "fit") and hasattr(model, "get_params"):
        return Examination(type(model).__name__, estimators.answers(model, batch), time.process_time() - began)
    torch: Any = sys.modules.get("torch")
    if torch is None or not isinstance(model, torch.nn.Module):
        raise UsageError(f"examine takes a torch.nn.Module or a scikit-learn estimator, not {type(model).__name__}")
    streams = Streams()
    kept = streams.snapshot(), torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
    grads = [(p, p.grad) for p in model.parameters()]
    buffers = [(b, b.detach().clone()) for b in model.buffers()]
    mode = [(m, m.training) for m in model.modules()]
    try:
        for p, _ in grads:
            p.grad = None  # a loss that closes over the model itself must not add to what is there
        with warnings.catch_warnings(), torch.enable_grad():
            warnings.simplefilter("ignore")
            answers = asked(Subject(model, loss, batch, Several(optimizer) if isinstance(optimizer, (list, tuple)) else optimizer, seconds))
    finally:
        for p, grad in grads:
            p.grad = grad
        for b, value in buffers:
            if not torch.equal(b, value):
                b.data.copy_(value)
        for m, flag in mode:
            m.training = flag
        streams.restore(kept[0])
        if kept[1] is not None:
            torch.cuda.set_rng_state_all(kept[1])
    return Examination(type(model).__name__, answers, time.process_time() - began)


def asked(subject: Subject) -> list[Answer]:
    """All questions in turn; one that fails itself is told as such."""
    answers = []
    for question in QUESTIONS:
        subject.torch.manual_seed(0)
        if subject.left() <= 0:
            answers.append(Answer(question.__name__.replace("_", " "), None, f"not asked: {subject.seconds:g} s were over"))
            continue
        try:
            answers.append(question(subject))
            if len(answers) == 1 and any(f.severity == "error" for f in answers[0].findings):
                break  # nothing else can be asked
        except Exception as error:
            answers.append(Answer(question.__name__.replace("_", " "), None, f"could not be asked: {type(error).__name__}: {error}"))
    return answers
