"""`sabueso.watch()` in one process, for notebooks and tests."""

from __future__ import annotations

import sys
import threading
import traceback
from pathlib import Path

import pytest

import sabueso
from sabueso.launch import child


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SABUESO_HOME", raising=False)


def test_diagnosis_at_the_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with sabueso.watch() as seen:
        assert seen.diagnosis is None
        with sabueso.stage("deploy"):
            child.active.fact("stage_seen", {"stage": "deploy"})  # type: ignore[union-attr]
    assert seen.diagnosis is not None and seen.diagnosis.run["outcome"] == "succeeded"
    assert seen.diagnosis.run["stages"] == ["deploy"] and not seen.diagnosis.culprits
    assert "sabueso: watched deploy" in capsys.readouterr().err
    assert child.active is None and not [t for t in threading.enumerate() if t.name.startswith("sabueso")]


def test_exception_passes_with_its_own_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    def fails() -> None:
        raise KeyError("mine")

    try:
        with sabueso.watch(quiet=True) as seen:
            fails()
    except KeyError as error:
        frames = [f.name for f in traceback.extract_tb(error.__traceback__)]
    assert frames == ["test_exception_passes_with_its_own_traceback", "fails"]
    assert seen.diagnosis is not None and seen.diagnosis.run["crash"]["type"] == "KeyError"
    assert capsys.readouterr().err == ""


def test_within_another_it_is_part_of_that_one() -> None:
    with sabueso.watch(quiet=True) as outer:
        with sabueso.watch() as inner:
            pass
        assert inner.folder == outer.folder and inner.diagnosis is None
        assert child.active is not None
    assert outer.diagnosis is not None


def test_nowhere_to_write(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".sabueso").write_text("in the way")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "absent"))
    with sabueso.watch() as seen:
        ran = True
    assert ran and seen.diagnosis is None and seen.folder is None
    assert "use --dir" in capsys.readouterr().err


def test_run_folder_taken_away(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import shutil

    with pytest.raises(ValueError, match="mine"), sabueso.watch() as seen:
        shutil.rmtree(tmp_path / ".sabueso")
        raise ValueError("mine")
    assert seen.diagnosis is None and "sabueso: " in capsys.readouterr().err


def test_many_in_one_process() -> None:
    hooks = sys.excepthook, list(sys.meta_path)
    for _ in range(3):
        with sabueso.watch(quiet=True) as seen:
            pass
        assert seen.diagnosis is not None and not seen.diagnosis.own_errors
    assert hooks == (sys.excepthook, list(sys.meta_path))


def test_unknown_stage() -> None:
    with pytest.raises(ValueError, match="no stage named 'training': use one of ingest"), sabueso.stage("training"):
        pass


def test_stages_that_evidence_implies() -> None:
    from sabueso.events import Fact
    from sabueso.runs import Run
    from sabueso.wiring import stages_met

    facts = [Fact("stage_seen", {"stage": "deploy"}), Fact("table_read", {}), Fact("inputs", {"method": "transform"}), Fact("inputs", {"method": "score"})]
    assert stages_met(Run(facts=facts)) == {"ingest", "preprocess", "train", "deploy"}
