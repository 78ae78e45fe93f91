"""Command lines, assignments and requirements: exact texts after each operation."""

from __future__ import annotations

import pytest

SCRIPT = """#!/bin/bash
export A=1 B="x"
DEBUG=INFO torchrun \\
    --nproc 8 \\
    --nnodes=2 \\
    train.py \\
    --lr 1e-5 \\
    --bf16
deepspeed --gpus 4 train.py --zero "2" --neg -1 > log 2>&1 &
ARGS=(
  --a 1
  --bb
)
OPTS="--x 1 --y"
"""
LINE = 'deepspeed --gpus 4 train.py --zero "2" --neg -1'


def at(part: str) -> str:
    assert part in SCRIPT
    return SCRIPT.replace(part, f"«{part}»", 1)


@pytest.mark.parametrize(
    ("part", "flag", "value", "old", "new"),
    [
        (LINE, "--zero", 3, '"2"', "3"),
        (LINE, "--neg", 3, "-1", "3"),
        (LINE, "--bf16", None, "-1 >", "-1 --bf16 >"),
        (LINE, "--name", "a b", "-1 >", "-1 --name 'a b' >"),
        ("torchrun", "--nnodes", 1, "=2", "=1"),
        ("--nproc", "--nproc", 1, "--nproc 8", "--nproc 1"),
        ("train.py", "--new", 1, "--bf16\n", "--bf16 \\\n    --new 1\n"),
        ("train.py", "--bf16", "yes", "--bf16\n", "--bf16 yes\n"),
    ],
)
def test_set_option(fixed, part: str, flag: str, value: object, old: str, new: str) -> None:
    assert fixed("run.sh", at(part), "set-option", flag=flag, value=value) == SCRIPT.replace(old, new, 1)


def test_set_option_behind_a_word(fixed) -> None:
    marked = at("torchrun").replace("--nnodes=2", "«--nnodes=2»")
    assert fixed("run.sh", marked, "set-option", flag="--q", value=1, spans={"after": 1}) == SCRIPT.replace(
        "=2 \\\n", "=2 \\\n    --q 1 \\\n"
    )
    assert fixed("run.sh", at("torchrun"), "set-option", flag="--q", spans={"after": 0}) == SCRIPT.replace(
        "torchrun \\\n", "torchrun \\\n    --q \\\n"
    )


def test_an_option_that_is_set_already_changes_nothing(fixed) -> None:
    assert fixed("run.sh", at(LINE), "set-option", flag="--zero", value=2) == "! there is nothing to change"
    assert fixed("run.sh", at(LINE), "set-option", flag="--gpus") == "! there is nothing to change"


@pytest.mark.parametrize(
    ("marked", "spans", "old", "new"),
    [
        (at("--bf16"), {}, " \\\n    --bf16\n", "\n"),
        (at("--nnodes=2"), {}, "    --nnodes=2 \\\n", ""),
        (SCRIPT.replace("--lr 1e-5", "«--lr» «1e-5»"), {"value": 1}, "    --lr 1e-5 \\\n", ""),
        (SCRIPT.replace("--gpus 4", "«--gpus» «4»"), {"value": 1}, " --gpus 4", ""),
        (at("--bb"), {}, "  --bb\n", ""),
        (at("--y"), {}, " --y", ""),
        (SCRIPT.replace("--x 1", "«--x» «1»"), {"value": 1}, "--x 1 ", ""),
    ],
)
def test_remove_option(fixed, marked: str, spans: dict[str, int], old: str, new: str) -> None:
    assert fixed("run.sh", marked, "remove-option", spans=spans) == SCRIPT.replace(old, new, 1)


def test_remove_option_at_the_end_of_a_crlf_script(fixed) -> None:
    assert fixed("run.sh", "torchrun \\\r\n  t.py \\\r\n  «--x»\r\n", "remove-option") == "torchrun \\\r\n  t.py\r\n"
    assert fixed("run.sh", "torchrun \\\r\n  t.py \\\r\n  «--x»", "remove-option") == "torchrun \\\r\n  t.py"


