"""[tool.sabueso] of pyproject.toml: which checks are asked, their thresholds, where runs lie.

    [tool.sabueso]
    select = ["exploding-gradient"]        # only these; default all
    ignore = ["misleading-metric"]
    dir = ".sabueso/runs"
    budget = 0.01                          # share of the program's time that full statistics may take
    [tool.sabueso.checks.overfitting]      # settings of one check
    patience = 5
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .catalogue import Check
from .errors import ConfigError

KEYS = {"select", "ignore", "dir", "budget", "strict", "checks"}


@dataclass
class Config:
    """What the person set; `where` is the file it came from."""

    select: list[str] = field(default_factory=list)
    ignore: list[str] = field(default_factory=list)
    dir: str | None = None
    budget: float = 0.01
    strict: bool = False
    checks: dict[str, dict[str, Any]] = field(default_factory=dict)
    where: str = "pyproject.toml"

    def home(self) -> Path:
        """Where runs lie: SABUESO_HOME, else `dir`, else .sabueso/runs under the working directory."""
        held = os.environ.get("SABUESO_HOME")
        return Path(held) / "runs" if held else Path(self.dir or ".sabueso/runs")

    def chosen(self, checks: dict[str, Check]) -> dict[str, Check]:
        """The checks that are asked. Raises ConfigError for a name that no check has."""
        for name in [*self.select, *self.ignore, *self.checks]:
            if name not in checks:
                raise ConfigError(f"{self.where}: no check named {name!r}; `sabueso checks` lists them")
        for name, settings in self.checks.items():
            for key in settings:
                if key not in checks[name].settings:
                    known = ", ".join(checks[name].settings) or "none"
                    raise ConfigError(f"{self.where}: check {name} has no setting {key!r} (it has: {known})")
        return {n: c for n, c in checks.items() if (not self.select or n in self.select) and n not in self.ignore}


def load(start: Path | None = None) -> Config:
    """The nearest pyproject.toml upwards that has a [tool.sabueso] section. Raises ConfigError where it can't be used."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        path = folder / "pyproject.toml"
        if path.is_file():
            section = _section(path)
            if section is not None:
                return _config(section, str(path))
    return Config()


def _section(path: Path) -> dict[str, Any] | None:
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError):
        return None
    if "sabueso" not in text:
        return None
    try:
        return tomllib.loads(text).get("tool", {}).get("sabueso")
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is no valid TOML ({error}); mend it or run from another folder") from error


def _config(section: Any, where: str) -> Config:
    if not isinstance(section, dict):
        raise ConfigError(f"{where}: [tool.sabueso] must be a table")
    unknown = sorted(set(section) - KEYS)
    if unknown:
        raise ConfigError(f"{where}: [tool.sabueso] has no key {unknown[0]!r} (it has: {', '.join(sorted(KEYS))})")
    expected = {"select": list, "ignore": list, "dir": str, "budget": (int, float), "strict": bool, "checks": dict}
    for key, value in section.items():
        if not isinstance(value, expected[key]):
            raise ConfigError(f"{where}: {key} in [tool.sabueso] can't be {value!r}")
    return Config(**section, where=where)
