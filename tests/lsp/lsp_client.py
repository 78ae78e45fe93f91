"""A language client over pipes, as small as it can be: it sends and awaits raw messages."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).parents[2]

PATIENCE = 60
"""Seconds after which a message that does not come counts as a failure."""

ANSWERS = {"window/showDocument": {"success": True}}

CAPABILITIES = {
    "general": {"positionEncodings": ["utf-16"]},
    "textDocument": {"publishDiagnostics": {"relatedInformation": True, "dataSupport": True}},
    "workspace": {
        "workspaceEdit": {"documentChanges": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "workspaceFolders": True,
    },
    "window": {"showDocument": {"support": True}},
}


class Client:
    """Speaks to one server process. ``seen`` keeps every message of the server in order."""

    def __init__(self, command: list[str], cwd: Path) -> None:
        self.process = subprocess.Popen(
            command,
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.seen: list[dict[str, Any]] = []
        self.noise = bytearray()
        self._arrived: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._id = 0
        self._versions: dict[str, int] = {}
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._drain, daemon=True).start()

    def _read(self) -> None:
        stdout = self.process.stdout
        while header := stdout.readline():
            name, _, length = header.partition(b":")
            if name != b"Content-Length":
                self.noise += header
                continue
            while stdout.readline().strip():
                pass
            self._arrived.put(json.loads(stdout.read(int(length))))
        self._arrived.put(None)

    def _drain(self) -> None:
        self.errors = self.process.stderr.read()

    def send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def notify(self, method: str, params: Any) -> None:
        self.send({"method": method, "params": params})

    def wait(self, wanted: Callable[[dict[str, Any]], bool], what: str) -> dict[str, Any]:
        """The next message that is wanted; requests of the server are answered on the way."""
        while True:
            try:
                message = self._arrived.get(timeout=PATIENCE)
            except queue.Empty:
                raise AssertionError(f"no {what} came; seen: {self.seen}") from None
            if message is None:
                raise AssertionError(f"the server ended before {what}: {self.errors.decode()}")
            self.seen.append(message)
            if "id" in message and "method" in message:
                self.send({"id": message["id"], "result": ANSWERS.get(message["method"])})
            if wanted(message):
                return message

    def request(self, method: str, params: Any) -> Any:
        self._id += 1
        self.send({"id": self._id, "method": method, "params": params})
        number = self._id

        def wanted(message: dict[str, Any]) -> bool:
            return message.get("id") == number and "method" not in message

        answer = self.wait(wanted, f"answer to {method}")
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def initialize(self, *folders: Path, capabilities: dict[str, Any] | None = None) -> dict[str, Any]:
        listed = [{"uri": folder.as_uri(), "name": folder.name} for folder in folders]
        result = self.request(
            "initialize",
            {
                "processId": None,
                "rootUri": None,
                "capabilities": CAPABILITIES if capabilities is None else capabilities,
                "workspaceFolders": listed or None,
            },
        )
        self.notify("initialized", {})
        return result

    def open(self, path: Path, text: str | None = None) -> str:
        uri = path.as_uri()
        self._versions[uri] = 1
        item = {"uri": uri, "languageId": "plaintext", "version": 1, "text": path.read_text() if text is None else text}
        self.notify("textDocument/didOpen", {"textDocument": item})
        return uri

    def change(self, uri: str, *changes: dict[str, Any]) -> int:
        """Sends changes and returns the version that they make."""
        self._versions[uri] += 1
        self.notify(
            "textDocument/didChange",
            {"textDocument": {"uri": uri, "version": self._versions[uri]}, "contentChanges": list(changes)},
        )
        return self._versions[uri]

    def replace(self, uri: str, start: tuple[int, int], end: tuple[int, int], text: str) -> int:
        return self.change(uri, {"range": span(start, end), "text": text})

    def close(self, uri: str) -> None:
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def diagnostics(self, uri: str, version: int | None = 1) -> list[dict[str, Any]]:
        """The diagnostics published for a version of a file (``None``: for a file that is closed)."""

        def wanted(message: dict[str, Any]) -> bool:
            params = message.get("params") or {}
            return (
                message.get("method") == "textDocument/publishDiagnostics"
                and params["uri"] == uri
                and params.get("version") == version
            )

        return self.wait(wanted, f"diagnostics of {uri} in version {version}")["params"]["diagnostics"]

    def actions(
        self, uri: str, place: dict[str, Any], diagnostics: Sequence[Any] = (), only: list[str] | None = None
    ) -> Any:
        context: dict[str, Any] = {"diagnostics": list(diagnostics)}
        if only is not None:
            context["only"] = only
        params = {"textDocument": {"uri": uri}, "range": place, "context": context}
        return self.request("textDocument/codeAction", params)

    def hover(self, uri: str, line: int, character: int) -> Any:
        place = {"line": line, "character": character}
        return self.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": place})

    def stop(self) -> int:
        """Says goodbye and returns the exit code."""
        if self.process.poll() is None:
            self.request("shutdown", None)
            self.notify("exit", None)
        try:
            return self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self.process.wait()


def span(start: tuple[int, int], end: tuple[int, int]) -> dict[str, Any]:
    """A range of the protocol."""
    return {
        "start": {"line": start[0], "character": start[1]},
        "end": {"line": end[0], "character": end[1]},
    }


def apply(text: str, edits: list[dict[str, Any]]) -> str:
    """A text after edits whose columns count UTF-16 units, applied as an editor does: the last one first."""
    data = text.encode("utf-16-le")
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode("utf-16-le")))

    def offset(place: dict[str, int]) -> int:
        return starts[place["line"]] + 2 * place["character"]

    for edit in sorted(edits, key=lambda edit: offset(edit["range"]["start"]), reverse=True):
        start, end = offset(edit["range"]["start"]), offset(edit["range"]["end"])
        data = data[:start] + edit["newText"].encode("utf-16-le") + data[end:]
    return data.decode("utf-16-le")
