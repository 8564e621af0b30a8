"""[tool.sabueso] of pyproject.toml."""

from __future__ import annotations

from pathlib import Path

import pytest

from sabueso.catalogue import check
from sabueso.config import Config, load
from sabueso.errors import ConfigError


@check(stage="train", severity="error")
def one_fault(train_loss, *, patience: int = 3):  # type: ignore[no-untyped-def]
    """One."""


@check(stage="train", severity="error")
def other_fault(train_loss):  # type: ignore[no-untyped-def]
    """Other."""


CHECKS = {c.name: c for c in (one_fault, other_fault)}


def loaded(folder: Path, text: str) -> Config:
    (folder / "pyproject.toml").write_text(text)
    return load(folder)


def test_none_is_the_default(tmp_path: Path) -> None:
    assert loaded(tmp_path, "[project]\nname = 'x'\n") == Config()


def test_all_keys(tmp_path: Path) -> None:
    settings = loaded(
        tmp_path,
        "[tool.sabueso]\nselect = ['one-fault']\ndir = 'held'\nbudget = 0.05\nstrict = true\n[tool.sabueso.checks.one-fault]\npatience = 5\n",
    )
    assert list(settings.chosen(CHECKS)) == ["one-fault"]
    assert (settings.dir, settings.budget, settings.strict, settings.checks) == ("held", 0.05, True, {"one-fault": {"patience": 5}})


def test_nearest_section_upwards_wins(tmp_path: Path) -> None:
    loaded(tmp_path, "[tool.sabueso]\nbudget = 0.5\n")
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "a" / "pyproject.toml").write_text("[project]\nname = 'a'\n")
    assert load(inner).budget == 0.5


@pytest.mark.parametrize(
    "text, said",
    [
        ("[tool.sabueso]\nselect = 'one'\n", "select in [tool.sabueso] can't be 'one'; it is a list"),
        ("[tool.sabueso]\nselect = [1]\n", "select"),
        ("[tool.sabueso]\nbudget = 3\n", "share between 0 and 1"),
        ("[tool.sabueso]\nbudget = true\n", "budget"),
        ("[tool.sabueso]\nstrict = 'yes'\n", "true or false"),
        ("[tool.sabueso]\nchecks = {one-fault = 3}\n", "a table a check"),
        ("[tool.sabueso]\nignored = []\n", "no key 'ignored' (it has: select, ignore"),
        ("[tool.sabueso\n", "no valid TOML"),
        ("[tool]\nsabueso = 3\n", "must be a table"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        loaded(tmp_path, text)
    assert said in str(error.value) and "\n" not in str(error.value)
    assert str(tmp_path / "pyproject.toml") in str(error.value)


@pytest.mark.parametrize("key", ["select", "ignore"])
def test_unknown_check(key: str) -> None:
    with pytest.raises(ConfigError, match="no check named 'one-falt'"):
        Config(**{key: ["one-falt"]}).chosen(CHECKS)


def test_unknown_setting() -> None:
    with pytest.raises(ConfigError, match="no setting 'patient' .it has: patience"):
        Config(checks={"one-fault": {"patient": 3}}).chosen(CHECKS)


def test_setting_of_another_kind() -> None:
    with pytest.raises(ConfigError, match="patience of check one-fault can't be 'long'"):
        Config(checks={"one-fault": {"patience": "long"}}).chosen(CHECKS)


def test_command_line_comes_first() -> None:
    settings = Config(select=["one-fault"])
    settings.narrow(["other-fault"], [])
    assert list(settings.chosen(CHECKS)) == ["other-fault"]
    settings.narrow([], ["other-fault"])
    assert list(settings.chosen(CHECKS)) == []


def test_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SABUESO_HOME", raising=False)
    assert Config().home() == Path(".sabueso/runs")
    assert Config(dir="x").home() == Path("x")
    monkeypatch.setenv("SABUESO_HOME", "/held")
    assert Config().home() == Path("/held/runs")
