"""One source in, its facts out: the only entry to the readers.

Readers are imported when a file of their kind is met: a project without shell scripts does not pay for a shell parser.
"""

from __future__ import annotations

from distlint.model.facts import FileFacts, ReadError
from distlint.model.pin import Include, Pin
from distlint.model.shell import Carried, ShellFacts
from distlint.model.source import DecodingError, Source, SourceKind, decode
from distlint.model.span import whole_line
from distlint.read.pins.installers import INSTALLERS

_ENVIRONMENT_WORDS = ("image", "container", "python-version", "python_version", "versionSpec", "docker")
"""What stands in a YAML file that says what jobs run in."""
_COMMAND_KEYS = ("run:", "script:", "command:", "args:", "commands:", "entrypoint:", "cmd:", "bash:")
"""What stands in a YAML file that runs commands."""


def read_source(source: Source) -> FileFacts:
    """The facts of one file; never raises: what can't be read is among the errors."""
    try:
        text = decode(source.data, source.kind)
    except DecodingError as error:
        return FileFacts(source.path, source.kind, errors=(ReadError(whole_line(source.path), str(error)),))
    return read_text(source.path, source.kind, text)


def read_text(path: str, kind: SourceKind, text: str) -> FileFacts:
    """The facts of a text; the same as ``read_source`` after decoding."""
    try:
        facts = _READERS[kind](path, text)
        if "distlint:" in text:
            from dataclasses import replace

            from distlint.read.comments import read_suppressions

            facts = replace(facts, suppressions=read_suppressions(path, text, kind))
    except RecursionError:
        return _unread(path, kind, "is nested too deeply")
    except MemoryError:
        return _unread(path, kind, "takes too much memory to read")
    except Exception as error:  # one file that our reader fails on must not end the analysis
        return _unread(path, kind, f"could not be read: {type(error).__name__}: {error}", internal=True)
    return facts


def _unread(path: str, kind: SourceKind, reason: str, *, internal: bool = False) -> FileFacts:
    return FileFacts(path, kind, errors=(ReadError(whole_line(path), reason, internal),))


def _python(path: str, text: str) -> FileFacts:
    from distlint.read.python import read_python

    module, errors = read_python(text, path)
    pins: tuple[Pin, ...] = ()
    includes: tuple[Include, ...] = ()
    if path.rpartition("/")[2] == "setup.py":
        from distlint.read.pins import read_setup_py

        reading = read_setup_py(text, path)
        pins, includes = reading.pins, reading.includes
    elif path.rpartition("/")[2] == "noxfile.py":
        from distlint.read.pins import read_noxfile

        pins = read_noxfile(text, path).pins
    elif "# /// script" in text:
        from distlint.read.pins import read_inline_metadata

        reading = read_inline_metadata(text, path)
        pins, errors = reading.pins, (*errors, *reading.errors)
    return FileFacts(path, SourceKind.PYTHON, module=module, errors=errors, pins=pins, includes=includes)


def _json(path: str, text: str) -> FileFacts:
    from distlint.read.json import read_json

    reading = read_json(text, path)
    return FileFacts(path, SourceKind.JSON, documents=reading.documents, errors=reading.errors, loaders=reading.loaders)


def _yaml(path: str, text: str) -> FileFacts:
    from distlint.read.yaml import read_yaml

    reading = read_yaml(text, path)
    pins: tuple[Pin, ...] = ()
    includes: tuple[Include, ...] = ()
    errors = reading.errors
    if "dependencies" in text:
        from distlint.read.pins import read_conda

        conda = read_conda(text, path, reading.documents)
        pins, includes, errors = conda.pins, conda.includes, (*errors, *conda.errors)
    if any(word in text for word in (*_ENVIRONMENT_WORDS, *INSTALLERS)):
        from distlint.read.pins import read_yaml_installs

        installs = read_yaml_installs(reading.documents, text, path)
        pins, includes = (*pins, *installs.pins), (*includes, *installs.includes)
    carried: tuple[Carried, ...] = ()
    if any(word in text for word in _COMMAND_KEYS):
        from distlint.read.yaml_commands import read_yaml_commands

        carried = read_yaml_commands(reading.documents, text, path)
    return FileFacts(
        path,
        SourceKind.YAML,
        documents=reading.documents,
        errors=errors,
        loaders=reading.loaders,
        pins=pins,
        includes=includes,
        carried=carried,
    )


