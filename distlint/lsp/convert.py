"""Findings and fixes in the protocol's words."""

from __future__ import annotations

from collections.abc import Iterable

from lsprotocol import types

from distlint.lsp.positions import UTF16, Positions
from distlint.lsp.snapshot import Analysis
from distlint.model.finding import Edit, Finding, Severity
from distlint.model.record import dataclass
from distlint.model.span import Span
from distlint.report.links import rule_url

SOURCE = "distlint"

_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.NOTE: types.DiagnosticSeverity.Information,
}


@dataclass(frozen=True, slots=True)
class Client:
    """What the editor has said that it understands."""

    encoding: str = UTF16
    related: bool = False
    versioned_edits: bool = False
    shows_documents: bool = False
    watches_files: bool = False

    @classmethod
    def read(cls, capabilities: types.ClientCapabilities, encoding: str) -> Client:
        """The client that announced these capabilities, with the position encoding that was agreed on."""
        documents, workspace, window = capabilities.text_document, capabilities.workspace, capabilities.window
        publishing = documents.publish_diagnostics if documents else None
        editing = workspace.workspace_edit if workspace else None
        watching = workspace.did_change_watched_files if workspace else None
        showing = window.show_document if window else None
        return cls(
            encoding=encoding,
            related=bool(publishing and publishing.related_information),
            versioned_edits=bool(editing and editing.document_changes),
            shows_documents=bool(showing and showing.support),
            watches_files=bool(watching and watching.dynamic_registration),
        )


class Converter:
    """Converts what one analysis found; keeps the line index of each text that it has needed."""

    def __init__(self, analysis: Analysis, client: Client) -> None:
        self._analysis = analysis
        self._client = client
        self._positions: dict[str, Positions] = {}

    def positions(self, file: str) -> Positions:
        """The positions of a project file's analysed text; of an empty text if it can't be had any more."""
        found = self._positions.get(file)
        if found is None:
            try:
                text = self._analysis.report.text(file)
            except (OSError, LookupError, ValueError):
                text = ""
            found = self._positions[file] = Positions(text, self._client.encoding)
        return found

    def range(self, span: Span) -> types.Range:
        """The range of a span in its file."""
        return self.positions(span.file).range(span)

    def findings(self, file: str) -> list[tuple[int, Finding]]:
        """The findings whose place is in a file, with their index in the report."""
        return [(index, item) for index, item in enumerate(self._analysis.report.findings) if item.span.file == file]

    def diagnostics(self, file: str) -> list[types.Diagnostic]:
        """The diagnostics of a file, in the order of the report."""
        return [self.diagnostic(index, finding) for index, finding in self.findings(file)]

    def diagnostic(self, index: int, finding: Finding) -> types.Diagnostic:
        """One finding. Its ``data`` names it to a later request for actions: generation and index in the report."""
        return types.Diagnostic(
            range=self.range(finding.span),
            message=f"{finding.message}\n{finding.help}" if finding.help else finding.message,
            severity=_SEVERITIES[finding.severity],
            code=finding.code,
            code_description=types.CodeDescription(rule_url(finding.code)),
            source=SOURCE,
            related_information=self._related(finding) if self._client.related else None,
            data={"generation": self._analysis.snapshot.generation, "index": index},
        )

    def workspace_edit(self, edits: Iterable[Edit]) -> types.WorkspaceEdit:
        """Edits as one change of the workspace, bound to the versions of the buffers where the editor takes that."""
        by_file: dict[str, list[types.TextEdit]] = {}
        for edit in edits:
            by_file.setdefault(edit.span.file, []).append(types.TextEdit(self.range(edit.span), edit.text))
        if not self._client.versioned_edits:
            uri = self._analysis.uri
            return types.WorkspaceEdit(changes={uri(file): changes for file, changes in by_file.items()})
        return types.WorkspaceEdit(
            document_changes=[
                types.TextDocumentEdit(self._versioned(file), list(changes)) for file, changes in by_file.items()
            ]
        )

    def _versioned(self, file: str) -> types.OptionalVersionedTextDocumentIdentifier:
        buffer = self._analysis.buffers.get(file)
        uri = self._analysis.uri(file)
        return types.OptionalVersionedTextDocumentIdentifier(uri, buffer.version if buffer else None)

    def _related(self, finding: Finding) -> list[types.DiagnosticRelatedInformation]:
        uri = self._analysis.uri
        return [
            types.DiagnosticRelatedInformation(types.Location(uri(span.file), self.range(span)), message)
            for span, message in ((place.span, place.message) for place in finding.related)
        ]