def test_rename_option_and_set_value_keep_the_other_half(fixed) -> None:
    assert fixed("run.sh", at("--nnodes=2"), "rename-option", to="--nodes") == SCRIPT.replace("--nnodes", "--nodes")
    assert fixed("run.sh", at("--nnodes=2"), "set-value", value=3) == SCRIPT.replace("=2", "=3")
    assert fixed("run.sh", at("1e-5"), "set-value", value="a;b") == SCRIPT.replace("1e-5", "'a;b'")


def test_set_environment(fixed) -> None:
    assert fixed("run.sh", at(LINE), "set-environment", name="X", value="a b") == SCRIPT.replace(
        LINE, f"X='a b' {LINE}"
    )
    assert fixed("run.sh", at("torchrun"), "set-environment", name="DEBUG", value="WARN") == SCRIPT.replace(
        "INFO", "WARN"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("export «A=1» B=2\n", "export B=2\n"),
        ("export A=1 «B=2»\n", "export A=1\n"),
        ("x\nexport «A=1»\ny\n", "x\ny\n"),
        ("x\nexport «A=1»  # why\ny\n", "x\n# why\ny\n"),
        ("«A=1» cmd\n", "cmd\n"),
        ("«A=1»; cmd\n", "cmd\n"),
        ("export «A=1» && cmd\n", "cmd\n"),
        ("x\nexport «A=1»", "x"),
        ("if x; then\n  «A=1»\nfi\n", "! run.sh: the script would no longer parse"),
    ],
)
def test_remove_assignment(fixed, before: str, after: str) -> None:
    assert fixed("run.sh", before, "remove-assignment") == after


def test_command_lines_in_other_files(fixed) -> None:
    docker = "FROM x\nRUN «pip install a --b c» \\\n && ls\n"
    assert (
        fixed("Dockerfile", docker, "set-option", flag="--b", value="d")
        == "FROM x\nRUN pip install a --b d \\\n && ls\n"
    )


def test_a_command_line_within_a_word(fixed) -> None:
    marked = 'bash -c "«torchrun --a 1 t.py»"\n'
    assert fixed("run.sh", marked, "set-option", flag="--a", value=2) == 'bash -c "torchrun --a 2 t.py"\n'


def test_an_edit_that_breaks_the_script_is_refused(fixed) -> None:
    assert fixed("run.sh", "echo «done»\n", "replace", text='"') == "! run.sh: the script would no longer parse"


@pytest.mark.parametrize(
    ("before", "specifier", "after"),
    [
        ("«torch==1.2; python_version > '3'»  # x\n", "==2", "torch==2; python_version > '3'  # x\n"),
        ("«torch»\n", "<2", "torch<2\n"),
        ("«torch[a] >=1,<2»\n", "", "torch[a]\n"),
        ("«Torch~=1.0»", "~=2.0", "Torch~=2.0"),
        ('    "«torch>=2»",\n', ">=3", '    "torch>=3",\n'),
        ('«torch = "^1.2"»\n', ">=3", 'torch = ">=3"\n'),
        ('«torch = "^1.2"»\n', "", 'torch = "*"\n'),
        ("RUN pip install '«torch==1.2»' x\n", "==2", "RUN pip install 'torch==2' x\n"),
        ("«a @ http://x»\n", ">1", "! the requirement cannot be taken apart"),
        ("«a==1 --hash=sha256:00»\n", ">1", "! the requirement has hashes, which hold for one version only"),
        ("«a==1»\n", "==1", "! there is nothing to change"),
    ],
)
def test_set_specifier(fixed, before: str, specifier: str, after: str) -> None:
    assert fixed("requirements.txt", before, "set-specifier", specifier=specifier) == after
