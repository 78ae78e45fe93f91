"""Rule files: what a good one becomes, and where a wrong one is wrong."""

from __future__ import annotations

import pytest
from judging import RULE

from distlint.judge.errors import RuleFileError
from distlint.judge.rulefile import parse_rule
from distlint.model.finding import Safety, Severity
from distlint.model.value import Confidence


def line_of(words: str) -> int:
    return RULE[: RULE.index(words)].count("\n") + 1


def test_a_rule_file_becomes_a_rule() -> None:
    rule = parse_rule(RULE, "a.toml", built_in=True)
    assert (rule.code, rule.name, rule.root_cause) == ("XY101", "offload-needs-stage3", "configuration-error")
    assert rule.severity is Severity.ERROR
    assert rule.confidence is Confidence.CERTAIN
    assert rule.check.at == ("zero.offload",)
    assert rule.fix is not None
    assert (rule.fix.safety, dict(rule.fix.steps)) == (Safety.UNSAFE, {"set": {"zero.stage": 3}})
    assert rule.source == "a.toml"


def test_a_users_rule_needs_less() -> None:
    dropped = ("explanation", "silence", "evidence", "stage", "fix-pattern", "since", "status", "confidence")
    text = "\n".join(line for line in RULE.splitlines() if line.split(" =")[0] not in dropped)
    assert parse_rule(text, "a.toml").confidence is Confidence.CERTAIN
    with pytest.raises(RuleFileError, match="is missing"):
        parse_rule(text, "a.toml", built_in=True)


def test_a_python_check_takes_parameters() -> None:
    head = RULE[: RULE.index("[check]")]
    rule = parse_rule(head + '[check]\npython = "rank-divergence"\n[check.parameters]\ncalls = ["a.b"]\n', "a.toml")
    assert rule.check.python == "rank-divergence"
    assert rule.check.parameters == {"calls": ["a.b"]}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "off', 'nmae = "off', "unknown field `nmae`; did you mean `name`"),
        ('code = "XY101"', 'code = "xy1"', "is no rule code"),
        ('code = "XY101"', 'code = "XY201"', "does not stand for configuration-error"),
        ('name = "offload-needs-stage3"', 'name = "Offload"', "is no rule name"),
        ('severity = "error"', 'severity = "eror"', "did you mean `error`"),
        ('severity = "error"', "severity = 3", "has to be a string"),
        ('symptom = "crash"', 'symptom = "boom"', "it may be `build-failure`"),
        ('bites = "start-up"', 'bites = "startup"', "did you mean `start-up`"),
        ('evidence = ["engine#1"]', "evidence = []", "must not be empty"),
        ('evidence = ["engine#1"]', "evidence = [1]", "a list of strings"),
        ('since = "0.1"', 'since = "soon"', "is no version"),
        ("when = ", "wen = ", "unknown field `wen`; did you mean `when`"),
        ("zero.stage != 3", "zero.stage[0] != 3", "in `when`"),
        ("{zero.stage}", "{zero.stage", "without"),
        ("{zero.stage}", "{1 +}", "not an expression"),
        ('safety = "unsafe"', 'safety = "unsave"', "did you mean `unsafe`"),
        ("set = {", "sett = {", "did you mean `set`"),
        ("set = {", "remove = {", "has to be a list"),
    ],
)
def test_errors_name_the_line(old: str, new: str, message: str) -> None:
    with pytest.raises(RuleFileError) as caught:
        parse_rule(RULE.replace(old, new, 1), "a.toml", built_in=True)
    assert message in caught.value.message
    assert caught.value.line == line_of(old)
    assert str(caught.value).startswith(f"a.toml:{caught.value.line}: ")


def test_errors_in_multi_line_conditions_name_the_line_within() -> None:
    text = RULE.replace('when = "enabled(zero.offload) and', 'when = """\nenabled(zero.offload)\nand').replace(
        '!= 3"', '!= a[0]"""'
    )
    with pytest.raises(RuleFileError) as caught:
        parse_rule(text, "a.toml")
    assert text.splitlines()[caught.value.line].startswith("and zero.stage != a[0]")


@pytest.mark.parametrize("text", ["code = ", 'code = "a"\ncode = "b"', "[" * 5000, "code = 1\n= 2"])
def test_what_is_not_toml_is_an_error_with_a_line(text: str) -> None:
    with pytest.raises(RuleFileError, match="not TOML"):
        parse_rule(text, "a.toml")


@pytest.mark.parametrize("wrong", [1, "newest", ">=", [1]])
def test_versions_have_to_be_specifiers(wrong: object) -> None:
    with pytest.raises(RuleFileError, match="no version specifier"):
        parse_rule(RULE.replace("[check]", f"[versions]\nengine = {wrong!r}\n[check]"), "a.toml")


def test_a_replaced_rule_is_deprecated() -> None:
    with pytest.raises(RuleFileError, match="deprecated"):
        parse_rule('replaced-by = "XY102"\n' + RULE, "a.toml")


def test_a_proof_says_what_a_run_shows() -> None:
    table = """
[proof]
symptom = "exception"
run = ["accelerate", "--num_machines", "1"]
shows = "stage 3"
without = { "bad-large" = "takes an hour" }
"""
    proof = parse_rule(RULE + table, "a.toml", built_in=True).proof
    assert proof is not None
    assert (proof.symptom, proof.run, proof.shows) == ("exception", ("accelerate", "--num_machines", "1"), "stage 3")
    assert proof.without == {"bad-large": "takes an hour"}


def test_a_proof_may_say_why_there_is_none() -> None:
    proof = parse_rule(RULE + '[proof]\nunless = "needs two devices"\n', "a.toml", built_in=True).proof
    assert proof is not None
    assert (proof.symptom, proof.unless) == ("", "needs two devices")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('symptom = "hangs"', "did you mean `hang`"),
        ('run = ["torchrun"]', "`symptom` is missing"),
        ('symptom = "hang"\nrun = ["mpirun"]', "`mpirun` is no run"),
        ('symptom = "hang"\nrun = []', "is no run"),
        ('symptom = "hang"\nshows = "x"', "belongs to the symptom `exception`"),
        ('symptom = "exception"', "which needs it"),
        ('symptom = "exception"\nshows = "("', "no regular expression"),
        ('symptom = "hang"\nunless = "x"', "has no place beside `unless`"),
        ('symptom = "hang"\nwithout = { "bad-a" = "" }', "has to give a reason"),
        ('symptom = "hang"\nscripts = "a.py"', "did you mean `script`"),
    ],
)
def test_wrong_proofs_are_errors(table: str, message: str) -> None:
    with pytest.raises(RuleFileError) as caught:
        parse_rule(f"{RULE}[proof]\n{table}\n", "a.toml", built_in=True)
    assert message in caught.value.message