def _toml(path: str, text: str) -> FileFacts:
    from distlint.read.pins import read_pipfile, read_pyproject
    from distlint.read.toml import read_toml

    reading = read_toml(text, path)
    name = path.rpartition("/")[2]
    if name in ("pyproject.toml", "Pipfile", "pixi.toml"):
        from distlint.read.pins import read_pixi

        pins = {"pyproject.toml": read_pyproject, "Pipfile": read_pipfile, "pixi.toml": read_pixi}[name](text, path)
        return FileFacts(
            path,
            SourceKind.TOML,
            documents=reading.documents,
            errors=(*reading.errors, *pins.errors),
            pins=pins.pins,
            includes=pins.includes,
        )
    return FileFacts(path, SourceKind.TOML, documents=reading.documents, errors=reading.errors, loaders=reading.loaders)


def _shell(path: str, text: str) -> FileFacts:
    from distlint.read.shell import read_shell

    shell, errors = read_shell(text, path)
    pins, includes = _installed(shell, text, path)
    return FileFacts(path, SourceKind.SHELL, shell=shell, errors=errors, pins=pins, includes=includes)


def _installed(
    shell: ShellFacts | None, text: str, path: str, group: str = ""
) -> tuple[tuple[Pin, ...], tuple[Include, ...]]:
    """What the commands of a script install; what is no requirement there is no error, as it may be a variable's."""
    if shell is None or not any(word in text for word in INSTALLERS):
        return (), ()
    from distlint.read.pins import pins_of_statements

    reading = pins_of_statements(shell.statements, "shell", path, group=group)
    return reading.pins, reading.includes


def _requirements(path: str, text: str) -> FileFacts:
    from distlint.read.pins import read_requirements

    reading = read_requirements(text, path)
    return FileFacts(path, SourceKind.REQUIREMENTS, pins=reading.pins, includes=reading.includes, errors=reading.errors)


def _ini(path: str, text: str) -> FileFacts:
    from distlint.read.ini import read_ini

    reading = read_ini(text, path)
    return FileFacts(path, SourceKind.INI, documents=reading.documents, errors=reading.errors, loaders=reading.loaders)


def _setup_cfg(path: str, text: str) -> FileFacts:
    from distlint.read.pins import read_setup_cfg

    reading = read_setup_cfg(text, path)
    return FileFacts(path, SourceKind.SETUP_CFG, pins=reading.pins, includes=reading.includes, errors=reading.errors)


def _lock(path: str, text: str) -> FileFacts:
    from distlint.read.pins import read_lock

    reading = read_lock(text, path)
    return FileFacts(path, SourceKind.LOCK, pins=reading.pins, errors=reading.errors)


def _dockerfile(path: str, text: str) -> FileFacts:
    from distlint.read.pins import read_dockerfile

    reading = read_dockerfile(text, path)
    from distlint.read.docker_commands import read_docker_commands

    return FileFacts(
        path,
        SourceKind.DOCKERFILE,
        pins=reading.pins,
        includes=reading.includes,
        errors=reading.errors,
        carried=read_docker_commands(text, path),
    )


def _makefile(path: str, text: str) -> FileFacts:
    from distlint.read.makefile import read_makefile

    carried = read_makefile(text, path)
    pins: tuple[Pin, ...] = ()
    includes: tuple[Include, ...] = ()
    for number, recipe in enumerate(carried):
        found, named = _installed(recipe.facts, text, path, f"recipe{number}")
        pins, includes = (*pins, *found), (*includes, *named)
    return FileFacts(path, SourceKind.MAKEFILE, carried=carried, pins=pins, includes=includes)


def _hostfile(path: str, text: str) -> FileFacts:
    """Hostfiles are known by their path; their lines are read where a launch names them."""
    return FileFacts(path, SourceKind.HOSTFILE)


_READERS = {
    SourceKind.PYTHON: _python,
    SourceKind.JSON: _json,
    SourceKind.YAML: _yaml,
    SourceKind.TOML: _toml,
    SourceKind.SHELL: _shell,
    SourceKind.REQUIREMENTS: _requirements,
    SourceKind.INI: _ini,
    SourceKind.SETUP_CFG: _setup_cfg,
    SourceKind.LOCK: _lock,
    SourceKind.DOCKERFILE: _dockerfile,
    SourceKind.MAKEFILE: _makefile,
    SourceKind.HOSTFILE: _hostfile,
}
