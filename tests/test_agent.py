"""`sabueso mcp`, driven by the official client: from a broken program to the confirmed remedy in three calls."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")
from mcp import StdioServerParameters  # noqa: E402

from sabueso.commands import agent  # noqa: E402

try:
    from mcp import Client
except ImportError:  # an older library
    pytest.skip("the client of mcp 2 is needed", allow_module_level=True)

BROKEN = """
import os
import torch
torch.manual_seed(0)
x = torch.randn(96, 5)
y = x.sum(1, keepdim=True)
net = torch.nn.Linear(5, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.02)
for step in range(60):
    rows = torch.randint(0, 96, (16,))
    loss = torch.nn.functional.mse_loss(net(x[rows]), y[rows])
    loss.backward()
    opt.step()
print("done", os.environ.get("MY_API_KEY"))
"""


def test_from_a_broken_program_to_the_confirmed_remedy(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(BROKEN)
    answers: list[str] = []

    async def drive() -> None:
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "sabueso", "mcp"], env={**os.environ, "MY_API_KEY": "abcdef-123456"}, cwd=str(tmp_path)
        )
        async with Client(server) as client:
            tools = {t.name for t in (await client.list_tools()).tools}
            assert tools == {"run", "diagnosis", "evidence", "confirm", "diff", "explain"}

            async def call(name: str, **arguments: Any) -> dict[str, Any]:
                answers.append((await client.call_tool(name, arguments)).content[0].text)
                return json.loads(answers[-1])

            told = await call("run", command="train.py")
            assert told["culprits"][0]["check"] == "missing-zero-grad" and told["culprits"][0]["place"]["line"] == 12
            assert told["output"] == "done (hidden)\n"
            assert (await call("explain", check="missing-zero-grad"))["interventions"] == ["gradients cleared"]
            assert (await call("confirm"))["verdict"] == "went away"

    asyncio.run(drive())
    assert sum(map(len, answers)) < 4 * 4_000 and max(map(len, answers)) < 4 * 1_500  # about four characters a token


def test_answers_are_short_and_paged(tmp_path: Path) -> None:
    long = agent.answer({"rows": list(range(5000))})
    assert len(long) < 5_000 and "ask with page=2" in long
    whole = "".join(agent.answer({"rows": list(range(5000))}, p).split("\n[page")[0] for p in range(1, 20))
    assert json.loads(whole) == {"rows": list(range(5000))}


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    for text in (agent.diagnosis(directory=str(tmp_path)), agent.evidence(directory=str(tmp_path)), agent.diff("a", "b", directory=str(tmp_path))):
        assert "no runs in" in json.loads(text)["error"]
    assert "no check named" in agent.explain("nothing")
    assert json.loads(agent.run("nothing.py", str(tmp_path)))["error"]


def test_evidence_is_shown_short(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n3,4\n")
    (tmp_path / "t.py").write_text("import pandas as pd\npd.read_csv('rows.csv')\n")
    told = json.loads(agent.run("t.py", str(tmp_path)))
    assert told["culprits"] == [] and told["run"]["outcome"] == "succeeded"
    assert "table_read" in json.loads(agent.evidence(directory=str(tmp_path)))["names"]
    seen = json.loads(agent.evidence("table_read", directory=str(tmp_path)))["found"]
    assert seen[0]["value"]["rows"] == 2 and seen[0]["place"]["line"] == 2
    assert json.loads(agent.evidence("column", "b", directory=str(tmp_path)))["found"]
    assert json.loads(agent.diagnosis(directory=str(tmp_path)))["run"]["id"] == told["run"]["id"]
