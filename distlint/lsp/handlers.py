"""The protocol's methods: each handler notes what changed, or answers from the last analysis."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from distlint import __version__
from distlint.lsp import actions as offered
from distlint.lsp.buffers import Buffers, path_of
from distlint.lsp.convert import SOURCE, Client, Converter
from distlint.lsp.hover import hover
from distlint.lsp.positions import Positions
from distlint.lsp.session import QUIET_SECONDS, Session
from distlint.lsp.snapshot import Analyse, Analysis, Snapshot, project_folder
from distlint.model.record import dataclass
from distlint.model.report import Report
from distlint.report.links import rule_url

WATCHED = (
    "**/*.{py,json,jsonc,hjson,yaml,yml,toml,sh,bash,slurm,sbatch,txt,in,cfg,lock}",
    "**/{Dockerfile,Makefile,hostfile,Pipfile}",
)
"""Files whose change on disk, by a checkout or another program, may change a verdict."""


@dataclass(frozen=True, slots=True)
class Engine:
    """What the server needs of the rest of distlint.

    ``page`` gives the page of a rule by its code or name, in Markdown; a report may know rules of the user's own.
    """

    analyse: Analyse
    remedies: offered.Remedies
    page: Callable[[str, Report | None], str | None]


class Server(LanguageServer):
    """The language server's state: the editor's buffers and folders, and the session that analyses them."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(SOURCE, f"v{__version__}")
        self.engine = engine
        self.client = Client()
        self.buffers = Buffers()
        self.session = Session(engine.analyse, self._snapshot, self._publish, self._failed)
        self._complaints: dict[Path, tuple[str, ...]] = {}

    def folder(self, path: Path) -> Path:
        """The project of a path, given the folders that are open now."""
        opened = [name for folder in self.workspace.folders.values() if (name := to_fs_path(folder.uri))]
        if not opened and self.workspace.root_path:
            opened = [self.workspace.root_path]
        return project_folder(path, [Path(name).resolve() for name in opened])

    def touch(self, paths: Iterable[Path], delay: float = QUIET_SECONDS) -> None:
        """Has the projects of some paths analysed again."""
        for folder in dict.fromkeys(self.folder(path) for path in paths):
            self.session.touch(folder, delay)

    def arrange(self) -> None:
        """Brings the projects into line with the open buffers: drops those without any, analyses all others."""
        folders = {self.folder(buffer.path) for buffer in self.buffers}
        for folder in self.session.folders():
            if folder not in folders:
                self.session.forget(folder)
                self._complaints.pop(folder, None)
        for folder in folders:
            self.session.touch(folder)

    def clear(self, uri: str) -> None:
        """Takes the diagnostics of a file back."""
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri=uri, diagnostics=[]))

    def log(self, message: str, kind: types.MessageType = types.MessageType.Error) -> None:
        """Writes to the editor's log."""
        self.window_log_message(types.LogMessageParams(type=kind, message=message))

    def _snapshot(self, folder: Path, generation: int) -> Snapshot:
        buffers = tuple(buffer for buffer in self.buffers if self.folder(buffer.path) == folder)
        return Snapshot(folder, generation, buffers)

    def _publish(self, analysis: Analysis) -> None:
        converter = Converter(analysis, self.client)
        for file, buffer in analysis.buffers.items():
            self.text_document_publish_diagnostics(
                types.PublishDiagnosticsParams(buffer.uri, converter.diagnostics(file), version=buffer.version)
            )
        complaints = tuple(f"{error.file}: {error.message}" for error in analysis.report.errors)
        folder = analysis.snapshot.folder
        if complaints != self._complaints.get(folder, ()):
            self._complaints[folder] = complaints
            for complaint in complaints:
                self.log(complaint, types.MessageType.Warning)

    def _failed(self, folder: Path, error: Exception) -> None:
        self.log(f"could not analyse {folder}: {type(error).__name__}: {error}")


def create_server(engine: Engine) -> Server:
    """A server with all of its handlers, not yet connected."""
    server = Server(engine)
    _register_documents(server)
    _register_workspace(server)
    _register_requests(server)
    return server


def _register_documents(server: Server) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        buffer = server.buffers.open(params.text_document)
        if buffer is not None:
            server.touch([buffer.path])

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        buffer = server.buffers.change(params.text_document, params.content_changes, server.client.encoding)
        if buffer is not None:
            server.touch([buffer.path])

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def did_save(params: types.DidSaveTextDocumentParams) -> None:
        buffer = server.buffers.get(params.text_document.uri)
        if buffer is not None:
            server.touch([buffer.path], 0)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        buffer = server.buffers.close(params.text_document.uri)
        if buffer is not None:
            server.clear(buffer.uri)
            server.arrange()


def _register_workspace(server: Server) -> None:
    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        encoding = server.workspace.position_encoding or types.PositionEncodingKind.Utf16
        server.client = Client.read(params.capabilities, str(getattr(encoding, "value", encoding)))

    @server.feature(types.INITIALIZED)
    def initialized(params: types.InitializedParams) -> None:
        if server.client.watches_files:
            watchers = [types.FileSystemWatcher(pattern) for pattern in WATCHED]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            registration = types.Registration("watch", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            server.client_register_capability(types.RegistrationParams([registration]))

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def did_change_watched_files(params: types.DidChangeWatchedFilesParams) -> None:
        changed = [path for change in params.changes if (path := path_of(change.uri))]
        watched = server.session.folders()
        server.touch(path for path in changed if server.folder(path) in watched)

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def did_change_workspace_folders(params: types.DidChangeWorkspaceFoldersParams) -> None:
        server.arrange()

    @server.command(offered.OPEN_PAGE)
    def open_page(code: str) -> None:
        server.window_show_document(types.ShowDocumentParams(uri=rule_url(code), external=True))


def _register_requests(server: Server) -> None:
    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=list(offered.KINDS)))
    async def code_action(params: types.CodeActionParams) -> list[types.CodeAction] | None:
        buffer = server.buffers.get(params.text_document.uri)
        if buffer is None:
            return None
        folder = server.folder(buffer.path)
        # Somebody who asks for a kind (fix on save) waits for the answer; a light bulb that is late is asked for again.
        analysis = await server.session.fresh(folder) if params.context.only else server.session.latest(folder)
        file = analysis.file(buffer.uri) if analysis else None
        if analysis is None or file is None:
            return None
        actions = offered.ActionList(analysis, server.client, server.engine.remedies)
        return await asyncio.to_thread(actions.actions, file, params)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def show_hover(params: types.HoverParams) -> types.Hover | None:
        buffer = server.buffers.get(params.text_document.uri)
        if buffer is None:
            return None
        analysis = server.session.latest(server.folder(buffer.path))
        file = analysis.file(buffer.uri) if analysis else None
        converter = Converter(analysis, server.client) if analysis and file else None
        text = Positions(buffer.text, server.client.encoding)

        def page(word: str) -> str | None:
            return server.engine.page(word, analysis.report if analysis else None)

        return await asyncio.to_thread(hover, converter, file or "", text, params.position, page)
