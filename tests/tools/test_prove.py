"""Proof by running: what counts as which symptom, and that the record is about the rules and cases as they are."""

import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from distlint.cli.rulebook import all_rules
from distlint.model.rule import ProofSpec

PROVE = Path(__file__).parents[2] / "tools" / "prove"
TRACEBACK = """[rank{rank}]: Traceback (most recent call last):
[rank{rank}]:   File "train.py", line {line}, in main
[rank{rank}]: {error}
"""
TIMEOUT = "RuntimeError: [/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 8000ms for recv operation"
CLOSED = "RuntimeError: [/gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:1234"
LAUNCHER = """Traceback (most recent call last):
  File "run.py", line 3
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
"""


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(PROVE))
    __import__(name)
    return sys.modules[name]


@pytest.fixture
def verdicts(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return load("verdicts", monkeypatch)


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return load("records", monkeypatch)


def raised(rank: int, error: str, line: int = 7) -> str:
    return TRACEBACK.format(rank=rank, error=error, line=line)


def outcome(verdicts: ModuleType, code: int | None, output: str = "", *results: tuple[int, str, str]) -> Any:
    return verdicts.Outcome(code, output, tuple(verdicts.Result(*one) for one in results))


@pytest.mark.parametrize(
    ("code", "output", "hangs"),
    [
        (None, "", True),
        (1, raised(0, TIMEOUT) + LAUNCHER, True),
        (1, raised(0, CLOSED) + LAUNCHER, True),
        (1, raised(0, TIMEOUT) + raised(1, CLOSED), True),
        (1, raised(0, CLOSED) + raised(1, "ValueError: no such key"), False),
        (1, LAUNCHER, False),
        (0, raised(0, TIMEOUT), False),
        (0, "", False),
    ],
)
def test_a_rank_that_waits_in_vain_hangs_and_one_that_fails_does_not(
    verdicts: ModuleType, code: int | None, output: str, hangs: bool
) -> None:
    assert verdicts.hangs(outcome(verdicts, code, output)) is hangs


def test_a_process_that_a_signal_ended_is_told_by_the_signal(verdicts: ModuleType) -> None:
    killed = outcome(verdicts, 1, LAUNCHER + "  exitcode  : -6 (pid: 12)\n")
    seen = verdicts.judge(ProofSpec(symptom="hang"), {"good-a": killed, "good-b": outcome(verdicts, 1, LAUNCHER)})
    assert [one.seen for one in seen.values()] == ["a process ended by signal 6", "exit code 1"]


def test_a_hang_is_told_by_the_place_where_a_rank_waits(verdicts: ModuleType) -> None:
    seen = verdicts.judge(
        ProofSpec(symptom="hang"),
        {"bad-a": outcome(verdicts, 1, raised(0, TIMEOUT, 12)), "good-a": outcome(verdicts, 0)},
    )
    assert (seen["bad-a"].fits, seen["bad-a"].seen) == (True, "waits for ever at train.py:12")
    assert seen["good-a"].fits


def test_an_exception_is_the_one_that_the_rule_names(verdicts: ModuleType) -> None:
    proof = ProofSpec(symptom="exception", shows="no .* key")
    seen = verdicts.judge(
        proof,
        {
            "bad-a": outcome(verdicts, 1, raised(1, "ValueError: no such key")),
            "bad-b": outcome(verdicts, 1, raised(1, "TypeError: something else")),
            "bad-c": outcome(verdicts, 0, "no such key"),
            "good-a": outcome(verdicts, 0, "there is no such key"),
            "good-b": outcome(verdicts, 1, ""),
            "good-c": outcome(verdicts, 0, ""),
        },
    )
    assert [name for name, verdict in seen.items() if verdict.fits] == ["bad-a", "good-c"]
    assert seen["bad-a"].seen == "ValueError: no such key"


def test_ranks_diverge_where_they_print_different_values(verdicts: ModuleType) -> None:
    seen = verdicts.judge(
        ProofSpec(symptom="diverging-ranks"),
        {
            "bad-a": outcome(verdicts, 0, "", (0, "w", "1.0"), (1, "w", "2.0")),
            "bad-b": outcome(verdicts, 0, "", (0, "w", "1.0"), (1, "w", "1.00000001")),
            "bad-c": outcome(verdicts, 0, "", (-1, "w", "1.0"), (-1, "w", "2.0")),
            "good-a": outcome(verdicts, 0, "", (0, "w", "1"), (0, "w", "2"), (1, "w", "1"), (1, "w", "2")),
            "good-b": outcome(verdicts, 0, ""),
        },
    )
    assert [name for name, verdict in seen.items() if verdict.fits] == ["bad-a", "bad-c", "good-a"]
    assert seen["bad-a"].seen == "w: 1 / 2 on the ranks"


def test_a_number_is_wrong_where_it_differs_from_that_of_every_good_case(verdicts: ModuleType) -> None:
    seen = verdicts.judge(
        ProofSpec(symptom="wrong-number"),
        {
            "bad-a": outcome(verdicts, 0, "", (0, "loss", "1.5"), (1, "loss", "2.0")),
            "bad-b": outcome(verdicts, 0, "", (0, "loss", "2.0")),
            "bad-c": outcome(verdicts, 0, "", (0, "other", "7")),
            "good-a": outcome(verdicts, 0, "", (0, "loss", "2.0")),
            "good-b": outcome(verdicts, 0, "", (0, "accuracy", "1.5")),
        },
    )
    assert [name for name, verdict in seen.items() if verdict.fits] == ["bad-a", "good-a", "good-b"]


def test_what_has_to_be_proven_is_proven_and_the_record_is_about_rules_and_cases_as_they_are(
    records: ModuleType,
) -> None:
    found = records.complaints(all_rules(installed=False).values(), records.read())
    assert not found, "\n".join(found)


def test_the_page_is_about_the_record(records: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    page = load("page", monkeypatch)
    written = (PROVE.parents[1] / "docs" / "proof.md").read_text(encoding="utf-8")
    assert written == page.page(all_rules(installed=False).values(), records.read()), "run `make prove CHANGED=1`"


def test_the_record_knows_when_a_case_has_changed(records: ModuleType, tmp_path: Path) -> None:
    rule = all_rules(installed=False)["PT602"]
    for name in ("bad-a", "good-a"):
        (tmp_path / "PT602" / name).mkdir(parents=True)
        (tmp_path / "PT602" / name / "train.py").write_text("pass\n")
    cases = {case.name: {"hash": records.hash_of(rule, case)} for case in records.cases_of(rule, tmp_path)}
    record = {"rules": {"PT602": {"cases": cases}}}
    assert records.complaints([rule], record, tmp_path) == []
    (tmp_path / "PT602" / "bad-a" / "expect.txt").write_text("train.py:1:1 PT602\n")
    assert records.complaints([rule], record, tmp_path) == []
    (tmp_path / "PT602" / "bad-a" / "train.py").write_text("print()\n")
    assert records.complaints([rule], record, tmp_path) != []


def test_no_rule_claims_what_a_run_contradicts(records: ModuleType) -> None:
    rule = all_rules(installed=False)["PT602"]
    claimed = replace(rule, symptom="divergence")
    assert any("does not bear out" in text for text in records.complaints([claimed], {"rules": {}}))


def test_accelerate_starts_on_the_cpu_unless_its_own_configuration_says_how(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = load("running", monkeypatch).Environment(sys.executable)
    plain = environment.command(["accelerate"], "train.py", ["--steps", "2"])
    assert "--cpu" in plain
    assert plain[-3:] == ["train.py", "--steps", "2"]
    configured = environment.command(["accelerate", "--config_file", "acc.yaml"], "train.py", [])
    assert "--cpu" not in configured
    assert configured[-3:] == ["--config_file", "acc.yaml", "train.py"]


def test_an_unknown_launcher_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = load("running", monkeypatch).Environment(sys.executable)
    with pytest.raises(ValueError, match="unknown launcher"):
        environment.command(["somehow"], "train.py", [])
