"""Every evidence name once: its kind, unit, meaning, where it comes from, and what would cure its absence.

A check's parameters are these names. Capture records only what an enabled check names. `source` is the library whose use brings the
evidence: where a run did not use it, a check that needs it does not apply and says nothing; where it did and the evidence is missing all
the same, the check is blind. Keep each section sorted; one line of meaning says what the value holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .runs import Run


@dataclass(frozen=True, slots=True)
class Term:
    """One kind of evidence: `kind` is fact, series, profile or trace."""

    kind: str
    unit: str
    meaning: str
    source: str = "any"
    cure: str = "run the program under `sabueso run`"


VOCABULARY: dict[str, Term] = {
    # ---- the run as a whole
    "crash": Term("fact", "", "the exception that ended the program: type, message, frames and the failing line's operands"),
    "library": Term("fact", "", "a library that an adapter watches was imported: name (the adapter's), version"),
    "stage_seen": Term("fact", "", "a stage was entered: name, how it was told"),
    "not_captured": Term("fact", "", "evidence that was given up: names, and why (a compiled model, a failed adapter, the budget)"),
    "overhead": Term("fact", "share", "what capture cost of the process's time: share, seconds"),
    # ---- torch: steps, losses, parameters
    "batch_mixing": Term("fact", "", "rows of a batch influence each other: module, rows, how (a norm or attention over the batch axis)", "torch"),
    "broadcast": Term("fact", "", "an operation on two tensors whose result is larger than both, on the way to a loss: shapes, operation", "torch"),
    "evaluation": Term("fact", "", "a model called for evaluation: module, class, training (its flag), grad, live (dropout and norms in training mode)", "torch"),
    "gradient_norm": Term("series", "l2 norm", "global norm of all gradients that an optimizer is about to apply; place.module names the optimizer", "torch"),
    "graph_cut": Term("fact", "", "an operation between parameters and a loss that lets no gradient through: operation, modules cut off, line", "torch"),
    "learning_rate": Term("series", "", "the rate of an optimizer's first group at each step; place.module names the optimizer", "torch"),
    "loss_call": Term("fact", "", "a loss function called in a sampled step: function, prediction and target (shape, dtype, range), producers of the prediction", "torch"),
    "mode": Term("fact", "", "training flags of a root module and its parts at a sampled training step, and the lines of the last train() and eval()", "torch"),
    "model": Term("fact", "", "a root module: name, class, tree of [path, class, own parameter shapes, line built], count of parameters", "torch"),
    "model_input": Term("fact", "", "what a root module was given in a sampled step: shape, dtype, range, mean, std, and by column where it has two axes", "torch"),
    "optimizer": Term("fact", "", "an optimizer: number, class, groups (lr, weight_decay, momentum, count), names of its parameters, line built", "torch"),
    "optimizer_use": Term("fact", "", "at the end, of each optimizer: steps, backwards that reached it, steps without a new gradient, and of others in between", "torch"),
    "parameters": Term("fact", "", "parameters at a sampled step: path, requires_grad, optimizer, gradient (none, zero, finite norm), changed, loaded, initialiser", "torch"),
    "rebuilt": Term("fact", "", "models or optimizers of one kind built again and again from one line while training goes on: line, count, steps between", "torch"),
    "scheduler": Term("fact", "", "a learning rate scheduler: class, settings, lines and numbers of its steps against those of the optimizer", "torch"),
    "softmax_dim": Term("fact", "", "a softmax on the way to a loss: shape, dim, module, sums", "torch"),
    "train_loss": Term("series", "", "value of each scalar on which backward was called; the step is the count of optimizer steps (or of backwards without any)", "torch"),
    "weights_loaded": Term("fact", "", "weights copied into a module (load_state_dict): module, how much changed, whether it had been trained before, line", "torch"),
    "zeroed": Term("fact", "", "sampled: were an optimizer's gradients cleared between its last step and this one: cleared, line of backward and step", "torch"),
    # ---- torch: layers
    # ---- torch: data
    # ---- sklearn and row lineage
    # ---- tables: readers, joins, filters
    # ---- metrics, serving, monitoring
    # ---- resources, reproducibility, ranks
}


def of_run(run: Run, name: str) -> list[Any]:
    """The run's evidence of that name, by its kind."""
    return {"fact": run.facts, "series": run.series, "profile": run.profiles, "trace": run.facts}[VOCABULARY[name].kind](name)
