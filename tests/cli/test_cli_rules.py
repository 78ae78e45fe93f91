from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from distlint.cli import main

pytestmark = pytest.mark.usefixtures("sample_rules")

GEN_DOCS = str(Path(__file__).parents[2] / "tools" / "gen_docs.py")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main.commands, arguments)


@pytest.mark.parametrize("word", ["DS103", "ds103", "param-offload-needs-zero3"])
@pytest.mark.parametrize("name", ["rule", "explain"])
def test_rule_is_found_by_code_and_name(name, word):
    result = run(name, word)
    assert result.exit_code == 0
    assert result.stdout.startswith("DS103: param-offload-needs-zero3\n")


def test_rule_as_markdown_and_json():
    assert run("rule", "DS103", "--output-format", "markdown").stdout.startswith("# DS103: param-offload-needs-zero3\n")
    written = json.loads(run("rule", "DS103", "--output-format", "json").stdout)
    assert (written["code"], written["severity"], written["fix"]["safety"]) == ("DS103", "error", "unsafe")


def test_unknown_rule_gets_a_suggestion():
    result = run("rule", "DS104")
    assert result.exit_code == 2
    assert "no rule `DS104`; did you mean `DS103`?" in result.stderr


def codes(*arguments: str) -> list[str]:
    result = run("rules", *arguments, "--output-format", "json")
    assert result.exit_code == 0
    return [rule["code"] for rule in json.loads(result.stdout)]


def test_rules_lists_all_in_order():
    assert codes() == ["DS103", "DS201", "PT501", "RUN101"]
    lines = run("rules").stdout.splitlines()
    assert [line.split()[0] for line in lines] == codes()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("ds",), ["DS103", "DS201"]),
        (("DS1", "PT"), ["DS103", "PT501"]),
        (("--severity", "note"), ["RUN101"]),
        (("--severity", "error", "PT"), ["PT501"]),
        (("--root-cause", "configuration-error"), ["DS103", "DS201", "PT501", "RUN101"]),
        (("XX",), []),
    ],
)
def test_rules_can_be_filtered(arguments, expected):
    assert codes(*arguments) == expected


def test_unknown_framework_gets_a_suggestion():
    result = run("rules", "--framework", "deepsped")
    assert result.exit_code == 2
    assert "did you mean `deepspeed`?" in result.stderr


def test_documentation_is_written_checked_and_cleaned_up(tmp_path, capsys):
    main_function = runpy.run_path(GEN_DOCS)["main"]
    arguments = ["--folder", str(tmp_path / "rules")]
    assert main_function([*arguments, "--check"]) == 1
    assert main_function(arguments) == 0
    assert main_function([*arguments, "--check"]) == 0
    assert sorted(path.name for path in (tmp_path / "rules").iterdir()) == [
        "DS103.md",
        "DS201.md",
        "PT501.md",
        "RUN101.md",
        "advisories.md",
        "index.md",
    ]
    assert (
        "[DS103](DS103.md) | param-offload-needs-zero3 | error | unsafe"
        in (tmp_path / "rules" / "index.md").read_text()
    )
    (tmp_path / "rules" / "DS999.md").write_text("left over")
    capsys.readouterr()
    assert main_function([*arguments, "--check"]) == 1
    assert "DS999.md" in capsys.readouterr().out
    main_function(arguments)
    assert not (tmp_path / "rules" / "DS999.md").exists()
