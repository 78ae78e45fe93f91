"""Rules whose cases are parameters of the check: their conditions name only what their subject has."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

import pytest

from distlint.checks.conflicting_settings import BLOCK
from distlint.frameworks import subject_kinds
from distlint.frameworks.deepspeed.elasticity import elastic_fault, elastic_misfit
from distlint.judge.conditions import compile_condition
from distlint.judge.rulebook import Rulebook
from distlint.judge.wording import compile_template
from distlint.model.rule import Rule
from distlint.model.subject import SubjectKind

RULES = [rule for rule in Rulebook.load(cache=False).all() if rule.check.python == "conflicting-settings"]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_cases_name_what_the_subject_has(rule: Rule) -> None:
    parameters = rule.check.parameters
    kind = subject_kinds()[parameters["subject"]]
    compile_condition(parameters.get("when", "True")).check_names(kind)
    for case in parameters["cases"]:
        patterns = case.get("blocks", parameters.get("blocks", ()))
        own = replace(kind, known=partial(_known, kind, bool(patterns)))
        compile_condition(case["when"]).check_names(own)
        for text in (case["message"], case.get("help", "")):
            for expression in compile_template(text).expressions:
                expression.check_names(own)
        assert all(own.known(path) for path in case.get("at", ()))
        assert not case["message"].endswith(".")
        assert not re.match(r"[A-Z][a-z]+ [a-z]", case["message"])
        assert all(kind.known(pattern.partition(".*")[0]) for pattern in patterns)


def _known(kind: SubjectKind, has_block: bool, path: str) -> bool:
    return kind.known(path) or (has_block and (path == BLOCK or path.startswith(f"{BLOCK}.")))


@pytest.mark.parametrize(
    ("ranks", "fits"), [(1, True), (2, True), (5, True), (7, False), (11, False), (12, True), (60, True), (61, False)]
)
def test_ranks_of_an_elastic_run(ranks: int, fits: bool) -> None:
    block = {"enabled": True, "max_train_batch_size": 64, "micro_batch_sizes": [1, 2], "version": 0.1}
    assert (elastic_misfit(block, 0.2, ranks).only == "") is fits


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({}, ""),
        ({"micro_batch_sizes": 4}, "`micro_batch_sizes` is no list"),
        ({"micro_batch_sizes": [0]}, "`micro_batch_sizes` may hold positive numbers only"),
        ({"max_gpus": 1, "min_gpus": 2}, "`max_gpus` is less than `min_gpus`"),
        ({"version": 0.3}, "there is no `version` 0.3"),
        ({"version": 0.1, "model_parallel_size": 2}, "`model_parallel_size` above 1 needs `version` 0.2"),
        (
            {"model_parallel_size": 2, "num_gpus_per_node": 3},
            "`num_gpus_per_node` is not divisible by `model_parallel_size`",
        ),
    ],
)
def test_faults_of_an_elastic_block(change: dict[str, object], fault: str) -> None:
    block = {"enabled": True, "max_train_batch_size": 64, "micro_batch_sizes": [1, 2], **change}
    assert elastic_fault(block, 0.2).only == fault


def test_a_huge_or_odd_block_is_not_computed() -> None:
    huge = {"enabled": True, "max_train_batch_size": 10**12, "micro_batch_sizes": [1, 2]}
    assert elastic_misfit(huge, 0.2, 4).is_unknown
    assert elastic_fault("yes", 0.2).is_unknown
