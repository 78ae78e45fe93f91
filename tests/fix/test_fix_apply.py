"""Which fixes of a pass are applied, and how passes come to an end."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from distlint.fix.apply import OVERLAP, apply_fixes, fix_until_stable
from distlint.fix.planning import Refusal, build_fix
from distlint.model.finding import Finding, FixPlan, Operation, Safety, Severity
from distlint.model.report import Report
from distlint.model.span import LineIndex, Span
from distlint.model.value import Confidence


def span(file: str, text: str, part: str) -> Span:
    start = text.index(part)
    return LineIndex(text).span(file, start, start + len(part))


def finding(*operations: Operation, safety: Safety = Safety.SAFE, code: str = "X101") -> Finding:
    plan = FixPlan("Mend it", safety, operations)
    return Finding(code, "is wrong", operations[0].span, Severity.ERROR, Confidence.CERTAIN, plan=plan)


TEXTS = {
    "a.json": '{\n  "a": 1,\n  "b": 2,\n  "c": {}\n}\n',
    "t.py": "import os\nx = 1\n",
}


def set_key(file: str, path: list[str], value: object) -> Operation:
    return Operation("set-key", Span(file, 1, 1, 1, 1), {"path": path, "value": value})


def replace(file: str, part: str, text: str) -> Operation:
    return Operation("replace", span(file, TEXTS[file], part), {"text": text})


def test_only_safe_fixes_are_applied_unasked() -> None:
    findings = [
        finding(set_key("a.json", ["a"], 5)),
        finding(set_key("a.json", ["b"], 5), safety=Safety.UNSAFE, code="X102"),
        finding(set_key("a.json", ["c"], 5), safety=Safety.SUGGESTION, code="X103"),
    ]
    safe = apply_fixes(findings, TEXTS.__getitem__, unsafe=False)
    assert safe.changed == {"a.json": TEXTS["a.json"].replace('"a": 1', '"a": 5')}
    assert safe.applied == (findings[0],)
    assert safe.skipped == ()
    both = apply_fixes(findings, TEXTS.__getitem__, unsafe=True)
    assert both.changed["a.json"] == TEXTS["a.json"].replace('"a": 1', '"a": 5').replace('"b": 2', '"b": 5')


def test_overlapping_fixes_wait_and_the_order_of_findings_does_not_matter() -> None:
    first, second = finding(replace("t.py", "x = 1", "x = 2")), finding(replace("t.py", "1", "3"))
    for findings in ([first, second], [second, first]):
        outcome = apply_fixes(findings, TEXTS.__getitem__, unsafe=False)
        assert outcome.changed == {"t.py": "import os\nx = 2\n"} or outcome.applied == (second,)
        assert [reason for _, reason in outcome.skipped] == [OVERLAP]
    assert apply_fixes([first, second], TEXTS.__getitem__, unsafe=False) == apply_fixes(
        [second, first], TEXTS.__getitem__, unsafe=False
    )


def test_a_plan_is_applied_as_a_whole_or_not_at_all() -> None:
    both = finding(replace("t.py", "x", "y"), set_key("a.json", ["a", "b"], 1))
    outcome = apply_fixes([both], TEXTS.__getitem__, unsafe=False)
    assert outcome.changed == {}
    assert outcome.skipped == ((both, "`a` is no block here"),)
    both = finding(replace("t.py", "x", "y"), set_key("a.json", ["c", "b"], 1))
    assert set(apply_fixes([both], TEXTS.__getitem__, unsafe=False).changed) == {"a.json", "t.py"}


def test_the_same_plan_of_two_findings_is_applied_once() -> None:
    twice = [finding(replace("t.py", "x", "y")), finding(replace("t.py", "x", "y"), code="X102")]
    outcome = apply_fixes(twice, TEXTS.__getitem__, unsafe=False)
    assert outcome.changed == {"t.py": "import os\ny = 1\n"}
    assert outcome.applied == tuple(twice)


def test_steps_of_a_plan_see_what_the_steps_before_did() -> None:
    text = TEXTS["a.json"]
    plan = finding(
        Operation("remove-key", span("a.json", text, '"a"')),
        Operation("remove-key", span("a.json", text, '"b"')),
        Operation("rename-key", span("a.json", text, '"c"'), {"to": "d"}),
        set_key("a.json", ["d", "e"], 1),
        set_key("a.json", ["f"], 2),
    )
    assert apply_fixes([plan], TEXTS.__getitem__, unsafe=False).changed == {
        "a.json": '{\n  "d": {\n    "e": 1\n  },\n  "f": 2\n}\n'
    }


def test_steps_on_the_same_place_are_refused() -> None:
    twice = finding(replace("t.py", "x = 1", "y"), replace("t.py", "1", "2"))
    outcome = apply_fixes([twice], TEXTS.__getitem__, unsafe=False)
    assert outcome.skipped == ((twice, "two steps of the fix change the same place"),)


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        (Operation("replace", Span("t.py", 2, 1, 2, 2), {"text": "("}), "t.py: the file would no longer parse"),
        (Operation("replace", Span("a.json", 2, 8, 2, 9), {"text": ""}), "a.json: the file would no longer be read by"),
        (Operation("frobnicate", Span("t.py", 1, 1, 1, 1)), "unknown operation 'frobnicate'"),
        (Operation("replace", Span("t.py", 1, 1, 1, 1)), "replace lacks text"),
        (Operation("remove-key", Span("t.py", 1, 1, 1, 1), {"x": 1}), "remove-key takes no x"),
        (Operation("set-argument", Span("t.py", 1, 1, 1, 1), {"name": "x"}), "set-argument needs either text or value"),
        (Operation("set-key", Span("a.json", 1, 1, 1, 1), {"path": [], "value": 1}), "path must be a list of keys"),
        (Operation("replace", Span("t.py", 2, 1, 2, 2), {"text": 1}), "text must be a string"),
        (
            Operation("move-statement", Span("t.py", 2, 1, 2, 2), {"target": Span("b.py", 1, 1, 1, 2)}),
            "an argument names a place in another file",
        ),
    ],
)
def test_a_plan_that_cannot_be_carried_out_is_refused_with_its_reason(operation: Operation, reason: str) -> None:
    fix = build_fix(FixPlan("Mend it", Safety.SAFE, (operation,)), TEXTS.__getitem__)
    assert isinstance(fix, Refusal)
    assert fix.reason.startswith(reason)


def test_edits_are_small_sorted_and_in_original_positions() -> None:
    plan = FixPlan("Mend it", Safety.SAFE, (replace("t.py", "x = 1", "x = 2"), replace("t.py", "os", "io")))
    fix = build_fix(plan, TEXTS.__getitem__)
    assert not isinstance(fix, Refusal)
    assert [(edit.span, edit.text) for edit in fix.edits] == [
        (Span("t.py", 1, 8, 1, 10), "io"),
        (Span("t.py", 2, 5, 2, 6), "2"),
    ]


def checker(find: str, new: str) -> object:
    """A check that reports the first occurrence of ``find`` and wants it to be ``new``."""

    def check(overlay: Mapping[str, str]) -> Report:
        texts = {**TEXTS, **overlay}
        match = re.search(find, texts["t.py"])
        findings = ()
        if match:
            place = LineIndex(texts["t.py"]).span("t.py", *match.span())
            findings = (finding(Operation("replace", place, {"text": match.expand(new)})),)
        return Report(".", findings, {}, texts.__getitem__)

    return check


def test_passes_go_on_until_nothing_is_left() -> None:
    outcome = fix_until_stable(checker(r"[1-4]\b", "11"), unsafe=False, max_passes=3)  # type: ignore[arg-type]
    assert not outcome.settled
    outcome = fix_until_stable(checker(r"\b(o|x)\b", "y"), unsafe=False)  # type: ignore[arg-type]
    assert outcome.settled
    assert outcome.changed == {"t.py": "import os\ny = 1\n"}
    assert len(outcome.applied) == 1
    assert outcome.report.findings == ()


def test_what_cannot_be_fixed_ends_the_passes() -> None:
    outcome = fix_until_stable(checker(r"import", "("), unsafe=False)  # type: ignore[arg-type]
    assert outcome.settled
    assert outcome.changed == {}
    assert [reason for _, reason in outcome.skipped] == ["t.py: the file would no longer parse"]
