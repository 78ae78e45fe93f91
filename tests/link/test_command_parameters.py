"""Parameters of functions that click, typer and fire call with what a command line says."""

from __future__ import annotations

from typing import Any

import pytest

from distlint.rehearsal.witnesses import second_opinion
from tests.conftest import MakeProject
from tests.link.test_evaluate import shown

CLICK = """
import click
SIZE = 2
@click.command()
@click.option("--kind", default="plain")
@click.option("--overlap/--no-overlap", default=True)
@click.option("-s", "--mesh-size", "size", type=int, default=SIZE)
@click.option("--rate", default=0.5)
@click.option("--fast", is_flag=True)
@click.option("--many", multiple=True)
@click.argument("config")
def run(kind, overlap, size, rate, fast, many, config):
    probe([kind, overlap, size, rate, fast])
    probe(config)
    probe(many)
if __name__ == "__main__":
    run(standalone_mode=False)
"""
TYPER = """
import typer
from typing import Annotated, Optional
def main(
    size: int = 1, overlap: bool = False, kind: Annotated[str, typer.Option("--kind-of")] = "plain", rate: Optional[float] = None
):
    probe([kind, overlap, size, rate])
typer.run(main)
"""
APPLICATION = """
import typer
app = typer.Typer()
def plan(size):
    return dict(size=size * 2)
@app.command()
def train(size: int = typer.Option(1, "--mesh"), name: str = "x"):
    probe([plan(size)["size"], name])
@app.command("check-it")
def check(size: int = 3):
    probe(size)
if __name__ == "__main__":
    app()
"""
GROUP = """
import click
@click.group()
def cli():
    pass
@cli.command()
@click.option("--size", default=1)
def train_it(size):
    probe(size)
@cli.command()
@click.option("--size", default=2)
def other(size):
    probe(size)
cli()
"""
FIRE = """
import fire
def main(size=1, kind="plain", overlap=False):
    probe([size, kind, overlap])
if __name__ == "__main__":
    fire.Fire(main)
"""


def seen(make_project: MakeProject, body: str, options: str) -> list[Any]:
    """What the arguments of ``probe`` are in the only run."""
    project = make_project({"train.py": body, "run.sh": f"torchrun --nproc_per_node 4 train.py {options}\n"})
    project.second_opinion = second_opinion
    (run,) = project.runs
    evaluator = project.evaluator(run)
    return [
        shown(evaluator.ask(found.site.call.args[0], found.file, found.site.function))
        for found in project.sites("probe")
    ]


@pytest.mark.parametrize(
    ("body", "options", "expected"),
    [
        (CLICK, "a.yaml", [["plain", True, 2, 0.5, False], "a.yaml", "?"]),
        (CLICK, "--kind zero --no-overlap -s 4 --rate 2 --fast a.yaml", [["zero", False, 4, 2.0, True], "a.yaml", "?"]),
        (CLICK, "--mesh-size=8 a.yaml", [["plain", True, 8, 0.5, False], "a.yaml", "?"]),
        (TYPER, "", [["plain", False, 1, None]]),
        (TYPER, "--size 4 --overlap --kind-of zero --rate 0.5", [["zero", True, 4, 0.5]]),
        (TYPER, "--no-overlap", [["plain", False, 1, None]]),
        (APPLICATION, "train --mesh 4 --name y", [[8, "y"], "?"]),
        (APPLICATION, "check-it --size 5", [["?", "?"], 5]),
        (GROUP, "train-it --size 4", [4, "?"]),
        (GROUP, "other", ["?", 2]),
        (FIRE, "", [[1, "plain", False]]),
        (FIRE, "--size 4 --kind=zero --overlap", [[4, "zero", True]]),
        (FIRE, "--size=4 --nooverlap", [[4, "plain", False]]),
        (FIRE, "4 zero", [[4, "zero", False]]),
        (FIRE, "-s 4 -k 1e3", [[4, 1000.0, False]]),
        (FIRE, "--kind '[1,2]'", [[1, "?", False]]),
    ],
)
def test_a_parameter_is_what_the_command_line_gives(
    make_project: MakeProject, body: str, options: str, expected: list[Any]
) -> None:
    assert seen(make_project, body, options) == expected


def test_without_a_launch_a_default_is_possible_only(make_project: MakeProject) -> None:
    project = make_project({"train.py": CLICK})
    found = next(iter(project.sites("probe")))
    value = project.evaluator(None).ask(found.site.call.args[0], found.file, found.site.function)
    assert shown(value) == ["plain", True, 2, 0.5, False]
    assert all(item.value.confidence.name == "POSSIBLE" for item in value.items)
