"""The server as an editor meets it, over pipes, on a toy engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lsp_client import CAPABILITIES, Client, apply, span

Start = Callable[..., Client]

WHOLE = span((0, 0), (99, 0))


def test_a_finding_is_published_with_all_that_an_editor_can_show(start: Start, project: Path) -> None:
    client = start()
    client.initialize(project)
    uri = client.open(project / "train.py")
    (diagnostic,) = client.diagnostics(uri)
    assert diagnostic["range"] == span((1, 4), (1, 7))
    assert diagnostic["message"] == "`bad` is wrong\nit crashes"
    assert diagnostic["severity"] == 1
    assert diagnostic["code"] == "XX101"
    assert diagnostic["codeDescription"]["href"].endswith("/XX101/")
    assert diagnostic["source"] == "distlint"
    (related,) = diagnostic["relatedInformation"]
    assert related["message"] == "because of this"
    assert related["location"] == {"uri": (project / "other.json").as_uri(), "range": span((0, 0), (0, 3))}


def test_related_places_are_left_out_for_an_editor_that_cannot_show_them(start: Start, project: Path) -> None:
    client = start()
    client.initialize(project, capabilities={})
    (diagnostic,) = client.diagnostics(client.open(project / "train.py"))
    assert "relatedInformation" not in diagnostic


def test_an_unsaved_change_counts_at_once_and_leaves_the_file_alone(start: Start, project: Path) -> None:
    client = start()
    client.initialize(project)
    uri = client.open(project / "train.py")
    assert len(client.diagnostics(uri)) == 1
    version = client.replace(uri, (1, 4), (1, 7), "fine")
    assert client.diagnostics(uri, version) == []
    assert "bad" in (project / "train.py").read_text()


def test_a_change_in_one_file_refreshes_the_others_that_are_open(start: Start, project: Path) -> None:
    client = start()
    client.initialize(project)
    script, config = client.open(project / "train.py"), client.open(project / "other.json")
    assert client.diagnostics(config) == []
    version = client.change(config, {"text": "bad"})
    assert len(client.diagnostics(script)) == 1
    assert len(client.diagnostics(config, version)) == 1


def test_only_the_newest_state_is_published(start: Start, project: Path) -> None:
    client = start()
    client.initialize(project)
    uri = client.open(project / "train.py", "sleep = bad\n")
    versions = [client.change(uri, {"text": f"sleep = {'bad ' * count}\n"}) for count in (2, 3, 4)]
    assert len(client.diagnostics(uri, versions[-1])) == 4
    published = [m["params"]["version"] for m in client.seen if m.get("method") == "textDocument/publishDiagnostics"]
    assert published == versions[-1:]


def test_closing_a_file_clears_its_diagnostics(start: Start, project: Path) -> None:
    client = start()
    client.initialize(project)
    uri = client.open(project / "train.py")
    assert client.diagnostics(uri)
    client.close(uri)
    assert client.diagnostics(uri, None) == []


def test_incremental_edits_end_where_opening_the_final_text_does(start: Start, project: Path) -> None:
    client = start()
    client.initialize(project)
    uri = client.open(project / "train.py", "🚀 = 1\r\nx = '𝛼'; y = bad\r\n")
    client.replace(uri, (0, 3), (0, 3), "bad, ")
    client.replace(uri, (0, 0), (0, 0), "\f\n")
    version = client.change(
        uri,
        {"range": span((2, 4), (2, 8)), "text": "'👩\u200d🚀' + bad + 'é'"},
        {"range": span((2, 0), (2, 0)), "text": "bad\n"},
    )
    final = "\f\n🚀 bad, = 1\r\nbad\nx = '👩\u200d🚀' + bad + 'é'; y = bad\r\n"
    edited = client.diagnostics(uri, version)

    fresh = start()
    fresh.initialize(project)
    opened = fresh.diagnostics(fresh.open(project / "train.py", final))
    assert [item["range"] for item in edited] == [item["range"] for item in opened]
    assert len(opened) == 4


@pytest.mark.parametrize(
    ("encoding", "column"),
    [("utf-8", 9), ("utf-16", 7), ("utf-32", 6)],
)
def test_columns_are_counted_as_negotiated(start: Start, project: Path, encoding: str, column: int) -> None:
    client = start()
    capabilities = {**CAPABILITIES, "general": {"positionEncodings": [encoding]}}
    answer = client.initialize(project, capabilities=capabilities)
    assert answer["capabilities"]["positionEncoding"] == encoding
    (diagnostic,) = client.diagnostics(client.open(project / "train.py", "x='🚀'+bad\n"))
    assert diagnostic["range"] == span((0, column), (0, column + 3))


def test_a_fix_mends_the_text_and_is_bound_to_its_version(start: Start, project: Path) -> None:
    client = start()
    client.initialize(project)
    text = "x = '🚀'; y = bad\n"
    uri = client.open(project / "train.py", text)
    (diagnostic,) = client.diagnostics(uri)
    mend, ignore, page, _ = client.actions(uri, diagnostic["range"], [diagnostic])
    assert (mend["title"], mend["kind"], mend["isPreferred"]) == ("Replace bad", "quickfix", True)
    assert mend["diagnostics"] == [diagnostic]
    (change,) = mend["edit"]["documentChanges"]
    assert change["textDocument"] == {"uri": uri, "version": 1}
    assert apply(text, change["edits"]) == "x = '🚀'; y = good\n"
    assert ignore["title"] == "Ignore XX101 here"
    (change,) = ignore["edit"]["documentChanges"]
    assert apply(text, change["edits"]) == "x = '🚀'; y = bad  # distlint: ignore[XX101] reason\n"
    assert page["command"]["arguments"] == ["XX101"]
    client.request("workspace/executeCommand", page["command"])
    (shown,) = [message["params"] for message in client.seen if message.get("method") == "window/showDocument"]
    assert shown == {"uri": diagnostic["codeDescription"]["href"], "external": True}


def test_an_editor_without_versioned_changes_gets_plain_ones(start: Start, project: Path) -> None:
    client = start()
    client.initialize(project, capabilities={})
    uri = client.open(project / "train.py")
    client.diagnostics(uri)
    mend, *_ = client.actions(uri, WHOLE)
    assert mend["edit"]["changes"] == {uri: [{"range": span((1, 4), (1, 7)), "newText": "good"}]}


def test_fixing_all_takes_the_safe_ones_and_waits_for_a_state_that_is_not_analysed_yet(
    start: Start, project: Path
) -> None:
    client = start()
    client.initialize(project)
    uri = client.open(project / "train.py")
    client.diagnostics(uri)
    text = "bad + worse + bad\n"
    version = client.change(uri, {"text": text})
    (action,) = client.actions(uri, WHOLE, only=["source.fixAll"])
    assert action["kind"] == "source.fixAll.distlint"
    (change,) = action["edit"]["documentChanges"]
    assert change["textDocument"]["version"] == version
    assert apply(text, change["edits"]) == "good + worse + good\n"


def test_an_unsafe_fix_is_offered_alone_and_says_so(start: Start, project: Path) -> None:
    client = start()
    client.initialize(project)
    uri = client.open(project / "train.py", "worse\n")
    client.diagnostics(uri)
    titles = [(item["title"], item.get("isPreferred")) for item in client.actions(uri, WHOLE, only=["quickfix"])]
    assert ("Replace worse (unsafe)", None) in titles
    assert client.actions(uri, WHOLE, only=["source.fixAll.distlint"]) == []
    assert client.actions(uri, WHOLE, only=["refactor", "source.organizeImports"]) == []


def test_a_diagnostic_of_an_older_state_gets_no_action(start: Start, project: Path) -> None:
    client = start()
    client.initialize(project)
    uri = client.open(project / "train.py")
    (old,) = client.diagnostics(uri)
    client.diagnostics(uri, client.change(uri, {"text": "bad bad\n"}))
    assert client.actions(uri, old["range"], [old], only=["quickfix"]) == []


def test_silencing_is_not_offered_where_the_format_has_no_comments(start: Start, project: Path) -> None:
    client = start()
    client.initialize(project)
    uri = client.open(project / "other.json", "bad")
    client.diagnostics(uri)
    assert not [item for item in client.actions(uri, WHOLE) if item["title"].startswith("Ignore")]


def test_hover_shows_the_rule_page_on_a_finding_and_nothing_elsewhere(start: Start, project: Path) -> None:
    client = start()
    client.initialize(project)
    uri = client.open(project / "train.py")
    client.diagnostics(uri)
    shown = client.hover(uri, 1, 5)
    assert shown["contents"] == {"kind": "markdown", "value": "# XX101\n\nWords."}
    assert shown["range"] == span((1, 4), (1, 7))
    assert client.hover(uri, 0, 1) is None


def test_a_failing_analysis_is_logged_and_the_next_one_works(start: Start, project: Path) -> None:
    client = start()
    client.initialize(project)
    uri = client.open(project / "train.py", "crash\n")
    logged = client.wait(lambda message: message.get("method") == "window/logMessage", "log message")
    assert "RuntimeError: the engine broke" in logged["params"]["message"]
    version = client.change(uri, {"text": "bad\n"})
    assert len(client.diagnostics(uri, version)) == 1


def test_project_errors_are_logged_once(start: Start, project: Path) -> None:
    client = start()
    client.initialize(project)
    uri = client.open(project / "train.py", "odd\n")
    client.diagnostics(uri)
    client.diagnostics(uri, client.change(uri, {"text": "odd bad\n"}))
    client.hover(uri, 0, 0)
    logged = [message["params"]["message"] for message in client.seen if message.get("method") == "window/logMessage"]
    assert logged == ["train.py: is odd"]


def test_a_file_that_changes_on_disk_is_read_again(start: Start, project: Path) -> None:
    client = start()
    client.initialize(project)
    registered = client.wait(lambda message: message.get("method") == "client/registerCapability", "registration")
    (registration,) = registered["params"]["registrations"]
    assert registration["method"] == "workspace/didChangeWatchedFiles"
    uri = client.open(project / "train.py", "fine\n")
    assert client.diagnostics(uri) == []
    (project / "other.json").write_text("crash")
    change = {"uri": (project / "other.json").as_uri(), "type": 2}
    client.notify("workspace/didChangeWatchedFiles", {"changes": [change]})
    client.wait(lambda message: message.get("method") == "window/logMessage", "sign of a new analysis")


def test_each_folder_is_a_project_of_its_own(start: Start, project: Path, tmp_path: Path) -> None:
    other = tmp_path / "another"
    other.mkdir()
    (other / "train.py").write_text("crash\n")
    client = start()
    client.initialize(project, other)
    broken = client.open(other / "train.py")
    uri = client.open(project / "train.py")
    assert len(client.diagnostics(uri)) == 1
    assert not [m for m in client.seen if (m.get("params") or {}).get("uri") == broken]


def test_a_folder_that_is_added_takes_over_its_files(start: Start, project: Path) -> None:
    (project / "inner").mkdir()
    (project / "inner/train.py").write_text("bad\n")
    client = start()
    client.initialize(project)
    uri = client.open(project / "inner/train.py")
    (outer,) = client.diagnostics(uri)
    assert outer["relatedInformation"][0]["location"]["uri"] == (project / "other.json").as_uri()
    folder = {"uri": (project / "inner").as_uri(), "name": "inner"}
    client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [folder], "removed": []}})
    (inner,) = client.diagnostics(uri)
    assert inner["relatedInformation"][0]["location"]["uri"] == (project / "inner/other.json").as_uri()


def test_saving_analyses_again(start: Start, project: Path) -> None:
    client = start()
    client.initialize(project)
    uri = client.open(project / "train.py")
    assert len(client.diagnostics(uri)) == 1
    client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    assert len(client.diagnostics(uri)) == 1


def test_requests_about_files_that_are_not_open_are_answered_with_nothing(start: Start, project: Path) -> None:
    client = start()
    client.initialize(project)
    uri = (project / "train.py").as_uri()
    assert client.actions(uri, WHOLE) is None
    assert client.hover(uri, 0, 0) is None
    client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    client.close(uri)
    assert client.hover(uri, 0, 0) is None
