from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import pytest
from jsonschema import Draft7Validator
from report_sample import FINDINGS, RULES, SUPPRESSED, empty_report, sample_report

from distlint.model.finding import Finding, ProjectError, Related, Severity
from distlint.model.report import Report
from distlint.model.span import Span
from distlint.model.value import Confidence
from distlint.report import sarif
from distlint.report.formats import FORMATS, RenderOptions, render

SCHEMA = json.loads((Path(__file__).parents[1] / "data" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
VALIDATOR = Draft7Validator(SCHEMA)

ODD_PATHS = [
    "a b/c#d.py",
    "größe/模型.json",
    "100%.sh",
    "a?b&c.yaml",
    "q'\"<x>.py",
    "x\ny.py",
    "byte\udcff.py",
    "a:b,c.py",
]


def report_on(path: str, message: str = "m") -> Report:
    places = (Related(Span(path, 2, 1, 2, 2), message),)
    finding = Finding("DS103", message, Span(path, 1, 1, 1, 2), Severity.ERROR, Confidence.CERTAIN, places, message)
    return Report("/p", (finding,), RULES, {path: "x\ny\n"}.__getitem__, errors=(ProjectError(path, message, 3),))


def sarif_run(report: Report, **options: object) -> dict:
    log = json.loads(render("sarif", report, RenderOptions(**options)))
    assert [error.message for error in VALIDATOR.iter_errors(log)] == []
    return log["runs"][0]


@pytest.mark.parametrize("name", ["json", "sarif", "github", "gitlab", "junit"])
def test_whole_report(name, golden):
    golden(f"report.{name}", render(name, sample_report(), RenderOptions()))


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_format_takes_an_empty_report_and_ends_in_a_newline(name):
    text = render(name, empty_report(), RenderOptions())
    assert not text or text.endswith("\n")


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_same_report_same_bytes(name):
    assert render(name, sample_report(), RenderOptions()) == render(name, sample_report(), RenderOptions())


@pytest.mark.parametrize("name", sorted(FORMATS))
@pytest.mark.parametrize("path", ODD_PATHS)
def test_odd_paths_and_messages_are_no_crash(name, path):
    assert render(name, report_on(path, f"odd {path} \x00\x1b[31m"), RenderOptions())


class TestJson:
    def test_has_the_promised_fields(self):
        written = json.loads(render("json", sample_report(), RenderOptions()))
        assert written["schema_version"] == 1
        promised = {
            "code", "name", "severity", "confidence", "message", "file", "line", "column", "end_line", "end_column",
            "related", "root_cause", "symptom", "bites", "url", "fix",
        }  # fmt: skip
        for finding in written["findings"]:
            assert promised <= set(finding)
        first = written["findings"][0]
        assert (first["file"], first["line"], first["column"]) == ("ds_config.json", 4, 5)
        assert set(first["fix"]) == {"safety", "title", "edits"}
        assert first["related"][1]["file"] == "train.py"
        assert written["errors"][0]["file"] == "broken one.yaml"

    def test_paths_stay_relative_to_the_project(self):
        written = json.loads(render("json", sample_report("/base/project"), RenderOptions(base="/base")))
        assert written["findings"][0]["file"] == "ds_config.json"
        assert written["root"] == "project"

    @pytest.mark.parametrize(
        ("base", "root"), [("", "."), ("/a/b", "."), ("/a", "b"), ("/a/b/c", ".."), ("/x", "/a/b")]
    )
    def test_root_is_seen_from_the_working_directory(self, base, root):
        assert json.loads(render("json", sample_report("/a/b"), RenderOptions(base=base)))["root"] == root

    def test_is_ascii(self):
        assert render("json", sample_report(), RenderOptions()).isascii()


class TestSarif:
    def test_sample_is_valid(self):
        run = sarif_run(sample_report())
        assert len(run["results"]) == len(FINDINGS) + len(SUPPRESSED)

    @pytest.mark.parametrize("path", ODD_PATHS)
    def test_odd_paths_become_relative_uris(self, path):
        run = sarif_run(report_on(path))
        written = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
        assert written["uriBaseId"] == "%SRCROOT%"
        assert re.fullmatch(r"[A-Za-z0-9._~/%-]+", written["uri"])
        assert unquote(written["uri"], errors="surrogateescape") == path

    def test_every_rule_index_points_at_the_rule(self):
        run = sarif_run(sample_report())
        rules = run["tool"]["driver"]["rules"]
        assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
        described = next(rule for rule in rules if rule["id"] == "DS103")
        assert described["defaultConfiguration"]["level"] == "error"
        assert described["properties"]["precision"] == "very-high"
        assert len(described["properties"]["tags"]) <= 10
        assert "## Why it matters" in described["help"]["markdown"]

    def test_message_refers_to_related_locations_by_their_ids(self):
        result = next(r for r in sarif_run(sample_report())["results"] if r["ruleId"] == "DS103")
        ids = {place["id"] for place in result["relatedLocations"]}
        assert {int(number) for number in re.findall(r"(?<!\\)\]\((\d+)\)", result["message"]["text"])} == ids

    def test_code_flow_ends_at_the_finding(self):
        result = next(r for r in sarif_run(sample_report())["results"] if r["ruleId"] == "PT501")
        steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
        assert steps[-1]["location"]["physicalLocation"] == result["locations"][0]["physicalLocation"]
        assert len(steps) == 2

    def test_fix_is_a_replacement(self):
        result = next(r for r in sarif_run(sample_report())["results"] if "fixes" in r)
        change = result["fixes"][0]["artifactChanges"][0]
        assert change["artifactLocation"]["uri"] == "ds_config.json"
        assert change["replacements"][0]["insertedContent"]["text"] == "3"

    def test_suppressed_results_are_kept_with_their_reason(self):
        kinds = [r["suppressions"][0] for r in sarif_run(sample_report())["results"] if "suppressions" in r]
        assert {(kind["kind"], kind["justification"]) for kind in kinds} == {
            ("inSource", "we know"),
            ("external", "agreed"),
        }

    def test_errors_become_notifications(self):
        invocation = sarif_run(sample_report())["invocations"][0]
        assert not invocation["executionSuccessful"]
        assert len(invocation["toolExecutionNotifications"]) == 2

    def test_only_the_worst_are_kept(self, monkeypatch):
        monkeypatch.setattr(sarif, "MAX_RESULTS", 2)
        run = sarif_run(sample_report())
        assert [result["level"] for result in run["results"]] == ["error", "error"]
        assert "6 results are left out" in run["invocations"][0]["toolExecutionNotifications"][-1]["message"]["text"]

    def test_paths_start_at_the_working_directory(self):
        run = sarif_run(sample_report("/base/a b"), base="/base")
        uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert uri == "a%20b/ds_config.json"

    def test_brackets_of_a_message_are_no_links(self):
        result = sarif_run(report_on("a.py", "see [x](1) and [y](http://evil)"))["results"][0]
        assert re.findall(r"(?<!\\)\[", result["message"]["text"]) == ["["]


class TestGithub:
    def test_no_text_can_start_a_command(self):
        message = "a\n::error::b\r\n::set-output name=x::y%0A::error::c"
        lines = render("github", report_on("a,b::c\n::error::.py", message), RenderOptions()).splitlines()
        assert len(lines) == 2
        assert all(re.match(r"::(error|warning) file=a%2Cb%3A%3Ac[^:]*::", line) for line in lines)

    def test_percent_is_escaped(self):
        assert "100%25 sure" in render("github", report_on("a.py", "100% sure"), RenderOptions())

    def test_worst_come_first(self):
        kinds = [line.split()[0] for line in render("github", sample_report(), RenderOptions()).splitlines()]
        assert kinds[:6] == ["::error", "::error", "::warning", "::warning", "::warning", "::notice"]


class TestGitlab:
    def test_fingerprints_differ(self):
        finding = FINDINGS[0]
        report = replace(sample_report(), findings=(finding, finding, finding))
        issues = json.loads(render("gitlab", report, RenderOptions()))
        assert len({issue["fingerprint"] for issue in issues}) == 3

    def test_required_fields(self):
        for issue in json.loads(render("gitlab", sample_report(), RenderOptions())):
            assert issue["severity"] in {"info", "minor", "major", "critical", "blocker"}
            assert {"description", "check_name", "fingerprint", "location"} <= set(issue)
            assert issue["location"]["lines"]["begin"] >= 1


class TestJunit:
    def test_counts_agree_with_the_cases(self):
        root = ET.fromstring(render("junit", sample_report(), RenderOptions()).encode())  # noqa: S314
        assert int(root.get("tests")) == len(root.findall(".//testcase"))
        assert int(root.get("failures")) == len(root.findall(".//failure"))
        assert int(root.get("errors")) == len(root.findall(".//error"))

    def test_every_character_can_be_parsed(self):
        message = "".join(map(chr, range(0x250))) + "\ud800\ufffe\uffff]]>&<\U0001f680"
        root = ET.fromstring(render("junit", report_on("a.py", message), RenderOptions()).encode())  # noqa: S314
        assert "\U0001f680" in root.find(".//failure").get("message")

    def test_nothing_found_is_one_case_that_passes(self):
        root = ET.fromstring(render("junit", empty_report(), RenderOptions()).encode())  # noqa: S314
        assert len(root.findall(".//testcase")) == 1
        assert root.find(".//failure") is None
