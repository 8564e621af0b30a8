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
from typing import TYPE_CHECKING, Any

from .errors import ConfigError

if TYPE_CHECKING:  # the catalogue needs numpy, and the person's program is started before that is loaded
    from .catalogue import Check

MEANT = {
    "select": 'it is a list of names, as in ["exploding-gradient"]',
    "ignore": 'it is a list of names, as in ["misleading-metric"]',
    "dir": 'it is a path, as in ".sabueso/runs"',
    "budget": "it is a share between 0 and 1, as in 0.01",
    "strict": "it is true or false",
    "checks": "it holds a table a check, as in [tool.sabueso.checks.overfitting]",
}


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

    @property
    def narrows(self) -> bool:
        """Does it name any check? Then the catalogue must be known before the program starts."""
        return bool(self.select or self.ignore or self.checks)

    def narrow(self, select: list[str], ignore: list[str]) -> None:
        """What the command line names comes before what pyproject says."""
        if select or ignore:
            self.where = "--select or --ignore" if not (self.select or self.ignore or self.checks) else f"{self.where} or the command line"
        self.select = select or self.select
        self.ignore = [*self.ignore, *ignore]

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
                if not _alike(settings[key], checks[name].settings[key]):
                    like = f"it is like its default {checks[name].settings[key]!r}"
                    raise ConfigError(f"{self.where}: {key} of check {name} can't be {settings[key]!r}; {like}")
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
    unknown = sorted(set(section) - set(MEANT))
    if unknown:
        raise ConfigError(f"{where}: [tool.sabueso] has no key {unknown[0]!r} (it has: {', '.join(MEANT)})")
    for key, value in section.items():
        if not _fits(key, value):
            raise ConfigError(f"{where}: {key} in [tool.sabueso] can't be {value!r}; {MEANT[key]}")
    return Config(**section, where=where)


def _fits(key: str, value: Any) -> bool:
    if key in ("select", "ignore"):
        return isinstance(value, list) and all(isinstance(v, str) for v in value)
    if key == "budget":
        return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1
    if key == "checks":
        return isinstance(value, dict) and all(isinstance(v, dict) for v in value.values())
    return isinstance(value, bool if key == "strict" else str)


def _alike(value: Any, default: Any) -> bool:
    """Is a setting of the kind of its default? A whole number does for any number."""
    number = lambda x: isinstance(x, (int, float)) and not isinstance(x, bool)  # noqa: E731
    if default is None or number(value) and number(default):
        return True
    return isinstance(value, (list, tuple) if isinstance(default, (list, tuple)) else type(default))
