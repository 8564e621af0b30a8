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
    "batch_metric": Term("fact", "", "a metric by hand that a loop gathers batch by batch: metric, gathered (as of `metric`), line", "torch"),
    "batch_mixing": Term("fact", "", "rows of a batch influence each other: module, rows, how (a norm or attention over the batch axis)", "torch"),
    "broadcast": Term("fact", "", "an operation on two tensors whose result is larger than both, on the way to a loss: shapes, operation", "torch"),
    "evaluation": Term(
        "fact", "", "a model called for evaluation: module, class, training (its flag), grad, live (dropout and norms in training mode)", "torch"
    ),
    "future_seen": Term("fact", "", "the answer at a place of a sequence moves with the very input that it is to tell: argument, at, rows, module", "torch"),
    "gradient_norm": Term("series", "l2 norm", "global norm of all gradients that an optimizer is about to apply; place.module names the optimizer", "torch"),
    "graph_cut": Term("fact", "", "an operation between parameters and a loss that lets no gradient through: operation, modules cut off, line", "torch"),
    "input_scale": Term("fact", "", "an input of a model whose scale is far from 1: spread, level, range, the array or column that it was made from", "torch"),
    "learning_rate": Term("series", "", "the rate of an optimizer's first group at each step; place.module names the optimizer", "torch"),
    "loss_call": Term(
        "fact", "", "a loss function called in a sampled step: function, prediction and target (shape, dtype, range), producers of the prediction", "torch"
    ),
    "mode": Term("fact", "", "training flags of a root module and its parts at a sampled training step, and the lines of the last train() and eval()", "torch"),
    "model": Term("fact", "", "a root module: name, class, tree of [path, class, own parameter shapes, line built], count of parameters", "torch"),
    "model_input": Term(
        "fact", "", "what a root module was given in a sampled step: shape, dtype, range, mean, std, and by column where it has two axes", "torch"
    ),
    "optimizer_use": Term(
        "fact", "", "at the end, of each optimizer: steps, backwards that reached it, steps without a new gradient, and of others in between", "torch"
    ),
    "padding": Term("fact", "", "token numbers filled up to one width: share of filling, usual length, what pools them, whether anything masks them", "torch"),
    "parameters": Term(
        "fact", "", "parameters at a sampled step: path, requires_grad, optimizer, gradient (none, zero, finite norm), changed, loaded, initialiser", "torch"
    ),
    "rebuilt": Term(
        "fact", "", "models or optimizers of one kind built again and again from one line while training goes on: line, count, steps between", "torch"
    ),
    "scheduler": Term("fact", "", "a learning rate scheduler: class, settings, lines and numbers of its steps against those of the optimizer", "torch"),
    "recurrence": Term(
        "fact", "", "a weight applied again and again to its own result in one forward: calls, growth of the gradient over them on its way back, line", "torch"
    ),
    "softmax_dim": Term("fact", "", "a softmax on the way to a loss: shape, dim, module, sums", "torch"),
    "train_loss": Term(
        "series", "", "value of each scalar on which backward was called; the step is the count of optimizer steps (or of backwards without any)", "torch"
    ),
    "weights_loaded": Term(
        "fact", "", "weights copied into a module (load_state_dict): module, how much changed, whether it had been trained before, line", "torch"
    ),
    "weights_missed": Term("fact", "", "weights loaded of which next to none has a name of the module: keys, taken, missing, prefix, trained before", "torch"),
    "copy_unwritten": Term("fact", "", "a model that answers, copied before another was trained and never written since: of, step, looks", "torch"),
    "rate_restored": Term("fact", "", "the learning rate that an optimizer's loaded state sets, and the one that it was built with", "torch"),
    "tokens_shifted": Term("fact", "", "numbers looked up in a table of embeddings that are off by a few against those of the training", "torch"),
    "cleared_at": Term("fact", "", "the line that called zero_grad first, of each optimizer", "torch"),
    "clipping": Term("fact", "", "a line that clips gradients: calls, bound, and those of them that met none, or none since the last step", "torch"),
    "zeroed": Term(
        "fact", "", "sampled: were an optimizer's gradients cleared between its last step and this one: cleared, line of backward and step", "torch"
    ),
    # ---- torch: layers
    "activation": Term("fact", "", "an activation function at work: kind, module, fed_by (module and operation before it), shape", "torch"),
    "evaluation_error": Term(
        "series", "", "our own recount of an evaluation pass: place.tensor is loss, accuracy or r2, place.module names the rows evaluated", "torch"
    ),
    "experiment": Term("fact", "", "some steps run again on a copy with one thing changed: change, steps, before and after (loss), helps, how", "torch"),
    "gradient_nonfinite": Term("series", "count", "non-finite elements of a parameter's gradient in sampled steps", "torch"),
    "gradient_zeros": Term("series", "share", "elements of a parameter's gradient that are exactly zero in sampled steps", "torch"),
    "gradients_underflown": Term("series", "share", "zeros in a parameter's gradient that float16 made and that lies below its normal numbers", "torch"),
    "half_precision": Term("fact", "", "parameters or a region that compute in half precision and lose something by it: how, dtypes, line", "torch"),
    "initial_weights": Term(
        "fact", "", "parameters of an optimizer before its first step: path, class, shape, mean, std, zeros, alike (axis of equal units)", "torch"
    ),
    "learnable": Term(
        "fact", "", "what the nearest rows of the training data alone tell of a target: share of the best constant's loss that they get rid of, rows", "torch"
    ),
    "few_rows": Term(
        "fact", "", "all rows that a model was trained on, where they are so few that they can be learnt by heart: function, rows, batches", "torch"
    ),
    "linear_chain": Term("fact", "", "a linear map fed by another with nothing between that bends: module, fed_by, width, into, from, lines built", "torch"),
    "loss_spike": Term(
        "fact", "", "a loss far above those before it: loss, usual, the rows of the batch that make it up, their prediction, target, place", "torch"
    ),
    "norm_rows": Term("series", "count", "values per channel over which a batch normalisation in training mode takes its moments", "torch"),
    "output_mean": Term("series", "", "mean of a layer's output in sampled training steps", "torch"),
    "output_nonfinite": Term("series", "count", "non-finite elements of a layer's output in sampled training steps", "torch"),
    "output_std": Term("series", "", "standard deviation of a layer's output in sampled training steps", "torch"),
    "targets": Term(
        "fact", "", "targets that a loss was given so far: loss, count, classes or mean and variance, loss of the best constant, share of it", "torch"
    ),
    "units_alike": Term("series", "", "1 while all units of a layer that began equal are equal still, from the fifth step on", "torch"),
    "units_constant": Term("series", "share", "units of an activation that are the same for every row of a sampled batch", "torch"),
    "units_dead": Term("series", "share", "units of a rectifier that are zero for every row of a sampled batch", "torch"),
    "units_saturated": Term("series", "share", "values of a tanh or sigmoid within a hundredth of the ends of its range", "torch"),
    "update_ratio": Term("series", "ratio", "l2 norm of a step's change of a parameter by that of the parameter before it", "torch"),
    "updates_lost": Term("series", "share", "elements of a half-precision parameter with a gradient that a step left as they were", "torch"),
    "weights_kept": Term("fact", "", "the program took its weights out (state_dict, a copy, a file) or put weights in: how (kept or loaded), step", "torch"),
    "weight_gradient": Term("series", "l2 norm", "norm of a parameter's gradient in sampled steps", "torch"),
    "weight_norm": Term("series", "l2 norm", "norm of a parameter's finite elements after sampled steps", "torch"),
    # ---- torch: data
    "input_layout": Term("fact", "", "pictures given to a model: roughness as given and with the same memory read channels last, line", "torch"),
    "nonfinite_found": Term("fact", "", "values not finite in data or weights: where (batch, parameter, buffer, table), tensor, rows, count, spot"),
    "picture_layout": Term("fact", "", "pictures judged beside those learnt from: likeness of the mean pictures as given and turned, how", "torch"),
    "sample_seed": Term("fact", "", "a random stream was given one and the same seed for many samples: call, seed, samples, dataset", "torch"),
    "torch_settings": Term("fact", "", "how torch computes, at the first step: default dtype, threads, determinism, precision, device, version", "torch"),
    "worker_random": Term("fact", "", "a worker's first batch: loader, epoch, worker, random streams drawn from with digests before and after", "torch"),
    "nonfinite_step": Term("fact", "", "a step that made parameters non-finite, taken apart: births (operation, operands, rows), ran, equal", "torch"),
    # ---- sklearn and row lineage
    "choice": Term("fact", "", "models fitted on the same rows and compared on the same others, and whether those also gave the report", "sklearn"),
    "decayed": Term("fact", "", "a network of scikit-learn fitted: alpha, what is left of its weights, its errors and those of a linear fit", "decaying"),
    "chosen": Term("fact", "", "columns that are the best of a wider table by the answers of all rows, and not by those of training", "sklearn"),
    "counterfactual": Term("fact", "", "a score with the fault and with it mended, tried at the end: fault, pair, before, after, how", "sklearn"),
    "folds": Term("fact", "", "a cross-validation: splitter, shuffled, contiguous, classes or range by fold, order of the labels, scores", "sklearn"),
    "groups_shared": Term("fact", "", "groups that the person split by elsewhere and that stand on both sides here: column, groups, rows", "sklearn"),
    "held_out": Term("fact", "", "a part that was split off and what became of it: rows, name, line, fits and evaluations that used it", "sklearn"),
    "label_order": Term("fact", "", "labels in the order of the rows as trained or split: classes or range by part, runs, parts", "sklearn"),
    "windows_shared": Term("fact", "", "judged windows over one series between training windows that hold the same values: rows, step, width", "sklearn"),
    "near_copies": Term("fact", "", "judged rows that training holds but for a little noise, with the same label: share, ratio of distances", "sklearn"),
    "row_mismatch": Term("fact", "", "inputs and labels of a fit come from different rows: rows, first, line of the labels, how it is known", "sklearn"),
    "row_use": Term("fact", "", "a fit and an evaluation: rows of both, those that both have, and what else learnt from the evaluation's rows", "sklearn"),
    "tell": Term("fact", "", "a single input that gives the answer away: column, how, agreement, of the next best column", "sklearn, torch"),
    "window": Term("fact", "", "an input that holds the answer or a mean of a series over a window with it or later rows: column, window", "sklearn, torch"),
    # ---- tables: readers, joins, filters
    "bad_lines": Term("fact", "", "lines of a text file that a reader left out: lines, lost, the column with surplus separators, levels that vanish", "pandas"),
    "broken_rows": Term(
        "fact", "", "rows of a table as read that break its own pattern: kind (rolled, permuted, unit, sentinel), columns, before, after, rows", "pandas"
    ),
    "broken_rules": Term("fact", "", "rules of a contract that a table breaks: table, broken (column, rule, expected, seen, count, rows)"),
    "coerced": Term("fact", "", "texts forced to numbers or dates that became gaps: column, lost, share that spells one, examples", "pandas"),
    "aligned_away": Term(
        "fact", "", "values counted from 0 that were paired by index with as many rows numbered otherwise: how, column, gaps, moved", "pandas"
    ),
    "fill_lost": Term("fact", "", "gaps filled in place on a copy that nothing holds: column, gaps, method, owner", "pandas"),
    "join_reduced": Term("fact", "", "the result of a join that had gained rows was brought back to no more rows than before: join", "pandas"),
    "label_agreement": Term(
        "fact", "", "labels that do not belong to their features: kind (shift, renamed, order, disordered), first, last, agreement, elsewhere, mended"
    ),
    "label_offset": Term("fact", "", "numbers to learn that fit their features only when shifted by rows, in one group: group, shift, error, error_shifted"),
    "label_twins": Term("fact", "", "equal rows with different labels: rows, repeated, conflicting, share, similar_disagree, row_numbers"),
    "order_used": Term("fact", "", "an operation that relies on the order of rows (shift, rolling): method, rows", "pandas"),
    "part_cut": Term("fact", "", "a part of a time (hour) that was cut off before it was taken, and is one value in a fit: column, part, how", "pandas"),
    "rows_dropped": Term("fact", "", "rows dropped for their gaps: before, after, by_column (gaps, alone), how the lost differ, rows", "pandas"),
    "rows_shared": Term("fact", "", "rows, groups or times of one table that another has too: how, count, of, rows, reference, current"),
    "spelling": Term("fact", "", "levels of a column that an earlier table has in another spelling: column, table, earlier, how, count, rows", "pandas"),
    "table_join": Term("fact", "", "a join: how, on, keys and rows of both sides, without partner, repeated, what spelling would match, rows", "pandas"),
    "tables_apart": Term("fact", "", "two tables side by side: by column both counts, the verdict on its drift, new values; columns absent or of another type"),
    "table_read": Term("fact", "", "a table was read: table, how, rows, columns", "pandas"),
    "table_seen": Term("fact", "", "a table looked at without a program: columns, texts that spell numbers, marks, spellings, repeated rows, lines lost"),
    "table_used": Term("fact", "", "named columns that a model is given: estimator, columns, target, rows", "pandas"),
    "text_encoded": Term("fact", "", "a text column of quantities that went on as words: column, how, examples, shares, agreement of order", "pandas"),
    "text_overlooked": Term("fact", "", "text columns compared with dtype object, which they are not (pandas 3): columns, beside, version", "pandas"),
    "text_order": Term("fact", "", "rows stand in the text order of a column that spells whole numbers: column, first, columns that it unsettles", "pandas"),
    "column": Term("profile", "", "a column of a table as read, of what a model was fitted on or judged with; place.tensor names the table or the call"),
    "correlation": Term("fact", "", "how the number columns that a model is fitted on go together: table, columns, values (a square of correlations)"),
    # ---- metrics, serving, monitoring
    "accuracy_of_quantities": Term("fact", "", "an accuracy compiled for targets that are quantities: metric, best, levels, columns, watching, ran, epochs"),
    "device_asked": Term("fact", "", "a model was moved to a device in vain: device, model, what it ran on, whether the program said so", "torch"),
    "hand_broadcast": Term("fact", "", "a mean of a square table that holds all pairs of a vector and a column: names, shapes, value by row", "numpy"),
    "hand_metric": Term("fact", "", "means, made by hand at one line, of vectors with the rows of a model's last answer: values, sizes", "numpy"),
    "fed_twice": Term("fact", "", "rows that a model was given at two lines, alike but for a column: what lies between (wrapped, turned, recoded)", "sklearn"),
    "inputs": Term("fact", "", "rows that one line gave a model beside those of its fit: columns that stand out, order, answers, truth, requests", "sklearn"),
    "unsigned_difference": Term("fact", "", "a difference of two arrays of small whole numbers without a sign: dtype, share that went round, names", "numpy"),
    "integers_wrapped": Term("fact", "", "stored small integers, multiples of weights of which some went round the end: found (array, weights, count, meant)"),
    "labels_compared": Term("fact", "", "two vectors of labels whose equal rows were averaged and are few: names, confusion counts, clusters"),
    "label_codes": Term("fact", "", "classes numbered in one order at the fit and in another elsewhere: numbered, stored, moved, how (encoded, stored)"),
    "metric": Term(
        "fact", "", "a metric at one line: values, sizes, confusion or sums by call, which argument is a model's answer, what is averaged", "sklearn"
    ),
    "scale_foreign": Term("fact", "", "stored means and spreads that are not those behind which a stored linear model was fitted: columns, balance, label"),
    "search": Term("fact", "", "a search over settings: its scoring, each candidate's score and confusion counts over the folds", "sklearn"),
    "moments": Term("fact", "", "stored means and spreads of columns beside those of the table at hand: columns, rows, how (file, a scaler)"),
    "remembered": Term("fact", "", "columns given to a model fitted elsewhere beside its parts: gaps, levels, types, order, ranges", "sklearn"),
    "process_failed": Term("fact", "", "a process that the program started ended with an error: command, status, missing module, last lines"),
    "stored": Term("fact", "", "an object was written to a file: path, models, classes of the person's own modules that it refers to"),
    # ---- what the person logs elsewhere
    "imported": Term("fact", "", "the run was made of the curves of another tool, and not watched: source", cure="import the run again"),
    "logged": Term("series", "", "a number that the program gave to TensorBoard or MLflow, or of Keras's history; place.tensor is its tag"),
    "logged_histogram": Term("profile", "", "values that the program gave to TensorBoard as a histogram; place.tensor is their tag"),
    "logged_parameter": Term("fact", "", "a setting that the program gave to MLflow: key, value"),
    # ---- resources, reproducibility, ranks
    "rank": Term("fact", "", "a process joined a group of several ranks: rank, world, backend", "torch"),
    "rank_batches": Term("fact", "", "fingerprints of the first training batches of a rank; the last of a process counts", "torch"),
    "rank_end": Term("fact", "", "a rank came to its end by itself: steps, epochs, collectives", "torch"),
    "rank_epoch": Term("fact", "", "a rank began an epoch of training: batches, rows, batch_size, drop_last, averaging", "torch"),
    "rank_weights": Term("fact", "", "first values of the parameters of a rank before a step: values, averaging", "torch"),
    "sampler_epochs": Term("fact", "", "the epoch number of a distributed sampler at each epoch; the last of a process counts", "torch"),
    "stalled": Term("fact", "s", "the main thread stood at one line without using the processor: seconds, function, library"),
    "completion_order": Term("fact", "", "results of threads gathered as they ended and then joined: name, futures, moved, order", "concurrent.futures"),
    "loader_use": Term("fact", "", "the loader that training was fed from: batch_size, rows, rows_a_step, shapes, steps, parameters, target", "torch"),
    "threads_set": Term("fact", "", "threads asked for: threads, cores, function", "torch"),
    "split_drawn": Term("fact", "", "a random split by scikit-learn: rows of the parts, seeded", "sklearn"),
    "torch_seed": Term("fact", "", "was torch's default stream seeded, was it drawn from; the last of a process counts", "torch"),
    "hot_lines": Term("fact", "s", "CPU seconds of the main thread by line of the person's, and in the loader; cumulative, the last of a process counts"),
    "host_reads": Term("fact", "", "values of tensors read back one by one in sampled steps: median a step, by line of the training loop", "torch"),
    "resident_memory": Term("series", "bytes", "memory of the program and the processes that it starts, by seconds since it began"),
    "processors_used": Term("series", "", "processors that they keep busy, by seconds since it began"),
    "program_end": Term("fact", "bytes", "how the program ended, seen from outside: signal, peak memory, least that was free, processes killed for memory"),
    "memory_held": Term("fact", "bytes", "memory at the start and end of the steps, containers that grew, caches; cumulative, the last of a process counts"),
}


def of_run(run: Run, name: str) -> list[Any]:
    """The run's evidence of that name, by its kind."""
    return {"fact": run.facts, "series": run.series, "profile": run.profiles, "trace": run.facts}[VOCABULARY[name].kind](name)
