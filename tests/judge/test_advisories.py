"""Every advisory is a valid OSV document, and is told to code that uses the feature with a release that has the defect."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import tomli
from click.testing import CliRunner
from packaging.version import Version

from distlint.checks.registry import CheckContext, find_check
from distlint.cli.main import commands
from distlint.frameworks import subject_kinds
from distlint.judge.advisories import SYMPTOMS, Advisory, affected_packages, all_advisories, parse_advisory
from distlint.judge.conditions import compile_condition
from distlint.judge.errors import RuleFileError
from distlint.judge.registry import SubjectRegistry
from distlint.judge.rulebook import Rulebook, rules_folder
from distlint.knowledge.releases import releases
from distlint.model.finding import Finding, Severity
from distlint.model.value import Confidence
from distlint.report.advisory_page import advisory_markdown, list_markdown
from tests.conftest import MakeProject

Files = dict[str, str]

CASES: dict[str, dict[str, Files]] = tomli.loads(
    (Path(__file__).parents[1] / "data" / "advisories.toml").read_text(encoding="utf-8")
)
ADVISORIES = {one.id: one for one in all_advisories(rules_folder())}
RULES = [rule for rule in Rulebook.load(cache=False).all() if rule.check.python == "advisories"]
FILES = sorted((rules_folder() / "advisories").glob("*/*.json"))

every_advisory = pytest.mark.parametrize("advisory", ADVISORIES.values(), ids=lambda one: one.id)


def told(make_project: MakeProject, files: Files, pins: str) -> list[Finding]:
    """The findings about advisories in a project with pins."""
    project = make_project({**files, "requirements.txt": pins})
    kinds = tuple(subject_kinds().values())
    registry = SubjectRegistry(project, kinds, lambda kind, error: pytest.fail(f"{kind.name}: {error!r}"))
    check = find_check("advisories")
    assert check is not None
    found: list[Finding] = []
    for rule in RULES:
        found += check(CheckContext(rule, project, lambda name, rule=rule: registry.subjects_for(name, rule)))
    return found


def ids(findings: list[Finding]) -> set[str]:
    """The advisories that were told."""
    return {finding.symbol for finding in findings}


def affected(advisory: Advisory) -> list[str]:
    """The releases that have the defect, oldest first."""
    return [version for version in releases(advisory.package) if _has(advisory, version)]


def _has(advisory: Advisory, version: str) -> bool:
    from packaging.specifiers import SpecifierSet

    return any(SpecifierSet(one).contains(version) for one in advisory.specifiers)


def pins_of(advisory: Advisory, version: str) -> str:
    """A requirements file with a release of the package, and the other packages that the defect needs."""
    others = [f"{package}{wanted}" for package, wanted in advisory.requires.items()]
    return "".join(f"{line}\n" for line in [f"{advisory.package}=={version}", *others])


TIME = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$"}
SCHEMA = {
    "type": "object",
    "required": ["schema_version", "id", "modified", "summary", "details", "affected", "references"],
    "properties": {
        "schema_version": {"type": "string", "pattern": r"^1\.[67]\.\d+$"},
        "id": {"type": "string", "pattern": r"^DLA-\d{4}-\d{4}$"},
        "modified": TIME,
        "published": TIME,
        "summary": {"type": "string", "minLength": 10},
        "details": {"type": "string", "minLength": 10},
        "affected": {
            "type": "array",
            "minItems": 1,
            "items": {
                "required": ["package", "ranges"],
                "properties": {
                    "package": {"required": ["ecosystem", "name"], "properties": {"ecosystem": {"const": "PyPI"}}},
                    "ranges": {
                        "type": "array",
                        "minItems": 1,
                        "items": {
                            "required": ["type", "events"],
                            "properties": {
                                "type": {"const": "ECOSYSTEM"},
                                "events": {
                                    "type": "array",
                                    "minItems": 1,
                                    "contains": {"required": ["introduced"]},
                                    "items": {
                                        "type": "object",
                                        "minProperties": 1,
                                        "maxProperties": 1,
                                        "propertyNames": {"enum": ["introduced", "fixed", "last_affected", "limit"]},
                                        "additionalProperties": {"type": "string"},
                                    },
                                },
                            },
                        },
                    },
                },
            },
        },
        "references": {
            "type": "array",
            "minItems": 1,
            "items": {
                "required": ["type", "url"],
                "properties": {
                    "type": {"enum": ["ADVISORY", "DISCUSSION", "EVIDENCE", "FIX", "INTRODUCED", "REPORT", "WEB"]},
                    "url": {"type": "string", "pattern": "^https://"},
                },
                "additionalProperties": False,
            },
        },
        "database_specific": {"type": "object"},
    },
    "additionalProperties": False,
}
"""What OSV 1.6 and 1.7 ask of the fields that our documents use."""


# What the files are -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_is_an_osv_document(path: Path) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.validate(data, SCHEMA)
    assert path.stem == data["id"]
    assert path.parent.name == data["affected"][0]["package"]["name"]
    for entry in data["affected"]:
        assert set(entry) == {"package", "ranges"}
        assert entry["package"]["purl"] == f"pkg:pypi/{entry['package']['name']}"
        for row in entry["ranges"]:
            kinds = [kind for event in row["events"] for kind in event]
            assert kinds.count("introduced") == 1, "one range for each stretch"
            assert not {"fixed", "last_affected"} <= set(kinds)
    assert data["references"]


@every_advisory
def test_an_advisory_is_traced_to_a_thread_and_names_real_releases(advisory: Advisory) -> None:
    kinds = {kind for kind, _ in advisory.references}
    assert kinds <= {"REPORT", "FIX", "WEB", "DISCUSSION", "ADVISORY", "EVIDENCE"}
    assert kinds & {"REPORT", "FIX"}
    assert all(url.startswith("https://") for _, url in advisory.references)
    known = releases(advisory.package)
    assert affected(advisory), "no release is affected"
    for one in advisory.ranges:
        assert not one.fixed or one.fixed in known or any(Version(v) > Version(one.fixed) for v in known)


@every_advisory
def test_summary_and_effect_keep_to_the_style(advisory: Advisory) -> None:
    assert advisory.symptom in SYMPTOMS
    assert len(advisory.summary) <= 140
    for text in (advisory.summary, advisory.effect, advisory.workaround):
        assert not text.endswith(".")
    assert len(advisory.details) > 40


@every_advisory
def test_conditions_name_settings_that_exist(advisory: Advisory) -> None:
    kinds = subject_kinds()
    for use in advisory.uses:
        compile_condition(use.when or "True")
        if use.subject:
            compile_condition(use.when).check_names(kinds[use.subject])
            assert all(kinds[use.subject].known(path) for path in use.at)


def test_every_advisory_has_a_case() -> None:
    assert set(CASES) == set(ADVISORIES)


def test_the_folder_names_the_packages() -> None:
    assert set(affected_packages(rules_folder())) == {one.package for one in ADVISORIES.values()}


# Whom they are told to --------------------------------------------------------------------------------------------


@every_advisory
def test_code_that_uses_the_feature_is_told(make_project: MakeProject, advisory: Advisory) -> None:
    uses = CASES[advisory.id]["uses"]
    for version in {affected(advisory)[0], affected(advisory)[-1]}:
        found = [one for one in told(make_project, uses, pins_of(advisory, version)) if one.symbol == advisory.id]
        assert found, version
        assert f"{advisory.package} {version}: " in found[0].message
        assert any(related.span.file == "requirements.txt" for related in found[0].related)


@every_advisory
def test_code_that_does_not_use_it_is_not_told(make_project: MakeProject, advisory: Advisory) -> None:
    avoids = CASES[advisory.id]["avoids"]
    for version in {affected(advisory)[0], affected(advisory)[-1]}:
        assert advisory.id not in ids(told(make_project, avoids, pins_of(advisory, version)))


@every_advisory
def test_a_release_without_the_defect_is_not_told(make_project: MakeProject, advisory: Advisory) -> None:
    uses = CASES[advisory.id]["uses"]
    has = affected(advisory)
    known = releases(advisory.package)
    beside = [*known[: known.index(has[0])][-1:], *known[known.index(has[-1]) + 1 :][:1]]
    for version in beside:
        assert advisory.id not in ids(told(make_project, uses, pins_of(advisory, version))), version


# How --------------------------------------------------------------------------------------------------------------


def test_the_oldest_release_that_the_pins_allow_is_a_note(make_project: MakeProject) -> None:
    (found,) = told(make_project, CASES["DLA-2026-0016"]["uses"], "deepspeed>=0.18.1,<0.18.9\n")
    assert (found.severity, found.confidence) == (Severity.NOTE, Confidence.POSSIBLE)
    assert found.plan is None
    assert "deepspeed 0.18.1, the oldest that the pins allow: " in found.message


@pytest.mark.parametrize("pins", ["deepspeed>=0.15\n", "deepspeed<0.18.9\n", "deepspeed\n", "deepspeed!=0.18.0\n", ""])
def test_releases_that_nobody_installs_are_not_told(make_project: MakeProject, pins: str) -> None:
    """The defect came after the lower bound and went before the newest release; or there is no bound."""
    assert not told(make_project, CASES["DLA-2026-0016"]["uses"], pins)


def test_many_places_are_one_finding_about_the_pin(make_project: MakeProject) -> None:
    uses = CASES["DLA-2026-0016"]["uses"]
    second = {"other/ds.json": uses["ds.json"], "other/train.py": uses["train.py"].replace("ds.json", "other/ds.json")}
    (found,) = told(make_project, {**uses, **second}, "deepspeed==0.17.0\n")
    assert {related.span.file for related in found.related} == {"ds.json", "other/ds.json", "requirements.txt"} - {
        found.span.file
    }


def test_a_test_of_the_version_keeps_the_release_away(make_project: MakeProject) -> None:
    guarded = (
        "import deepspeed\nfrom packaging import version\n"
        'if version.parse(deepspeed.__version__) >= version.parse("0.14.5"):\n'
        "    from deepspeed.sequence.layer import DistributedAttention\n"
    )
    assert not told(make_project, {"train.py": guarded}, "deepspeed==0.14.0\n")
    plain = guarded.replace('"0.14.5"', '"0.13"')
    assert ids(told(make_project, {"train.py": plain}, "deepspeed==0.14.0\n")) == {"DLA-2026-0020", "DLA-2026-0021"}


def test_a_failure_that_is_caught_is_told_as_well(make_project: MakeProject) -> None:
    """Wrong results raise nothing that could be caught."""
    text = "try:\n    from deepspeed.sequence.layer import DistributedAttention\nexcept Exception:\n    pass\n"
    assert told(make_project, {"train.py": text}, "deepspeed==0.14.0\n")


DOCUMENT = {
    "schema_version": "1.7.0",
    "id": "XY-2026-1",
    "modified": "2026-01-01T00:00:00Z",
    "summary": "s",
    "details": "d",
    "affected": [
        {
            "package": {"ecosystem": "PyPI", "name": "engine"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "1"}, {"fixed": "2"}, {"introduced": "3"}]}],
        }
    ],
    "references": [{"type": "FIX", "url": "https://example.com/1"}],
    "database_specific": {"distlint": {"symptom": "hang", "effect": "e", "uses": [{"names": ["engine.start"]}]}},
}


def test_a_range_may_open_again_and_stay_open() -> None:
    advisory = parse_advisory(DOCUMENT, "engine")
    assert advisory.specifiers == (">=1,<2", ">=3")
    assert advisory.fixed_after("1.5") == "2"
    assert advisory.fixed_after("3") == ""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema_version": "2.0.0"}, "schema version"),
        ({"database_specific": {"distlint": {"symptom": "rust", "effect": "e", "uses": []}}}, "no symptom"),
        ({"database_specific": {"distlint": {"symptom": "hang", "effect": "e", "uses": []}}}, "no use"),
        ({"database_specific": {"distlint": {"symptom": "hang", "effect": "e", "uses": [{"name": ["x"]}]}}}, "part of"),
        ({"database_specific": {"distlint": {"symptom": "hang", "effect": "e", "uses": [{"subject": "x"}]}}}, "needs"),
        ({"impact": "high"}, "unknown field"),
        ({"affected": [{"package": {"ecosystem": "npm", "name": "engine"}, "ranges": []}]}, "affects"),
    ],
)
def test_a_wrong_document_says_what_is_wrong(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_advisory({**DOCUMENT, **change}, "engine")


def test_a_broken_file_is_an_error_with_its_place(tmp_path: Path) -> None:
    place = tmp_path / "advisories" / "engine"
    place.mkdir(parents=True)
    (place / "XY-1.json").write_text('{\n"id": }')
    with pytest.raises(RuleFileError, match="XY-1"):
        all_advisories(tmp_path)


# How they are shown -----------------------------------------------------------------------------------------------


@every_advisory
def test_an_advisory_has_a_page(advisory: Advisory) -> None:
    page = advisory_markdown(advisory)
    assert advisory.id in page
    assert all(url in page for _, url in advisory.references)
    assert f"{advisory.package} " in page


def test_the_list_names_all() -> None:
    page = list_markdown(ADVISORIES.values())
    assert all(f"rules/{one.source})" in page for one in ADVISORIES.values())
    assert all((rules_folder() / one.source).is_file() for one in ADVISORIES.values())


@pytest.mark.parametrize(
    ("form", "start"), [("text", "DLA-2026-0001\n"), ("markdown", "# DLA-2026-0001\n"), ("json", "{")]
)
def test_the_command_explains_an_advisory(form: str, start: str) -> None:
    result = CliRunner().invoke(commands, ["rule", "dla-2026-0001", "--output-format", form])
    assert result.exit_code == 0
    assert result.stdout.startswith(start)


def test_an_unknown_id_is_a_usage_error() -> None:
    assert CliRunner().invoke(commands, ["rule", "DLA-2026-9999"]).exit_code == 2


def test_a_defect_is_told_at_the_entry_of_a_file_that_a_call_takes(make_project: MakeProject) -> None:
    """The argument stands in a YAML file, the call and what guards it in Python."""
    entries = "tp_size: 1\npp_size: 1\nzero_stage: 1\nenable_sequence_parallelism: true\nsequence_parallelism_mode: all_to_all\n"
    train = (
        "import yaml\n"
        "from colossalai.booster.plugin import HybridParallelPlugin\n\n"
        'with open("parallel.yaml") as file:\n'
        "    plugin = HybridParallelPlugin(**yaml.safe_load(file))\n"
    )
    found = told(make_project, {"parallel.yaml": entries, "train.py": train}, "colossalai==0.4.0\n")
    assert [(one.symbol, one.span.file, one.span.start[0]) for one in found] == [("DLA-2026-0066", "parallel.yaml", 5)]
