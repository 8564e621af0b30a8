"""Commands that need more than the base install or more than a moment to load: imported by name when they are asked for."""

from __future__ import annotations

from importlib import import_module

import click

LATER = {  # command -> (module of this folder, what `sabueso --help` says of it)
    "check": ("data", "Check tables without a program: quality, leakage between train and test, drift, contracts."),
    "confirm": ("probe", "Try a finding's remedy: run the program again in a copy of its folder with that one thing changed."),
    "contract": ("data", "What a table is promised to be: infer it, export it."),
    "export": ("exchange", "Write a run for another tool: Parquet, a trace, TensorBoard, MLflow."),
    "import": ("exchange", "Make runs of the curves of TensorBoard or MLflow."),
    "diff": ("probe", "Lay two runs side by side: the first value that differs by more than rounding, and what could explain it."),
    "mcp": ("agent", "Serve the tools of sabueso to a coding agent over stdio."),
    "report": ("see", "Write a run as one HTML file that opens anywhere and loads nothing."),
    "ui": ("see", "Show the runs as a page on this machine, live while one goes on."),
}


class Group(click.Group):
    """A group whose later commands are known by name, and loaded only when one of them is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *LATER})

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in LATER:
            return super().get_command(ctx, name)
        return getattr(import_module(f".{LATER[name][0]}", __name__), "import_" if name == "import" else name)  # type: ignore[no-any-return]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """As click does it, without loading what is later."""
        rows = [(n, LATER[n][1] if n in LATER else super(Group, self).get_command(ctx, n).get_short_help_str(200)) for n in self.list_commands(ctx)]  # type: ignore[union-attr]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
