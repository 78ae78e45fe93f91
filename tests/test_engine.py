"""The whole analysis: paths and scopes, overlays, the cache, worker processes, and the same answer every time."""

from __future__ import annotations

import json
import os
import pickle
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path

import pytest

import distlint
from distlint import facts_cache, workers
from distlint.discover import walk
from distlint.model.report import Report
from distlint.read import reader

IDLE = "# distlint: enable[ALL]\n"
"""A comment that one of our own rules always objects to: whatever reads the file finds it."""

PROJECT = {
    ".git/HEAD": "",
    "train.py": f"import argparse\nimport deepspeed\nimport conf.values as v\n{IDLE}"
    "p = argparse.ArgumentParser()\np.add_argument('--deepspeed_config', default=v.PATH)\n"
    "args = p.parse_args()\ndeepspeed.initialize(args, config=args.deepspeed_config)\n",
    "conf/values.py": "PATH = 'conf/ds.json'\n",
    "conf/ds.json": '{"train_batch_size": 10, "zero_optimization": {"stage": 7, "offload_param": {}}}',
    "run.sh": f"{IDLE}for n in 2 4; do\n"
    "  torchrun --nproc_per_node $n train.py --nope 1 --deepspeed_config conf/ds.json\ndone\n",
    "jobs/more.sh": "source ../run.sh\ndeepspeed --num_gpus 8 ../train.py --port $MASTER_PORT\n",
    "requirements.txt": "deepspeed==0.15.0\ntorch>=2.0\n",
    "broken.json": '{"zero_optimization": ',
}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository whose files refer to each other."""
    return fill(tmp_path / "project", PROJECT)


def fill(root: Path, texts: Mapping[str, str]) -> Path:
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def shown(report: Report) -> str:
    """The report as the contract writes it."""
    from distlint.report.formats import RenderOptions, render

    return render("json", report, RenderOptions(base=report.root))


def idle(report: Report) -> list[str]:
    """The files in which the comment that is always wrong was found."""
    return [finding.span.file for finding in report.findings if finding.code == "LINT001"]


def errors(report: Report) -> dict[str, str]:
    return {error.file: error.message for error in report.errors}


# Paths -----------------------------------------------------------------------------------------------------------


def test_the_project_is_the_repository_around_the_path(root):
    report = distlint.check(root / "jobs")
    assert report.root == str(root)
    assert report.statistics["files_read"] == distlint.check(root).statistics["files_read"]


def test_findings_are_those_that_touch_the_paths(root):
    assert idle(distlint.check(root)) == ["run.sh", "train.py"]
    assert idle(distlint.check(root / "train.py")) == ["train.py"]
    assert idle(distlint.check(root / "jobs")) == []
    assert idle(distlint.check([root / "jobs", root / "run.sh"])) == ["run.sh"]


def test_a_name_that_begins_like_another_is_another(root):
    fill(root, {"train.pyx/a.py": IDLE, "..odd/b.py": IDLE})
    assert idle(distlint.check(root / "train.py")) == ["train.py"]
    assert idle(distlint.check(root / "..odd")) == ["..odd/b.py"]


def test_silenced_findings_are_those_that_touch_the_paths_too(root):
    fill(root, {"distlint.toml": '[[ignore]]\nrule = "LINT001"\nreason = "kept"\n'})
    assert [one.finding.span.file for one in distlint.check(root / "run.sh").suppressed] == ["run.sh"]


@pytest.mark.parametrize("hidden", ["out", "third_party/lib", ".venv"])
def test_a_hidden_file_is_read_if_it_or_its_folder_is_named(root, hidden):
    fill(root, {f"{hidden}/x.py": IDLE, ".gitignore": "out\n"})
    assert idle(distlint.check(root)) == ["run.sh", "train.py"]
    assert idle(distlint.check(root / hidden)) == [f"{hidden}/x.py"]
    assert idle(distlint.check(root / hidden / "x.py")) == [f"{hidden}/x.py"]


def test_paths_of_two_projects_do_not_drag_in_what_lies_between(tmp_path):
    texts = {f"{name}/.git/HEAD": "" for name in ("one", "two", "three")}
    fill(tmp_path, {**texts, **{f"{name}/a.py": IDLE for name in ("one", "two", "three")}})
    report = distlint.check([tmp_path / "one", tmp_path / "two" / "a.py"])
    assert idle(report) == ["one/a.py", "two/a.py"]
    assert report.statistics["files"] == 2


def test_a_named_link_keeps_its_name_and_a_linked_folder_is_the_folder(root):
    (root / "link.py").symlink_to("train.py")
    (root.parent / "elsewhere").symlink_to(root)
    assert idle(distlint.check(root / "link.py")) == ["link.py"]
    assert idle(distlint.check(root.parent / "elsewhere" / "run.sh")) == ["run.sh"]


def test_an_empty_folder_is_no_error(tmp_path):
    report = distlint.check(tmp_path)
    assert (report.findings, report.errors, report.statistics["files_read"]) == ((), (), 0)


def test_a_missing_path_raises(tmp_path):
    with pytest.raises(FileNotFoundError):
        distlint.check(tmp_path / "nothing.py")


# Texts -----------------------------------------------------------------------------------------------------------


def test_an_overlay_stands_for_the_file(root):
    report = distlint.check(root, overlays={"run.sh": "", "broken.json": "{}", "new.py": IDLE})
    assert idle(report) == ["new.py", "train.py"]
    assert "broken.json" not in errors(report)
    assert report.text("run.sh") == ""
    assert report.text("train.py") == PROJECT["train.py"]
    assert report.text("nothing.py") == ""


def test_an_overlay_of_no_known_kind_is_an_error_only_if_it_was_named(root):
    assert "notes.txt" not in errors(distlint.check(root, overlays={"notes.txt": "x"}))
    (root / "notes.txt").touch()
    assert errors(distlint.check(root / "notes.txt", overlays={"notes.txt": "x"}))["notes.txt"]


def test_a_file_that_a_value_leads_to_is_read_late_and_its_errors_are_told(root):
    fill(
        root,
        {
            "conf/plain.json": '{"train_batch": ',
            "train.py": "import deepspeed\ndeepspeed.initialize(config='conf/plain.json')\n",
        },
    )
    report = distlint.check(root)
    assert "conf/plain.json" in errors(report)
    assert shown(distlint.check(root)) == shown(report)


def test_a_comment_counts_in_a_file_that_is_otherwise_of_no_interest(root):
    fill(root, {"plain.py": f"x = 1\n{IDLE}"})
    assert "plain.py" in idle(distlint.check(root))


def test_a_reader_that_fails_is_an_internal_error_of_that_file(root, monkeypatch):
    def fail(path, text):
        raise KeyError(path)

    monkeypatch.setitem(reader._READERS, reader.SourceKind.SHELL, fail)
    report = distlint.check(root, use_cache=False)
    assert idle(report) == ["train.py"]
    assert [error.internal for error in report.errors if error.file == "run.sh"] == [True]


@pytest.mark.parametrize("error", [RecursionError, MemoryError])
def test_a_file_that_is_too_much_is_an_error_of_that_file(root, monkeypatch, error):
    def fail(path, text):
        raise error

    monkeypatch.setitem(reader._READERS, reader.SourceKind.SHELL, fail)
    report = distlint.check(root, use_cache=False)
    assert idle(report) == ["train.py"]
    assert [error.internal for error in report.errors if error.file == "run.sh"] == [False]


# The same answer every time --------------------------------------------------------------------------------------


def test_the_order_of_folder_entries_does_not_matter(root, monkeypatch):
    expected = shown(distlint.check(root, use_cache=False))
    real = os.scandir

    class Backwards:
        def __init__(self, path):
            with real(path) as entries:
                self._entries = sorted(entries, key=lambda entry: entry.name, reverse=True)

        def __enter__(self):
            return iter(self._entries)

        def __exit__(self, *_):
            return None

    monkeypatch.setattr(walk.os, "scandir", Backwards)
    assert shown(distlint.check(root, use_cache=False)) == expected


def test_cold_warm_and_no_cache_and_any_number_of_jobs_agree(root):
    reports = [distlint.check(root, use_cache=cached, jobs=jobs) for cached in (False, True, True) for jobs in (1, 2)]
    assert len({shown(report) for report in reports}) == 1


def test_the_hash_seed_does_not_matter(root):
    outputs = set()
    for seed in ("0", "1", "2", "3"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(distlint.__file__).parents[1])}
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "distlint",
                "check",
                "--verbose",
                "--output-format",
                "json",
                "--no-cache",
                str(root),
            ],
            env=environment,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 1, done.stderr
        outputs.add(done.stdout + done.stderr)
    assert len(outputs) == 1


# The cache -------------------------------------------------------------------------------------------------------


def database(root: Path) -> Path:
    return Path(facts_cache._database(str(root)))


def readings(root: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Checks a project and gives the files that had to be read."""
    from distlint import engine

    read: list[str] = []

    def noting(source):
        read.append(source.path)
        return reader.read_source(source)

    with monkeypatch.context() as patch:
        patch.setattr(engine, "read_source", noting)
        distlint.check(root, jobs=1)
    return read


