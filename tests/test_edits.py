"""Remedies as edits: applied to the person's own line where there is one way to, refused else; a Fault with its edit is silent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from programs import told, watched
from test_checks import diagnosis_of, program

from sabueso import edits
from sabueso.checks import catalogue
from sabueso.diagnoses import Diagnosis
from sabueso.findings import Finding
from sabueso.places import Place
from sabueso.show import markdown, sarif, source, text

MENDED = [
    (("before", "opt.zero_grad()"), "for b in x:\n    loss(b).backward()\n    opt.step()\n", 2, "    opt.zero_grad()\n    loss(b).backward()"),
    (("after", "opt.step()"), "opt = 1\nf().backward()  # why\ng()\n", 2, "f().backward()  # why\nopt.step()\ng()"),
    (("around", "m.eval()", "m.train()"), "def f(m):\n    s = m(\n        1)\n", 2, "    m.eval()\n    s = m(\n        1)\n    m.train()\n"),
    (("after", "opt.step()"), "class A:\n    def f(self):\n        self.opt.zero_grad()\n        b()\n", 4, "        b()\n        self.opt.step()"),
    (("without", "fee"), 'C = ["a", "fee"]\n', 1, 'C = ["a"]'),
    (("without", "fee"), 'C = ["fee",\n     "b"]\n', 1, 'C = ["b"]'),
    (("without", "Softmax"), "m = S(L(1, 2), R(), nn.Softmax(dim=1))\n", 1, "m = S(L(1, 2), R())"),
    (("keyword", "DataLoader", "shuffle", "True"), "d = DataLoader(\n    rows,\n    batch_size=4,\n)\n", 3, "    batch_size=4, shuffle=True\n)"),
    (("keyword", "DataLoader", "batch_size", "64", 1), "d = DataLoader(rows, 1)\n", 1, "DataLoader(rows, 64)"),
    (("keyword", "SGD", "lr", "0.1", 1), "o = SGD(m.parameters(), lr=args.lr)\n", 1, "lr=0.1"),
    (("keyword", "softmax", "dim", "1", -1), "p = x.softmax(0)\n", 1, "x.softmax(1)"),
    (("keyword", "softmax", "dim", "1", -1), "p = F.softmax(x, 0)\n", 1, "F.softmax(x, 1)"),
    (("keyword", "KFold", "shuffle", "True"), "cv = KFold()\n", 1, "KFold(shuffle=True)"),
    (("wrap", "sqrt", "{} + 1e-8"), "d = torch.sqrt((a - b).pow(2).sum(1))\n", 1, "torch.sqrt((a - b).pow(2).sum(1) + 1e-8)"),
    (("wrap", "sqrt", "{} + 1e-8"), "d = x.sum(1).sqrt()\n", 1, "d = (x.sum(1) + 1e-8).sqrt()"),
    (("wrap", "sqrt", "{} + 1e-8"), "d = (a * b).sqrt()\n", 1, "d = (a * b + 1e-8).sqrt()"),
    (("wrap", "log", "{}.clamp(min=1e-7)"), "d = torch.log(1 - p)\n", 1, "torch.log((1 - p).clamp(min=1e-7))"),
    (("unwrap", "detach"), "y = f(x).detach() + 1\n", 1, "y = f(x) + 1"),
    (("unwrap", "softmax"), "return_ = F.softmax(self.fc(x), dim=1)\n", 1, "return_ = self.fc(x)"),
    (("exchange", "f1_score"), "s = f1_score(guess, truth, average='macro')\n", 1, "f1_score(truth, guess, average='macro')"),
    (("assign",), "t['age'].fillna(0, inplace=True)\n", 1, "t['age'] = t['age'].fillna(0)"),
    (("replace", "a.b", "c"), "x = a.b + d\n", 1, "x = c + d"),
    (("keyword", "SGD", "lr", "0.1", 1), "größe = SGD(m, 'ü', lr=1)\n", 1, "größe = SGD(m, 'ü', lr=0.1)"),
]
REFUSED = [
    (("before", "opt.zero_grad()"), "def f():\n    opt = 1\ndef g(x):\n    x.backward()\n", 4),  # the name is another function's
    (("before", "opt.zero_grad()"), "opt = 1\nif opt: x.backward()\n", 2),
    (("after", "opt.step()"), "opt = 1\nx.backward(); y()\n", 2),
    (("without", "fee"), 'C = ["fee"]\nD = ["a", "fee", "fee"]\n', 2),
    (("without", "fee"), 'C = ["fee"]\n', 1),
    (("keyword", "DataLoader", "shuffle", "True"), "d = DataLoader(rows, **more)\n", 1),
    (("keyword", "DataLoader", "shuffle", "True"), "d = DataLoader(rows, shuffle=True)\n", 1),  # it is so already
    (("keyword", "DataLoader", "shuffle", "True"), "d = DataLoader(rows), DataLoader(test)\n", 1),
    (("keyword", "SGD", "lr", "1", 1), "d = SGD(\n  rows,  # all\n)\n", 1),  # it would end in the comment
    (("assign",), "t[t.x > 0].fillna(0, inplace=True)\n", 1),  # a copy
    (("assign",), "x = 1\n", 1),
    (("around", "m.eval()", "m.train()"), "def f(m):\n    return m(1)\n", 2),
    (("unwrap", "softmax"), "y = softmax()\n", 1),
    (("before", "opt.zero_grad()"), "%matplotlib inline\n", 1),
    (("unknown", "x"), "x = 1\n", 1),
    (("replace", "x", "y"), "x = 1\n", 9),
]
# Faults whose finding carries an edit that mends them whole
CHECKS = ("evaluated-in-train-mode", "learning-rate-too-high", "loss-activation-mismatch", "missing-zero-grad", "nonfinite-loss", "wrong-softmax-dim")


@pytest.mark.parametrize("edit,text,line,wanted", MENDED, ids=lambda v: v if isinstance(v, str) else None)
def test_an_edit_is_applied(edit: tuple[Any, ...], text: str, line: int, wanted: str) -> None:
    made = edits.applied(edit, text, line)
    assert made is not None and wanted in made, made
    assert {sign for sign, _ in edits.lines(text, made)} <= {"+", "-", " "}


@pytest.mark.parametrize("edit,text,line", REFUSED)
def test_an_edit_is_refused(edit: tuple[Any, ...], text: str, line: int) -> None:
    assert edits.applied(edit, text, line) is None


def test_every_report_shows_the_edit(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('C = ["a", "fee"]\n')
    finding = Finding("x", Place(file="a.py", line=1), remedy="leave it out", check="c", severity="error", confidence=0.9, edit=("without", "fee"))
    run = {"cwd": str(tmp_path), "command": ["python", "a.py"], "outcome": "succeeded"}
    assert source.diff(finding, run) == [("-", 'C = ["a", "fee"]'), ("+", 'C = ["a"]')]
    assert '+ C = ["a"]' in markdown.render(Diagnosis(run, [finding], [finding], [], [], []))
    (fix,) = json.loads(sarif.render(Diagnosis(run, [finding], [finding], [], [], [])))["runs"][0]["results"][0]["fixes"]
    (change,) = fix["artifactChanges"][0]["replacements"]
    assert change["deletedRegion"] == {"startLine": 1, "startColumn": 1, "endLine": 2, "endColumn": 1} and change["insertedContent"]["text"] == 'C = ["a"]\n'
    assert Finding.of({**finding.as_dict(), "check": "c"}).edit == finding.edit
    (tmp_path / "a.py").write_text(f"NUMBERS, C = {list(range(40))}, ['a', 'fee', 'b']\n")
    said = text.render(Diagnosis(run, [finding], [finding], [], [], []), text.Paper(80))
    assert "…" in said and "['a', 'fee', 'b']" in said and "['a', 'b']" in said  # a long line begins shortly before the change
    (tmp_path / "a.py").write_text("another = 1\n")
    assert source.diff(finding, run) == []
    assert edits.lines("a:\n    b\n    c\n    d\n", "a:\n    b\n    new\n    c\n    d\n") == [(" ", "b"), ("+", "new"), (" ", "c")]


@pytest.mark.parametrize("name", CHECKS)
def test_a_fault_with_its_edit_is_silent(name: str, tmp_path: Path) -> None:
    text = program(catalogue()[name], "Fault")
    first = diagnosis_of(text, tmp_path)["culprits"][0]
    made = edits.applied(tuple(first["edit"]), text, first["place"]["line"])
    assert made is not None, first
    (tmp_path / "mended.py").write_text(made)
    diagnosis = watched(tmp_path / "mended.py")
    assert not diagnosis["culprits"], made + told(diagnosis)
