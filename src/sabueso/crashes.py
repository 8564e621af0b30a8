"""Crashes: what led to an exception whose operands do not fit each other, read from the evidence of a crash."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

from .events import Fact

SHAPES = re.compile(
    r"shapes? .*(cannot be multiplied|not aligned|mismatch|invalid|not match|different|must match)|size mismatch|shape mismatch"
    r"|(must|should) (match|be equal|be the same)|must (have|be of) (the )?(same|equal)|could not be broadcast|not broadcastable"
    r"|[Ee]xpected hidden|to have \d+ channels|\d+ features, but|invalid for input of size|[Ss]izes of tensors|equal size"
    r"|inconsistent numbers of samples|cannot reshape array|[Ll]ength of values|lengths? (must|do not|mismatch)|batch_size"
    r"|[Ii]ncompatible (shapes|with the layer)|input\.size\(-1\)|normalized_shape|running_mean should contain|feature_names mismatch"
    r"|[Ff]eature shape mismatch|number of features|all (the )?input array|expanded size|[Tt]arget size|mismatch in its core dimension"
    r"|same (length|number of)|(doesn.t|does not) match|[Ff]eature names (unseen|seen|should match)|must match the existing size"
)
ORDER_ONLY = re.compile(r"must be in the same order")  # the same names in another order is a fault of its own
COMPARED = re.compile(r"Arguments `target` and `output` must have the same .*?target\.shape=[^\[]*\[([^\]]*)\].*?output\.shape=[^\[]*\[([^\]]*)\]", re.DOTALL)
NUMBERS = re.compile(r"\d+")


@dataclass(slots=True)
class Cause:
    """What led to a crash: where it is to be mended, in words and numbers."""

    kind: str  # layer, flatten, layout, transposed, stale, features, operands
    says: str
    remedy: str
    file: str | None
    line: int | None
    evidence: list[tuple[str, Any, Any]] = field(default_factory=list)
    module: str | None = None
    tensor: str | None = None
    column: str | list[str] | None = None
    estimator: str | None = None
    row: int | list[int] | None = None
    edit: tuple[str, ...] = ()  # the remedy as a change of that line (see `edits`)


def is_shape(crash: Fact) -> bool:
    """Does the message speak of sizes that do not fit?"""
    message = str(crash.get("message", ""))
    if crash.get("ragged"):
        return True
    return bool(SHAPES.search(message)) and not ORDER_ONLY.search(message)


def cause_of(crash: Fact) -> Cause | None:
    """The cause of a shape crash: a layer made for another size, a tensor made for another batch, other columns, or the two operands."""
    return _ragged(crash) or _layer(crash) or _stale(crash) or _features(crash) or _compared(crash) or _operands(crash)


def data_operands(crash: Fact) -> list[dict[str, Any]]:
    return [o for o in crash.get("operands", ()) if o.get("shape") is not None]


def where(crash: Fact) -> tuple[str | None, int | None]:
    frames = crash.get("frames") or [[None, None, None]]
    return frames[0][0] or crash.place.file, frames[0][1] or crash.place.line


def shape(o: dict[str, Any]) -> str:
    return "(" + ", ".join(map(str, o["shape"])) + ")"


# ---- samples of different sizes in one batch


def _ragged(crash: Fact) -> Cause | None:
    told = crash.get("ragged")
    if not told:
        return None
    samples, (file, line) = told["samples"], where(crash)
    names = ", ".join(map(str, samples[:3] or told["positions"][:3]))
    says = f"sample {names} has shape {tuple(told['odd'][0])}, the others of its batch {tuple(told['usual'])}: they can't be stacked"
    numbers = [("shape of the odd samples", told["odd"][:5], told["usual"])] + ([("samples", samples[:10], None)] if samples else [])
    remedy = "bring every sample to one size in __getitem__ (crop, pad, resize), or give the loader a collate_fn that pads"
    row = samples[0] if len(samples) == 1 else samples or None
    return Cause("ragged", says, remedy, file, line, numbers, row=row)


# ---- a layer made for another size


def wanted(layer: dict[str, Any]) -> tuple[str, int, int] | None:
    """(setting, size that the layer was made for, size that it was given) of its first input."""
    d, inputs = layer["declared"], layer.get("inputs") or []
    if not inputs or not inputs[0].get("shape"):
        return None
    s, kind = inputs[0]["shape"], layer["class"]
    if "in_features" in d:
        return "in_features", d["in_features"], s[-1]
    if "in_channels" in d:
        axes = len(d["kernel_size"]) if isinstance(d.get("kernel_size"), (list, tuple)) else len(s) - 2
        axis = 1 if len(s) == axes + 2 else 0
        return "in_channels", d["in_channels"], s[axis]
    if "num_features" in d and len(s) > 1:
        return "num_features", d["num_features"], s[1]
    if "input_size" in d:
        return "input_size", d["input_size"], s[-1]
    if isinstance(d.get("normalized_shape"), (list, tuple)) and len(d["normalized_shape"]) == 1:
        return "normalized_shape", d["normalized_shape"][0], s[-1]
    if "embed_dim" in d and "Attention" in kind:
        return "embed_dim", d["embed_dim"], s[-1]
    return None


def _layer(crash: Fact) -> Cause | None:
    layer = crash.get("layer")
    size = wanted(layer) if layer and layer.get("library") else None
    if size is None or size[1] == size[2]:
        return None
    setting, want, got = size
    given = layer["inputs"][0]
    s, path, kind = given["shape"], layer["path"], layer["class"]
    numbers = [(f"{setting} of {path} ({kind})", want, got), (f"shape of the input of {path}", s, None)]
    file, line = where(crash)
    source = next((o for o in data_operands(crash) if o.get("made") and not o.get("parameter")), None)
    tensor = source["name"] if source else None
    if setting == "in_features" and len(s) > 2 and math.prod(s[1:]) == want:
        says = f"{path} gets {shape(given)} unflattened: it was made for {want} = {' x '.join(map(str, s[1:]))} features a row"
        return Cause("flatten", says, f"flatten before {path}: torch.flatten({tensor or 'x'}, 1)", file, line, numbers, path, tensor)
    if setting == "in_channels" and len(s) >= 4 and s[-1] == want:
        says = f"{path} gets {shape(given)} with the channels last; it expects {want} channels at axis 1, right after the batch"
        order = f"0, {len(s) - 1}, {', '.join(str(k) for k in range(1, len(s) - 1))}"
        file, line = _last_made(source, file, line)
        return Cause("layout", says, f"move the channel axis: {tensor or 'x'}.permute({order})", file, line, numbers, path, tensor)
    if setting == "in_features" and len(s) == 2 and s[0] == want:
        file, line = _last_made(source, file, line)
        return Cause(
            "transposed",
            f"{path} gets {shape(given)}, rows and columns swapped",
            f"pass {tensor or 'it'}.T",
            file,
            line,
            numbers,
            path,
            tensor,
        )
    if crash.place.step and layer.get("before") is None:  # it has worked in earlier steps: these data are other than those it was made for
        file, line = _last_made(source, file, line)
        says = f"{path} was made for {want} {setting.split('_')[-1]} and worked until now; {tensor or 'this input'} has {got}"
        return Cause("operands", says, "give the data of this call the same columns as those trained on", file, line, numbers, path, tensor)
    place = layer.get("made") or {"file": file, "line": line}
    why = factors(got, layer.get("before"))
    says = f"{path} was made for {want} {setting.split('_')[-1]}, but what reaches it has {got}{why}"
    return Cause("layer", says, _resized(layer, setting, want, got), place["file"], place["line"], numbers, path, tensor, edit=_call(layer, setting, got))


def factors(got: int, before: dict[str, Any] | None) -> str:
    """How a flattened size follows from the layer before, in words."""
    if not before or got % before["out"]:
        return ""
    rest = got // before["out"]
    side = math.isqrt(rest)
    if rest == 1:
        return f", as {before['path']} gives"
    return f" = {before['out']} channels of {before['path']} x " + (f"{side} x {side}" if side * side == rest else str(rest))


def _call(layer: dict[str, Any], setting: str, got: int) -> tuple[str, ...]:
    """The call that built a layer replaced by one of the size that reaches it, where the size stands first and alone."""
    call = (layer.get("made") or {}).get("call", "")
    inner = re.match(r"([\w.]+\()([^,()]+)(.*)$", call)
    if inner and setting in ("in_features", "in_channels", "num_features", "input_size") and "=" not in inner[2]:
        return "replace", call, f"{inner[1]}{got}{inner[3]}"
    return ()


def _resized(layer: dict[str, Any], setting: str, want: int, got: int) -> str:
    if made := _call(layer, setting, got):
        return f"write {made[2]}, or change the layers before it so that {want} reach it"
    return f"set {setting}={got} for {layer['path']}, or change the layers before it so that {want} reach it"


def _last_made(operand: dict[str, Any] | None, file: str | None, line: int | None) -> tuple[str | None, int | None]:
    steps = (operand or {}).get("made") or []
    return (steps[0]["file"], steps[0]["line"]) if steps else (file, line)


# ---- a tensor made once for a full batch


def _stale(crash: Fact) -> Cause | None:
    told = {int(n) for n in NUMBERS.findall(str(crash.get("message", "")))}
    data = [o for o in data_operands(crash) if o.get("made") and o["shape"]]
    for fresh in data:
        if not any(m["each_turn"] for m in fresh["made"]) or fresh["shape"][0] not in told:
            continue
        for kept in data:
            rows = [n for n in kept["shape"] if n in told and n != fresh["shape"][0] and n not in fresh["shape"]]
            if kept is fresh or kept.get("parameter") or any(m["each_turn"] for m in kept["made"]) or not rows:
                continue
            at, n = kept["made"][0], fresh["shape"][0]
            layer = (crash.get("layer") or {}).get("path")
            says = f"{kept['name']} was made once, for {rows[0]} rows ({shape(kept)}); this batch, {fresh['name']}, has {n} ({shape(fresh)})"
            numbers = [(f"rows of the batch {fresh['name']}", n, rows[0]), (f"shape of {kept['name']}", kept["shape"], None)]
            remedy = f"make {kept['name']} for each batch with {fresh['name']}.shape[0] in place of {rows[0]}, or drop the short batch"
            return Cause("stale", says, remedy, at["file"], at["line"], numbers, layer, kept["name"])
    return None


# ---- other columns than those fitted on


def _features(crash: Fact) -> Cause | None:
    f = crash.get("features")
    if not f or (f["expected"] == f["given"] and not f.get("extra") and not f.get("missing")):
        return None
    extra, missing = f.get("extra") or [], f.get("missing") or []
    numbers = [(f"features given to {f['estimator']}", f["given"], f["expected"])]
    numbers += [("columns too many", extra[:10], [])] if extra else []
    numbers += [("columns missing", missing[:10], [])] if missing else []
    source = next((o for o in data_operands(crash)), None)
    names = ", ".join([*(f"{c} too many" for c in extra[:5]), *(f"{c} missing" for c in missing[:5])])
    says = f"{f['estimator']} was fitted on {f['expected']} columns and is given {f['given']}" + (f": {names}" if names else "")
    remedy = "select the same columns as for fit" + (f", that is without {', '.join(extra[:5])}" if extra else "")
    file, line = _last_made(source, *where(crash))
    if file != where(crash)[0]:
        file, line = where(crash)
    columns = [*extra, *missing]
    column = columns[0] if len(columns) == 1 else columns or None
    return Cause("features", says, remedy, file, line, numbers, None, source["name"] if source else None, column, f["estimator"])


# ---- targets of another form than the answers (a loss of Keras)


def _compared(crash: Fact) -> Cause | None:
    found = COMPARED.search(str(crash["message"]))
    if found is None:
        return None
    target, output = ([int(n) for n in NUMBERS.findall(sizes)] for sizes in found.groups())
    file, line = where(crash)
    says = f"the loss compares targets of shape {tuple(target)} with answers of shape {tuple(output)}"
    remedy = "give the last layer as many units as the targets have columns"
    if len(output) == 2 and output[1] > 1 and (len(target) == 1 or target[1:] == [1]):
        says += ": class numbers, where it takes one column a class"
        remedy = "compile with sparse_categorical_crossentropy, which takes class numbers (or give it keras.utils.to_categorical(y))"
    return Cause("compared", says, remedy, file, line, [("shape of the targets", target, output), ("shape of the answers", output, None)])


# ---- two operands that do not fit


def _operands(crash: Fact) -> Cause:
    data, (file, line) = data_operands(crash), where(crash)
    layer = crash.get("layer") or {}
    given = data or (crash.get("inner") or {}).get("given", [])
    sizes = " and ".join(f"{o['name']} {shape(o)}" for o in given[:3] if o.get("shape") is not None)
    parameter = next((o for o in data if o.get("parameter") and o.get("made")), None)
    if parameter is not None and len(data) > 1:
        file, line = parameter["made"][0]["file"], parameter["made"][0]["line"]
    says = f"{crash.get('text') or 'the operation'}: " + (f"{sizes} do not fit" if sizes else str(crash["message"]).splitlines()[0][:200])
    numbers = [(f"shape of {o['name']}", o["shape"], None) for o in given[:4] if o.get("shape") is not None]
    numbers = numbers or [("message", str(crash["message"])[:200], None)]
    came = "; ".join(f"{o['name']} comes from line {o['made'][-1]['line']}" for o in data[:3] if o.get("made"))
    remedy = "make the sizes agree where the smaller or larger one is made" + (f" ({came})" if came else "")
    tensor = (parameter or (data[0] if data else {})).get("name")
    return Cause("operands", says, remedy, file, line, numbers, layer.get("path"), tensor)
