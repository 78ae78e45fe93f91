"""Judging a project: dispatch, merging, failures, settings and comments."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from judging import FILE, RULE, kind, rule, subject

from distlint.checks import registry
from distlint.checks.registry import CheckContext
from distlint.judge.judge import Judgement, judge
from distlint.judge.rulebook import Rulebook, parse_folder
from distlint.model.facts import FileFacts
from distlint.model.finding import Finding, Related, Severity
from distlint.model.source import SourceKind
from distlint.model.span import Span
from distlint.model.subject import Subject, SubjectKind
from distlint.model.value import Confidence, known, unknown
from distlint.read.comments import read_suppressions
from distlint.settings import Settings, SettingsError, load_settings

BAD = {"zero.offload.device": "cpu", "zero.stage": 2}
OWN = parse_folder(Path(__file__).parents[2] / "rules" / "distlint", built_in=True)
OTHER = (RULE, ("XY101", "XY102"), ("offload-needs-stage3", "other-fault"), ("zero.stage != 3", "zero.stage == 2"))


def run(*subjects: Subject, rules: Any = None, settings: Settings | None = None, **texts: str) -> Judgement:
    kinds = {".py": SourceKind.PYTHON, ".hjson": SourceKind.JSON}
    facts = {}
    for name, text in texts.items():
        path = {"config": FILE, "script": "train.py"}[name]
        source = SourceKind.JSON if name == "config" else kinds[".py"]
        facts[path] = FileFacts(path, source, suppressions=read_suppressions(path, text, source))
    book = Rulebook.of(rules if rules is not None else [rule(), *OWN])
    return judge(SimpleNamespace(facts=facts), book, settings or Settings(Path()), [kind(*subjects)])


def set_to(**overrides: Any) -> Settings:
    return load_settings(
        Path("/"), isolated=True, overrides={key.replace("_", "-"): value for key, value in overrides.items()}
    )


def codes(judgement: Judgement) -> list[str]:
    return [finding.code for finding in judgement.findings]


def test_equal_findings_of_several_runs_are_one() -> None:
    first, second = subject(BAD), subject(BAD)
    for one, label in ((first, "a.sh"), (second, "b.sh")):
        one.run, one.label = SimpleNamespace(), label  # type: ignore[assignment]
    (finding,) = run(first, second, first).findings
    assert finding.runs == ("a.sh", "b.sh")


def test_findings_are_sorted_whatever_the_order_of_rules() -> None:
    rules = [rule(*OTHER), rule()]
    assert codes(run(subject(BAD), rules=rules)) == ["XY101", "XY102"]
    assert run(subject(BAD), rules=rules) == run(subject(BAD), rules=rules[::-1])


def test_rules_of_absent_frameworks_are_not_judged() -> None:
    project = SimpleNamespace(facts={})
    judged = judge(project, Rulebook.of([rule()]), Settings(Path()), [kind(subject(BAD))], frameworks=["another"])
    assert judged.findings == ()


def test_a_rule_that_fails_is_named_and_the_rest_goes_on() -> None:
    def failing(name: str) -> Any:
        raise ZeroDivisionError("oops")

    broken = rule(RULE, ("XY101", "XY100"), ("offload-needs-stage3", "broken"), ("zero.stage != 3", "fails('x')"))
    typo = rule(RULE, ("XY101", "XY109"), ("offload-needs-stage3", "typo"), ("zero.stage != 3", "typo.stage != 3"))
    of = subject(BAD, functions={"fails": failing})
    kinds = SubjectKind("engine", "engine", lambda path: "typo" not in path, lambda _: [of], frozenset({"fails"}))
    judged = judge(SimpleNamespace(facts={}), Rulebook.of([broken, typo, rule()]), Settings(Path()), [kinds])
    assert codes(judged) == ["XY101"]
    assert [error.internal for error in judged.errors] == [True, True]
    assert "XY100 failed: ZeroDivisionError" in judged.errors[0].message
    assert "XY109 failed: unknown setting `typo.stage`" in judged.errors[1].message


def test_subjects_that_cannot_be_built_are_one_error() -> None:
    def build(project: Any) -> Iterator[Subject]:
        raise RecursionError

    broken = SubjectKind("engine", "engine", lambda path: True, build)
    judged = judge(SimpleNamespace(facts={}), Rulebook.of([rule(), rule(*OTHER)]), Settings(Path()), [broken])
    assert len(judged.errors) == 1
    assert "subjects `engine`" in judged.errors[0].message


def test_checks_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    def pointing(context: CheckContext) -> Iterator[Finding]:
        for one in context.subjects("engine"):
            span = Span("train.py", context.parameters["line"], 1, 1, 2)
            yield context.finding("found", span, related=[Related(span, "itself")], confidence=Confidence.LIKELY)
            assert one.kind == "engine"

    monkeypatch.setitem(registry._CHECKS, "pointing", pointing)
    head = RULE[: RULE.index("[check]")]
    text = head + '[check]\npython = "pointing"\n[check.parameters]\nline = 7\n'
    (finding,) = run(subject(BAD), rules=[rule(text)]).findings
    assert (finding.code, finding.span.line, finding.confidence) == ("XY101", 7, Confidence.LIKELY)
    assert finding.related == ()
    missing = run(subject(BAD), rules=[rule(text.replace("pointing", "no-such-check"))])
    assert "no check `no-such-check`" in missing.errors[0].message


def test_a_check_name_is_taken_once() -> None:
    def one(context: CheckContext) -> list[Finding]:
        return []

    def two(context: CheckContext) -> list[Finding]:
        return []

    registry.check("taken-once")(one)
    with pytest.raises(ValueError, match="registered twice"):
        registry.check("taken-once")(two)
    del registry._CHECKS["taken-once"]


def test_notes_say_why_rules_were_silent() -> None:
    (note,) = run(subject({**BAD, "zero.stage": unknown("a variable")})).notes
    assert note.message == "`zero.stage` is not known (a variable): XY101 had to stay silent"


def test_severity_and_confidence_follow_the_settings() -> None:
    (finding,) = run(subject(BAD), settings=set_to(severity={"XY": "error", "XY1": "note"})).findings
    assert finding.severity is Severity.NOTE
    weak = subject({**BAD, "zero.stage": known(2, confidence=Confidence.POSSIBLE)})
    assert codes(run(weak, settings=set_to(min_confidence="likely"))) == []
    assert codes(run(weak, settings=set_to(min_confidence="possible"))) == ["XY101"]


def test_unknown_selectors_are_errors_of_the_settings() -> None:
    with pytest.raises(SettingsError, match="did you mean"):
        run(subject(BAD), settings=set_to(select=["XY109"]))
    with pytest.raises(SettingsError):
        run(subject(BAD), settings=set_to(severity={"nothing-like-it": "note"}))


TRAILING = '{\n "device": "cpu",\n "stage": 2\n}'


@pytest.mark.parametrize(
    "config",
    [
        "# distlint: ignore[XY101] wanted\nx: 1\n",
        "x: 1 # distlint: ignore[XY101]\n\n",
        "\nx: 1 # distlint: ignore[XY] the related place\n",
        "\n\n\n# distlint: ignore-file[offload-needs-stage3]\n",
        "# distlint: disable[engine]\n\n\n# distlint: enable[engine]\n",
        "# distlint: disable[configuration-error]\n\n\n",
    ],
)
def test_comments_silence_a_finding_at_any_of_its_places(config: str) -> None:
    judged = run(subject(BAD), config=config)
    assert codes(judged) == []
    assert [item.finding.code for item in judged.suppressed] == ["XY101"]
    assert codes(run(subject(BAD), settings=set_to(), config=config)) == []


def test_no_ignores_shows_everything() -> None:
    settings = Settings(Path(), no_ignores=True)
    assert codes(run(subject(BAD), settings=settings, config="x: 1 # distlint: ignore[XY101]\n")) == ["XY101"]


def test_comments_elsewhere_are_unused() -> None:
    judged = run(subject(BAD), config="\n\n\n\nx: 1 # distlint: ignore[XY101] why\n")
    assert codes(judged) == ["XY101", "LINT001"]
    finding = judged.findings[1]
    assert finding.plan is not None
    (step,) = finding.plan.operations
    assert (step.kind, step.span, step.arguments) == ("replace", Span(FILE, 5, 5, 5, 35), {"text": ""})


def test_only_the_unused_code_goes() -> None:
    rules = [rule(), rule(*OTHER[:1], *OTHER[1:-1], ("zero.stage != 3", "zero.stage == 9")), *OWN]
    judged = run(subject(BAD), rules=rules, config="x: 1 # distlint: ignore[XY101, XY102] why\n")
    assert codes(judged) == ["LINT001"]
    plan = judged.findings[0].plan
    assert plan is not None
    assert plan.operations[0].span == Span(FILE, 1, 25, 1, 37)
    assert plan.operations[0].arguments == {"text": "XY101"}


def test_nothing_is_called_unused_that_was_not_judged() -> None:
    settings = set_to(ignore=["XY101"])
    assert codes(run(subject(BAD), settings=settings, config="x: 1 # distlint: ignore[XY101]\n")) == []


def test_wrong_comments_are_findings() -> None:
    script = "# distlint: ignore[XY109] x\n# distlint: ignore\n# distlint: enable[XY101]\n"
    assert codes(run(script=script)) == ["LINT002", "LINT003", "LINT001"]
    assert codes(run(script=script, settings=set_to(ignore=["LINT"]))) == []


def test_reasons_may_be_required() -> None:
    config = "x: 1 # distlint: ignore[XY101]\n"
    assert codes(run(subject(BAD), config=config, settings=set_to(require_reason=True))) == ["LINT004"]
    assert codes(run(subject(BAD), config=config)) == []


def test_a_replaced_code_is_renamed_in_the_comment() -> None:
    old = rule(
        'replaced-by = "XY101"\n' + RULE,
        ('XY101"\nname', 'XY110"\nname'),
        ("offload-needs-stage3", "old-name"),
        ("stable", "deprecated"),
    )
    judged = run(subject(BAD), rules=[rule(), old, *OWN], config="x: 1 # distlint: ignore[XY110] why\n")
    assert codes(judged) == ["LINT002"]
    plan = judged.findings[0].plan
    assert plan is not None
    assert plan.operations[0].arguments == {"text": "XY101"}


@pytest.mark.parametrize(
    ("entry", "silenced"),
    [
        ({"rule": "XY101"}, True),
        ({"rule": "XY"}, True),
        ({"rule": "XY101", "file": "config.json"}, True),
        ({"rule": "XY101", "file": "*.json", "path": "/zero/offload"}, True),
        ({"rule": "XY101", "path": "zero.offload"}, True),
        ({"rule": "XY101", "path": "/zero"}, True),
        ({"rule": "XY101", "path": "/other"}, False),
        ({"rule": "XY101", "file": "other.json"}, False),
        ({"rule": "LINT"}, False),
    ],
)
def test_tables_silence_by_rule_file_and_path(entry: dict[str, str], silenced: bool) -> None:
    judged = run(subject(BAD), settings=set_to(ignore=[{**entry, "reason": "known"}]))
    assert codes(judged) == ([] if silenced else ["XY101"])
    assert [item.reason for item in judged.suppressed] == (["known"] if silenced else [])


def test_per_file_ignores() -> None:
    assert codes(run(subject(BAD), settings=set_to(per_file_ignores={"*.json": ["XY1"]}))) == []
    assert codes(run(subject(BAD), settings=set_to(per_file_ignores={"sub/*.json": ["XY1"]}))) == ["XY101"]
