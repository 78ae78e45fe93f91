"""Broken and hostile repositories: bad files have a clear entry, the others are judged, nothing runs or hangs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import distlint
from distlint.cli.main import commands
from distlint.model.source import MAX_BYTES

IDLE = "# distlint: enable[ALL]\n"
"""A comment that one of our own rules always objects to: whatever reads the file finds it."""

USE = "import argparse, torch.distributed, deepspeed\n"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with one sound file."""
    return fill(tmp_path / "project", {".git/HEAD": "", "sound.py": IDLE})


def fill(root: Path, contents: Mapping[str, str | bytes]) -> Path:
    for name, content in contents.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs the command line and gives exit code, standard output and standard error."""

    def run(path: Path, *options: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            commands(["check", "--jobs", "1", "--quiet", *options, str(path)])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return int(end.value.code or 0), out, err

    return run


def judged(check: Callable[..., tuple[int, str, str]], root: Path) -> dict[str, Any]:
    """The JSON report; the sound file must have been judged, and no rule or reader may have failed."""
    code, out, err = check(root, "--output-format", "json")
    assert code == 1, err
    report = json.loads(out)
    assert [found["file"] for found in report["findings"] if found["code"] == "LINT001"][-1] == "sound.py"
    return report


def errors(report: dict[str, Any]) -> dict[str, str]:
    return {error["file"]: error["message"] for error in report["errors"]}


BROKEN: dict[str, str | bytes] = {
    "truncated.json": '{"zero_optimization": {"stage": 3',
    "truncated.yaml": 'deepspeed_config: {a: [1, 2\n  b: "x',
    "truncated.toml": '[tool.deepspeed\nx = "',
    "syntax.py": USE + "def f(:\n",
    "binary.py": bytes(range(256)) + b"deepspeed",
    "binary.json": bytes(range(256)) + b"zero_optimization",
    "latin.py": b"import deepspeed\nx = '\xe9'\n",
    "latin.json": b'{"zero_optimization": "\xe9"}',
    "codec.py": f"# coding: nosuch\n{USE}",
    "host_name_codec.py": f"# coding: punycode\n{USE}#{'a' * 100_000}-{'zzzz' * 100_000}",
    "compressed.py": f"# coding: zlib\n{USE}",
    "nul.yaml": b"deepspeed: 1\0",
    "control.yaml": b"deepspeed: \x01",
    "deep.json": '{"zero_optimization": ' * 10_000 + "1" + "}" * 10_000,
    "deep.yaml": "deepspeed: " + "[" * 10_000,
    "deep.toml": "deepspeed = " + "[" * 10_000,
    "brackets.py": f"{USE}x = {'(' * 10_000}1{')' * 10_000}\n",
    "attributes.py": f"{USE}x = a{'.b' * 100_000}\n",
    "dicts.py": f"{USE}x = {'{1: ' * 10_000}1{'}' * 10_000}\n",
    "signs.py": f"{USE}x = {'-' * 10_000}1\n",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_can_not_be_read_has_an_entry_and_the_rest_is_judged(root, check, name):
    report = judged(check, fill(root, {name: BROKEN[name]}))
    assert errors(report).keys() == {name}
    assert errors(report)[name].strip()


@pytest.mark.parametrize(
    "name", ["a.py", "a.json", "a.yaml", "a.toml", "a.sh", "requirements.txt", "setup.cfg", "uv.lock", "Dockerfile"]
)
def test_a_huge_file_is_not_read(root, check, name):
    fill(root, {name: "deepspeed zero_optimization torchrun\n"})
    os.truncate(root / name, 50_000_000)
    assert errors(judged(check, root)) == {name: f"not read: 50000000 bytes, more than the limit of {MAX_BYTES}"}


ODD: dict[str, dict[str, str | bytes]] = {
    "wide characters": {"a.json": '{"zero_optimization": {"stage": 1}}'.encode("utf-16")},
    "byte order mark": {"a.json": b'\xef\xbb\xbf{"zero_optimization": {"stage": 1}}'},
    "latin with a declaration": {"a.py": b"# coding: latin-1\nimport deepspeed\nx = '\xe9'\n"},
    "thousands of options": {
        "a.py": f"{USE}p = argparse.ArgumentParser()\n"
        + "".join(f"p.add_argument('--a{number}', default={number})\n" for number in range(2000))
        + "deepspeed.initialize(config=p.parse_args().a7)\n",
        "run.sh": "torchrun a.py " + " ".join(f"--a{number} {number}" for number in range(2000)) + "\n",
    },
    "deep options that a call spreads": {
        "a.py": f"{USE}o = dict(x=a{'.b' * 2500}, y={'-' * 900}a)\ndeepspeed.initialize(**o)\n",
    },
    "options in endless loops": {
        "a.py": f"{USE}p = argparse.ArgumentParser()\nfor i in range(10**9):\n    p.add_argument(f'--a{{i}}')\n"
        "deepspeed.initialize(config=p.parse_args().a7)\n"
    },
    "a dict of many entries": {
        "a.py": f"{USE}deepspeed.initialize(config={{{', '.join(f'{n}: {n}' for n in range(20_000))}}})\n"
    },
    "numbers without end": {
        "a.py": f"{USE}x = 2\n"
        + "x = x**x**x\n" * 50
        + "deepspeed.initialize(config={'train_batch_size': x, 'a': 10**10**10,"
        " 'b': 1 << 10**12, 'c': 'a' * 10**12, 'd': [0] * 10**10, 'e': '%10000000000d' % 1,"
        " 'f': f'{1:10000000000}'})\n",
        "run.sh": "torchrun --nproc_per_node $((9**9**9**9)) a.py $((1<<99999999999)) $((1/0))\n",
    },
    "widths without end": {
        "a.py": f"{USE}import torch.distributed as dist\ndist.init_process_group('gloo')\n"
        + "".join(
            f"x = {made}\nif x:\n    dist.barrier()\n"
            for made in (
                "'{:9999999999d}'.format(1)",
                "format(1, '9999999999d')",
                "'%*d' % (10**10, 1)",
                "'{:{w}}'.format(1, w=10**10)",
                "'{a:9999999999}'.format_map({'a': 1})",
                "'a'.expandtabs(tabsize=10**10)",
                "'%.1000000000f' % 1.0",
                "bytes(10**10)",
            )
        )
    },
    "texts that double": {
        "a.py": f"{USE}d = 'a'\n" + "d = d + d\n" * 500 + "deepspeed.initialize(config=d)\n",
        "run.sh": "A=x\n"
        + "A=$A$A\n" * 500
        + "torchrun a.py $A {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b} {1..1000000000}\n",
    },
    "functions that call each other": {
        "a.py": USE
        + "".join(
            f"def f{n}(x):\n    return f{(n * 7 + 1) % 1000}(x) or f{(n * 13 + 5) % 1000}(x)\n" for n in range(1000)
        )
        + "deepspeed.initialize(config=f0('x'))\n"
    },
    "modules that import each other": {
        f"m{n}.py": f"{USE}from m{(n + 1) % 40} import *\nfrom m{(n + 7) % 40} import g{n}\n"
        f"deepspeed.initialize(config=g{n}(f))\n"
        for n in range(40)
    },
    "classes without a root": {"a.py": USE + "class A(B): pass\nclass B(C): pass\nclass C(A): pass\nA().step(A.x)\n"},
    "a script that starts itself": {"o.sh": "while true; do source o.sh; bash o.sh; . ./o.sh; torchrun t.py; done\n"},
    "scripts that source each other": {"p.sh": "source q.sh; torchrun t.py\n", "q.sh": "source p.sh; torchrun t.py\n"},
    "functions of the shell without end": {"r.sh": "f() { f; g; }\ng() { f; g; torchrun t.py; }\nf\n"},
    "loops in loops": {"v.sh": "for a in 1 2 3 4 5 6 7 8 9; do " * 30 + "torchrun t.py $a" + "; done" * 30 + "\n"},
    "a long chain of tests": {
        "a.sh": "".join(f"if [ $x = {n} ]; then A=$A{n}; fi\n" for n in range(300)) + "torchrun t.py $A\n"
    },
    "a long line": {"a.py": f"{USE}x = '{'a' * 1_000_000}'\n", "a.sh": f"torchrun t.py {'a' * 1_000_000}\n"},
    "aliases of aliases": {
        "a.yaml": "deepspeed: 1\na0: &a0 [x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 40)),
        "b.yaml": "deepspeed: &a {b: *a, <<: *a}\n",
        "environment.yml": "dependencies: &a\n- pip: *a\n- *a\n",
    },
    "tags": {
        "a.yaml": "deepspeed: !!python/object/apply:os.system ['exit 1']\nb: !!int zz\nc: 2001-99-99\n? [a]\n: b\n"
    },
    "requirements in a circle": {
        "requirements.txt": "-r requirements.txt\n-c ../../../etc/hostname\n-r /etc/hostname\ndeepspeed\n"
    },
    "patterns of ignore files": {".gitignore": "*a" * 100 + "b\n" + "**/a*/" * 100 + "b\n", "a" * 200 + ".py": USE},
}


@pytest.mark.parametrize("name", ODD)
def test_what_is_odd_but_readable_is_no_failure(root, check, name):
    judged(check, fill(root, ODD[name]))


def test_a_here_document_without_end_is_read_as_far_as_it_goes(root, check):
    judged(check, fill(root, {"a.sh": 'torchrun t.py\ncat > x.json <<EOF\n{"zero_optimization": 1}\n'}))


@pytest.mark.parametrize("branches", [500, 5000])
def test_a_long_chain_of_branches(root, check, branches):
    text = (
        f"{USE}if a: x = 1\n"
        + "".join(f"elif a == {n}: x = {n}\n" for n in range(branches))
        + "deepspeed.initialize(config=x)\n"
    )
    judged(check, fill(root, {"a.py": text}))


def test_links_and_pipes_are_harmless(root, check):
    for name, target in {
        "loop.py": "loop.py",
        "out.py": "/etc/hostname",
        "none.json": "none",
        "up": "..",
        "zero.py": "/dev/zero",
    }.items():
        (root / name).symlink_to(target)
    for name in ("pipe.py", "requirements.txt", "pyproject.toml", "distlint.toml"):
        os.mkfifo(root / name)
    assert errors(judged(check, root)) == {}


# Names and texts that a terminal, a log or a report would act upon ---------------------------------------------------

NAMES = [
    "a\nb.py",
    "::error::x.py",
    "\x1b[31m.py",
    " a b .py",
    os.fsdecode(b"\xff\xfe.py"),
    "a\r.py",
    "-rf.py",
    "\u202egnp.py",
    "%0A::x.py",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["text", "concise", "json", "sarif", "github", "gitlab", "junit"])
def test_no_file_name_breaks_a_report(root, check, name, kind):
    code, out, err = check(
        fill(root, {name: IDLE, f"{name}.json": '{"zero_optimization": '}), "--output-format", kind, "--verbose"
    )
    assert code == 1, err
    for text in (out, err):
        assert "\x1b" not in text
        text.encode()
        if kind != "junit":  # data for programs, which may hold any character that XML may
            assert "\r" not in text
            assert "\u202e" not in text
    if kind != "github":
        assert not [line for line in (out + err).splitlines() if line.startswith("::")]
    else:
        assert all(
            line.startswith(("::warning ", "::error ", "::notice "))
            for line in out.splitlines()
            if line.startswith("::")
        )
        assert not [line for line in err.splitlines() if line.startswith("::")]


def test_the_file_list_is_harmless_too(root, check):
    code, out, _ = check(fill(root, dict.fromkeys(NAMES, IDLE)), "--show-files")
    assert code == 0
    assert "\x1b" not in out
    assert not [line for line in out.splitlines() if line.startswith("::")]


# Settings ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        b"[tool.distlint]\nselect = 3\n",
        b'[tool.distlint]\nselect = "\xff"\n',
        b'[tool]\ndistlint = 1  # [tool.distlint]"\n',
        b"[tool.distlint\n",
        b"[tool.distlint]\nnope = 1\n",
        b'[tool.distlint]\nextend = "pyproject.toml"\n',
        b'[tool.distlint]\nextend = "../../outside.toml"\n',
        b'[tool.distlint]\nrules = ["/etc"]\n',
        b'[tool.distlint]\nworld-size = "many"\n',
        b"[tool.distlint]\nselect = " + b"[" * 100_000,
    ],
)
def test_settings_that_are_wrong_end_with_one_line_that_names_the_place(root, check, text):
    code, out, err = check(fill(root, {"pyproject.toml": text}))
    assert (code, out) == (2, "")
    assert err.startswith("Error: pyproject.toml:")
    assert len(err.splitlines()) == 1


def test_patterns_in_settings_do_not_blow_up(root, check):
    patterns = f'exclude = ["{"*a" * 100}b"]\n'
    judged(check, fill(root, {"distlint.toml": patterns, "a" * 200 + ".py": IDLE}))


# Nothing of the repository runs --------------------------------------------------------------------------------------


def test_nothing_of_the_repository_is_imported_or_run(root):
    mark = root.parent / "STARTED"
    planted = f"open({str(mark)!r}, 'w')\n{IDLE}"
    names = (
        "json",
        "yaml",
        "click",
        "rich",
        "ast",
        "pickle",
        "sqlite3",
        "hashlib",
        "sitecustomize",
        "conftest",
        "setup",
        "train",
    )
    fill(root, {f"{name}.py": planted for name in names})
    fill(
        root,
        {
            ".distlint_cache/facts": planted,
            "rules/own.toml": "nonsense",
            "config.yaml": "deepspeed: !!python/name:train.x\n",
        },
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(distlint.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-m", "distlint", "check", "--output-format", "json", "."],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert len(json.loads(done.stdout)["findings"]) >= len(names)
    assert not mark.exists()


# The contract of the exit code ---------------------------------------------------------------------------------------


def test_a_broken_file_alone_is_no_finding(tmp_path, check):
    fill(tmp_path, {".git/HEAD": "", "a.json": '{"zero_optimization": '})
    assert check(tmp_path)[0] == 0


@pytest.mark.parametrize("content", [b"import deepspeed\nx = '\xff'\n", b"\0deepspeed"])
def test_a_broken_file_that_is_named_is_a_failure(root, check, content):
    assert check(fill(root, {"a.py": content}) / "a.py")[0] == 2


def test_a_named_file_of_no_known_kind_is_a_failure(root, check):
    code, _, err = check(fill(root, {"notes.md": "x"}) / "notes.md")
    assert code == 2
    assert "notes.md: is no kind of file that distlint reads" in err


def test_a_missing_path_is_a_failure(root, check):
    assert check(root / "nothing.py")[0] == 2


def test_an_empty_folder_is_clean_and_a_note_says_that_nothing_was_read(tmp_path, capsys):
    with pytest.raises(SystemExit) as end:
        commands(["check", str(tmp_path)])
    assert not end.value.code
    assert "no file was read" in capsys.readouterr().err