def test_only_what_changed_is_read_again(root, monkeypatch):
    assert "train.py" in readings(root, monkeypatch)
    (root / "run.sh").write_text("torchrun train.py\n")
    assert "train.py" not in readings(root, monkeypatch)
    assert readings(root, monkeypatch).count("run.sh") == 0


def test_facts_of_another_distlint_are_not_used(root, monkeypatch):
    readings(root, monkeypatch)
    monkeypatch.setattr(facts_cache, "_own_stamp", lambda: "another")
    assert "train.py" in readings(root, monkeypatch)
    with sqlite3.connect(database(root)) as connection:
        assert {stamp for (stamp,) in connection.execute("SELECT stamp FROM facts")} == {"another"}


def test_the_stamp_changes_with_every_module_that_makes_facts(tmp_path, monkeypatch):
    fill(tmp_path / "package", {"facts_cache.py": "", "read/pins/x.py": "", "frameworks/a/spec.py": "", "cli/x.py": ""})
    monkeypatch.setattr(facts_cache, "__file__", str(tmp_path / "package" / "facts_cache.py"))
    stamps = [facts_cache._own_stamp()]
    for name in ("read/pins/x.py", "frameworks/a/spec.py", "facts_cache.py", "cli/x.py"):
        (tmp_path / "package" / name).write_text("changed")
        stamps.append(facts_cache._own_stamp())
    assert len(set(stamps)) == 4
    assert stamps[-1] == stamps[-2]


