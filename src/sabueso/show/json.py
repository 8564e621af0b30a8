"""The diagnosis as data, format 1: JSON that any parser reads, so NaN and infinities are strings."""

from __future__ import annotations

import json
import math
from typing import Any

from .. import __version__
from ..diagnoses import Diagnosis


def dumps(diagnosis: Diagnosis) -> str:
    """The whole diagnosis as one JSON document."""
    return json.dumps(safe(diagnosis.as_dict(__version__)), indent=1, default=str, ensure_ascii=False)


def safe(value: Any) -> Any:
    """Without what standard JSON can't carry: "nan", "inf" and "-inf" in place of the numbers."""
    if isinstance(value, dict):
        return {str(k): safe(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [safe(v) for v in value]
    if hasattr(value, "tolist"):
        return safe(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if value != value else "inf" if value > 0 else "-inf"
    return value
