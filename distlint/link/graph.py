"""The project graph: what starts, imports, calls, loads, writes and pins what.

Made for people (``distlint graph``) and for questions about reachability; analyses themselves work on the indexes of ``link.project``.
Node keys are tuples, so that a file and a function of the same name stay apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distlint.link.modules import ClassRef, FunctionRef
from distlint.model import python as ir
from distlint.model.source import SourceKind

if TYPE_CHECKING:
    import networkx as nx

    from distlint.link.project import Project

_KINDS = {
    SourceKind.PYTHON: "script",
    SourceKind.SHELL: "shell",
    SourceKind.JSON: "document",
    SourceKind.YAML: "document",
    SourceKind.TOML: "document",
}


def build_graph(project: Project) -> nx.DiGraph[Any]:
    """A directed graph with node attributes ``kind``, ``label``, ``file``, ``line`` and the edge attribute ``kind``.

    Edges: ``imports`` (script to script), ``defines`` (script to function), ``calls`` (function to function), ``starts`` (shell script to
    launch), ``launches`` (launch to script), ``loads`` (script or launch to document), ``writes`` (shell script to document) and ``pins``
    (source of pins to package).
    """
    import networkx

    graph: nx.DiGraph[Any] = networkx.DiGraph()
    for path, facts in sorted(project.facts.items()):
        kind = _KINDS.get(facts.kind, "source")
        if facts.kind in (SourceKind.PYTHON, SourceKind.SHELL):
            graph.add_node(("file", path), kind=kind, label=path, file=path, line=1)
        for pin in facts.pins:
            graph.add_node(("file", path), kind="pins", label=path, file=path, line=1)
            key = ("pin", path, pin.name, pin.specifier)
            graph.add_node(key, kind="pin", label=f"{pin.name}{pin.specifier}", file=path, line=pin.span.line)
            graph.add_edge(("file", path), key, kind="pins")
    _add_python(graph, project)
    _add_launches(graph, project)
    _add_documents(graph, project)
    return graph


def _add_python(graph: nx.DiGraph[Any], project: Project) -> None:
    for path in project.python_files:
        for imported in project.imports(path):
            if imported in project.facts:
                graph.add_edge(("file", path), ("file", imported), kind="imports")
        module = project.module(path)
        for name, sites in sorted(module.calls.items()):
            for site in sites:
                target = project.modules.resolve(site.call.func, path) if name else None
                if isinstance(target, ClassRef):
                    target = project.modules.method(target, "__init__")
                if isinstance(target, FunctionRef) and target.file in project.facts:
                    graph.add_edge(
                        _caller(graph, path, module, site.function), _function(graph, project, target), kind="calls"
                    )


def _caller(graph: nx.DiGraph[Any], path: str, module: ir.Module, index: int) -> tuple[Any, ...]:
    if index < 0:
        return ("file", path)
    return _add_function(graph, path, index, module.functions[index])


def _function(graph: nx.DiGraph[Any], project: Project, target: FunctionRef) -> tuple[Any, ...]:
    return _add_function(graph, target.file, target.index, project.function(target))


def _add_function(graph: nx.DiGraph[Any], path: str, index: int, function: ir.Function) -> tuple[Any, ...]:
    key = ("function", path, index)
    if key not in graph:
        graph.add_node(
            key, kind="function", label=f"{path}: {function.qualname}", file=path, line=ir.line_of(function.at)
        )
        graph.add_edge(("file", path), key, kind="defines")
    return key


def _add_launches(graph: nx.DiGraph[Any], project: Project) -> None:
    for number, launch in enumerate(project.launches):
        key = ("launch", number)
        world = f", {launch.world_size.only} processes" if launch.world_size.is_known else ""
        label = f"{launch.launcher} {launch.script_file or launch.script.only or '?'}{world}"
        graph.add_node(key, kind="launch", label=label, file=launch.span.file, line=launch.span.line)
        graph.add_edge(("file", launch.span.file), key, kind="starts")
        if launch.script_file:
            graph.add_node(
                ("file", launch.script_file), kind="script", label=launch.script_file, file=launch.script_file, line=1
            )
            graph.add_edge(key, ("file", launch.script_file), kind="launches")
        if launch.config is not None:
            graph.add_edge(key, _document(graph, launch.config.file), kind="loads")


def _add_documents(graph: nx.DiGraph[Any], project: Project) -> None:
    for written in project.documents.written:
        graph.add_edge(("file", written.script), _document(graph, written.path), kind="writes")
    for load in sorted(project.documents.loads.values(), key=lambda load: (load.script, load.path)):
        if ("file", load.script) not in graph:
            graph.add_node(("file", load.script), kind="source", label=load.script, file=load.script, line=1)
        graph.add_edge(("file", load.script), _document(graph, load.path), kind="loads")


def _document(graph: nx.DiGraph[Any], path: str) -> tuple[Any, ...]:
    key = ("document", path)
    graph.add_node(key, kind="document", label=path, file=path, line=1)
    return key