@pytest.mark.parametrize("damage", [b"", b"no database at all " * 500, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_cache_is_made_anew(root, monkeypatch, damage):
    expected = shown(distlint.check(root))
    database(root).write_bytes(damage)
    assert shown(distlint.check(root)) == expected
    assert "train.py" not in readings(root, monkeypatch)


def test_damaged_or_foreign_rows_are_not_believed(root, monkeypatch):
    expected = shown(distlint.check(root))
    for value in (b"", b"garbage", pickle.dumps(["no facts"]), b"\x80\x05\x95\xff\xff\xff\xff"):
        with sqlite3.connect(database(root)) as connection:
            connection.execute("UPDATE facts SET value = ?", (value,))
        assert shown(distlint.check(root)) == expected


def test_a_locked_cache_is_not_used(root, monkeypatch):
    distlint.check(root)
    real = sqlite3.connect
    with sqlite3.connect(database(root)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        monkeypatch.setattr(sqlite3, "connect", lambda file, timeout, **more: real(file, timeout=0, **more))
        assert idle(distlint.check(root)) == ["run.sh", "train.py"]
        connection.execute("ROLLBACK")


def test_a_cache_folder_that_can_not_be_made_is_not_used(root, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert idle(distlint.check(root)) == ["run.sh", "train.py"]


@pytest.mark.parametrize("place", ["", "cache"])
def test_no_cache_lies_in_the_analysed_repository(root, monkeypatch, place):
    monkeypatch.setenv("XDG_CACHE_HOME", str(root / place))
    before = sorted(root.rglob("*"))
    distlint.check(root)
    assert not facts_cache._database(str(root))
    assert [path for path in sorted(root.rglob("*")) if "facts" in path.parts] == []
    assert set(before) <= set(root.rglob("*"))


@pytest.mark.parametrize(("home", "xdg"), [("", ""), ("relative", ""), ("", "relative")])
def test_without_a_home_there_is_no_cache_in_the_working_directory(root, monkeypatch, home, xdg):
    monkeypatch.setenv("HOME", home)
    monkeypatch.setenv("XDG_CACHE_HOME", xdg)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path.replace("~", home or "~"))
    assert facts_cache.cache_folder() == ""
    assert facts_cache._database(str(root)) == ""


def test_a_folder_that_others_can_write_is_not_trusted(root):
    distlint.check(root)
    database(root).parent.chmod(0o777)
    assert facts_cache._database(str(root)) == ""


def test_facts_of_other_states_do_not_pile_up(root, monkeypatch):
    monkeypatch.setattr(facts_cache, "SPARE_ROWS", 0)
    for number in range(40):
        (root / "run.sh").write_text(f"torchrun train.py --n {number}\n")
        report = distlint.check(root)
    with sqlite3.connect(database(root)) as connection:
        assert connection.execute("SELECT count(*) FROM facts").fetchone()[0] <= 2 * report.statistics["files_read"] + 1


def test_checks_at_the_same_time_agree(root):
    environment = {**os.environ, "PYTHONPATH": str(Path(distlint.__file__).parents[1])}
    command = [sys.executable, "-m", "distlint", "check", "--output-format", "json", str(root)]
    running = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)
    ]
    outputs = {process.communicate()[0] for process in running}
    assert len(outputs) == 1
    assert json.loads(outputs.pop())["findings"]


# Worker processes ------------------------------------------------------------------------------------------------


class NoPool:
    """A pool on a system that has none, or whose processes die."""

    broken_from = 0

    def __init__(self, *_: object, **__: object) -> None:
        if self.broken_from == 0:
            raise OSError(38, "Function not implemented")
        self._count = 0

    def submit(self, function, chunk):
        self._count += 1
        if self._count > self.broken_from:
            raise RuntimeError("the pool is broken")
        future: Future[list[object]] = Future()
        future.set_exception(RecursionError("too deep to hand over"))
        return future

    def shutdown(self, **_: object) -> None:
        pass


@pytest.mark.parametrize("broken_from", [0, 1, 3])
def test_what_no_process_reads_is_read_here(root, monkeypatch, broken_from):
    expected = shown(distlint.check(root, use_cache=False, jobs=1))
    monkeypatch.setattr(NoPool, "broken_from", broken_from)
    monkeypatch.setattr(workers, "ProcessPoolExecutor", NoPool)
    assert shown(distlint.check(root, use_cache=False, jobs=2)) == expected


def test_processes_started_anew_run_nothing_of_the_working_directory(root):
    for name in ("json", "pickle", "yaml", "struct", "multiprocessing", "sitecustomize", "conftest"):
        (root / f"{name}.py").write_text(f"open({str(root / 'STARTED')!r}, 'w')\n{IDLE}")
    program = root.parent / "program.py"
    program.write_text(
        "import multiprocessing, sys\n"
        f"sys.path.insert(0, {str(Path(distlint.__file__).parents[1])!r})\n"
        "import distlint\n"
        "if __name__ == '__main__':\n"
        "    multiprocessing.set_start_method('spawn')\n"
        "    print(len(distlint.check('.', use_cache=False, jobs=2).findings))\n"
    )
    done = subprocess.run([sys.executable, str(program)], cwd=root, capture_output=True, text=True, check=True)
    assert int(done.stdout) >= 9
    assert not (root / "STARTED").exists()
