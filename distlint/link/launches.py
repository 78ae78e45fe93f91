"""The launches of a project: which command lines start processes, how many, of which script, with what arguments."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from distlint.link.command_lines import CommandLine, CommandReader, Layer, given, is_python, program_of
from distlint.link.process_counts import Counts, count_processes
from distlint.link.scheduler_header import SUBMITTERS
from distlint.link.shell import evaluate_carried, evaluate_command, evaluate_script, evaluate_text
from distlint.link.shell_commands import EvaluatedCommand, EvaluatedWord, Evaluation
from distlint.link.shell_paths import candidates, find_file
from distlint.link.shell_state import Directory, Variable
from distlint.link.shell_values import Chunk, Hole, Text, known_prefix
from distlint.link.shell_walk import Seen
from distlint.model.document import Document, lookup
from distlint.model.facts import FileFacts
from distlint.model.finding import Note
from distlint.model.framework import LauncherSpec
from distlint.model.launch import Argument, Launch, LaunchIndex, LaunchOption, WrittenFile
from distlint.model.span import Span
from distlint.model.value import Value, absent, known, unknown

if TYPE_CHECKING:
    from distlint.link.project import Project

_NO = frozenset({"0", "false", "no", "n", "off"})
_FILE_ENDINGS = (".json", ".yaml", ".yml", ".toml", ".py", ".txt", ".cfg", ".hjson", ".ini", ".sh", ".jsonl")


def find_launches(
    files: Mapping[str, FileFacts],
    specs: Sequence[LauncherSpec],
    project_files: Collection[str],
    read_text: Callable[[str], str | None] = lambda _: None,
    read_facts: Callable[[str], FileFacts | None] | None = None,
    devices: int | None = None,
) -> LaunchIndex:
    """Evaluates all shell scripts among ``files`` and gives the launches in them.

    ``specs`` describe the launchers; ``project_files`` are the paths of all files of the project, read or not.
    ``read_text`` gives the text of a project file that has no facts (a host file), ``read_facts`` the facts of a file
    that is not among ``files``. ``devices`` is how many each node has, where somebody told. A script that another one
    calls is evaluated as it is called there, and by itself only if nobody calls it.
    """
    linker = _Linker(files, specs, frozenset(project_files), read_text, read_facts, devices)
    carried = list(_carried(linker))
    # A header only says what a script asks for that nobody submits with options.
    submitted = {call.callee for evaluation, _ in carried for call in evaluation.calls if call.submitted}
    evaluations = _evaluate_all({path: f.shell for path, f in files.items() if f.shell is not None}, linker, submitted)
    launches: dict[object, Launch] = {}
    written: dict[object, WrittenFile] = {}
    for evaluation in evaluations:
        for command in evaluation.commands:
            launch = linker.launch_of(command)
            if launch is not None:
                launches.setdefault(_identity(launch), launch)
            for item in linker.written_by(command):
                written.setdefault((item.span, item.path.text, item.text), item)
    for evaluation, plain in carried:
        for command in evaluation.commands:
            launch = linker.launch_of(command)
            if launch is not None and (plain or launch.launcher != linker.reader.python or launch.outer is not None):
                launches.setdefault(_identity(launch), launch)
        evaluations.append(evaluation)
    calls = dict.fromkeys(call for evaluation in evaluations for call in evaluation.calls)
    notes = dict.fromkeys(Note(span, message) for evaluation in evaluations for span, message in evaluation.notes)
    return LaunchIndex(tuple(launches.values()), tuple(written.values()), tuple(calls), tuple(notes))


def launch_from_words(
    words: Sequence[str],
    span: Span,
    specs: Sequence[LauncherSpec],
    project_files: Collection[str],
    *,
    spans: Sequence[Span] = (),
    directory: str | None = None,
    environment: Mapping[str, Value] | None = None,
) -> Launch | None:
    """The launch that a list of known words means: a ``CMD`` line, a workflow step, a list given to ``subprocess``.

    ``span`` is the place of the whole, ``spans`` those of the words where they are known. ``directory`` is the working
    directory below the project's root, ``None`` when unknown. ``None`` when the words start nothing that we know.
    """
    places = spans if len(spans) == len(words) else [span] * len(words)
    evaluated = tuple(
        EvaluatedWord(((Chunk(word, (place.file, place.line, place.column)),),), place)
        for word, place in zip(words, places, strict=True)
    )
    where = Directory(directory, "root") if directory is not None else Directory()
    command = EvaluatedCommand(evaluated, span, span.file, {}, where)
    linker = _Linker({}, specs, frozenset(project_files), lambda _: None)
    launch = linker.launch_of(command)
    if launch is None or not environment:
        return launch
    return replace(launch, environment={**environment, **launch.environment})


def launches_of_words(
    words: Sequence[EvaluatedWord],
    span: Span,
    specs: Sequence[LauncherSpec],
    project: Project,
    environment: Mapping[str, Variable] = MappingProxyType({}),
) -> list[Launch]:
    """The launches that a program makes by starting a command whose words may have holes."""
    linker = _linker_of(specs, project)
    line = linker.reader.read(words)
    if line is None and not any(word.literal in ("bash", "sh", *SUBMITTERS) for word in words[:2]):
        return []
    evaluation = evaluate_command(words, span, linker.seen(), environment=environment)
    return _by_program(evaluation, linker)


def launches_of_text(
    text: Text,
    span: Span,
    specs: Sequence[LauncherSpec],
    project: Project,
    environment: Mapping[str, Variable] = MappingProxyType({}),
) -> list[Launch]:
    """The launches that a program makes by handing a text to a shell."""
    linker = _linker_of(specs, project)
    evaluation = evaluate_text(text, span, linker.seen(), environment=environment)
    return _by_program(evaluation, linker)


def _by_program(evaluation: Evaluation, linker: _Linker) -> list[Launch]:
    """The launches that a program makes, whose environment may be changed before in ways that we don't follow."""
    found = [linker.launch_of(command) for command in evaluation.commands]
    submitted = {call.callee for call in evaluation.calls if call.submitted}
    return [
        replace(one, guards=one.guards + 1, submitted=one.file in submitted)
        for one in found
        if one is not None and (one.launcher != linker.reader.python or one.outer)
    ]


def _linker_of(specs: Sequence[LauncherSpec], project: Project) -> _Linker:
    paths = frozenset(project.paths)
    return _Linker(project.facts, specs, paths, project.text_of, project.file_facts, project.gpus_per_node)


def _identity(launch: Launch) -> object:
    words = tuple((argument.text, argument.span) for argument in launch.arguments)
    environment = tuple((name, value.options) for name, value in launch.environment.items())
    options = tuple((dest, option.value.options) for dest, option in launch.options.items())
    return (
        launch.span,
        launch.launcher,
        words,
        launch.world_size.options,
        environment,
        options,
        launch.outer is not None,
    )


def _evaluate_all(scripts: Mapping[str, object], linker: _Linker, submitted: Collection[str] = ()) -> list[Evaluation]:
    """Every script that nobody calls, in the order of paths; of scripts that call each other in a circle the first.

    Those that a file which is no script submits are left out.
    """
    seen = linker.seen()
    found = {path: evaluate_script(path, seen) for path in sorted(scripts)}
    called = {call.callee for path, evaluation in found.items() for call in evaluation.calls if call.callee != path}
    roots = [path for path in found if path not in called]
    reached = {call.callee for path in roots for call in found[path].calls} | set(roots)
    for path, evaluation in found.items():
        if path not in reached:
            roots.append(path)
            reached |= {path, *(call.callee for call in evaluation.calls)}
    return [found[path] for path in sorted(roots) if path not in submitted]


def _carried(linker: _Linker) -> Iterator[tuple[Evaluation, bool]]:
    """The commands in files that are no scripts, and whether a plain interpreter is a job there.

    Making an image installs things; that a script is run in between says nothing of how it is meant to be run. Scripts
    that they call stay roots: they may be started by hand as well.
    """
    seen = linker.seen()
    for path, facts in linker.files.items():
        for carried in facts.carried:
            yield evaluate_carried(carried, path, seen), carried.kind != "build"


class _Linker:
    def __init__(
        self,
        files: Mapping[str, FileFacts],
        specs: Sequence[LauncherSpec],
        project_files: frozenset[str],
        read_text: Callable[[str], str | None],
        read_facts: Callable[[str], FileFacts | None] | None = None,
        devices: int | None = None,
    ) -> None:
        self.files = files
        self.devices = devices
        self.read_facts = read_facts or files.get
        self.project_files = project_files
        self.reader = CommandReader(specs)
        self.read_text = read_text

    def seen(self) -> Seen:
        """What a walk through commands may see of the project."""
        scripts = {path: facts.shell for path, facts in self.files.items() if facts.shell is not None}
        return Seen(scripts, self.project_files.__contains__, self.reader.wrapping, self.read_text)

    # Launches

    def launch_of(self, command: EvaluatedCommand) -> Launch | None:
        """The launch that a command is, schedulers around it as ``outer``; ``None`` if it starts no processes."""
        line = self.reader.read(command.words) if command.words else None
        if line is None or self._continues(command, line):
            return None
        environment = {**({} if line.remote else command.environment), **line.environment}
        launch = self._outer_of(command)
        for at, layer in enumerate(line.layers):
            last = at == len(line.layers) - 1
            launch = self._launch(command, layer, environment, launch, last=last, end=line.inner)
            if launch is None:
                return None
            environment = {**environment, **_passed_on(layer)}
        if launch is not None and (line.apart or self._is_apart(command.wrapped)):
            return replace(launch, apart=True)
        return launch

    def _is_apart(self, wrapper: EvaluatedCommand | None) -> bool:
        return wrapper is not None and (self.reader.is_apart(wrapper.words) or self._is_apart(wrapper.wrapped))

    def _continues(self, command: EvaluatedCommand, line: CommandLine) -> bool:
        """Whether a command only starts a shell or a script that was followed: the launches are the commands in it."""
        last = line.layers[-1]
        if not last.spec.prefix:
            return False
        inner = command.words[line.inner :]
        if not inner:
            return True
        name = (inner[0].literal or "").rpartition("/")[2]
        return name in ("bash", "sh", "zsh") or bool(
            self._script_file(inner[0], command, endings=(".sh", ".slurm", ".sbatch"))
        )

    def _outer_of(self, command: EvaluatedCommand) -> Launch | None:
        """The scheduler that runs the script or the string in which a command stands."""
        wrapper = command.wrapped
        if wrapper is None:
            return None
        line = self.reader.read(wrapper.words)
        if line is None:
            return self._outer_of(wrapper)
        launch = self._outer_of(wrapper)
        for layer in line.layers:
            if layer.spec.prefix:
                launch = self._launch(wrapper, layer, wrapper.environment, launch, last=False, end=line.inner) or launch
        return launch

    def _launch(
        self,
        command: EvaluatedCommand,
        layer: Layer,
        environment: Mapping[str, Value],
        outer: Launch | None,
        *,
        last: bool,
        end: int,
    ) -> Launch | None:
        spec = layer.spec
        script, file, rest, is_module = self._script(command, layer)
        if not last or spec.prefix:
            script, file, rest = absent(command.span), "", end
        elif (
            "command" in layer.options
            or (is_module and not file and not spec.appends and spec.name == "python")
            or script.is_absent
        ):
            return None
        words = command.words[rest:]
        arguments = tuple(self._arguments(words, command)) if last else ()
        options, config = self._with_config(command, layer)
        incomplete = self._config_missing(layer, options)
        if spec.options_in_files is not None:
            found = spec.options_in_files(options, arguments, environment, lambda path: self._document(path, command))
            options = {**options, **found.options}
            incomplete = incomplete or found.open or _is_open(words)
        counts = self._counts(command, layer, options, environment, outer, complete=not incomplete)
        perhaps = spec.appends_perhaps
        return Launch(
            launcher=spec.name,
            span=command.span,
            script=script,
            script_file=file,
            arguments=arguments,
            options=options,
            nodes=counts.nodes,
            processes_per_node=counts.per_node,
            world_size=counts.world,
            environment=environment,
            provides=spec.provides | (outer.provides if outer is not None else frozenset()),
            is_module=is_module,
            background=command.background,
            directory=command.directory.known,
            outer=outer,
            guards=command.guards,
            branch=command.branch,
            config=config,
            open_arguments=_is_open(words),
            open_options=layer.open,
            appends=() if any(dest in options for dest in spec.appends_unless + perhaps) else spec.appends,
            appends_perhaps=any(dest in options for dest in perhaps) or (layer.open and bool(spec.appends)),
            file=command.script,
            program=program_of(layer, command.words),
        )

    def _counts(
        self,
        command: EvaluatedCommand,
        layer: Layer,
        options: Mapping[str, LaunchOption],
        environment: Mapping[str, Value],
        outer: Launch | None,
        *,
        complete: bool,
    ) -> Counts:
        dests = [option.dest for option in layer.spec.options] + [dest for dest, _ in layer.spec.inherits]
        plain = layer.spec.counting == "flags" and not any("process" in dest for dest in dests)
        if plain and outer is not None and layer.spec.default_processes is not None:
            return Counts(outer.nodes, outer.processes_per_node, outer.world_size)

        def read(path: str) -> str | None:
            text: Text = (Chunk(path),)
            found = find_file(text, command.directory, command.script, self.project_files.__contains__)
            return self.read_text(found) if found else None

        if _is_elsewhere(layer, command.words, environment):
            missing = unknown("something else starts the processes", command.span)
            return Counts(missing, missing, missing)
        complete = complete and not layer.open
        return count_processes(
            layer.spec, options, environment, command.span, read, complete=complete, devices=self.devices
        )

    # The launcher's own configuration file

    def _config_missing(self, layer: Layer, options: Mapping[str, LaunchOption]) -> bool:
        """Whether options may come from a configuration file that we can't see."""
        return bool(layer.spec.config_keys) and "config" in layer.options and len(options) == len(layer.options)

    def _with_config(
        self, command: EvaluatedCommand, layer: Layer
    ) -> tuple[Mapping[str, LaunchOption], Document | None]:
        """The options, completed from the launcher's configuration file where it has one in the project."""
        chosen = layer.options.get("config")
        if not layer.spec.config_keys or chosen is None:
            return layer.options, None
        word = next((word for word in command.words if word.span == chosen.span or _ends(chosen.span, word.span)), None)
        text = word.texts[0] if word is not None and len(word.texts) == 1 else None
        if text is not None and known_prefix(text).startswith("-"):
            text = _after_equals(text)
        path = self._existing(text, command) if text is not None else ""
        facts = self.read_facts(path) if path else None
        if facts is None or not facts.documents:
            return layer.options, None
        document = facts.documents[0]
        options = dict(layer.options)
        for dest, key in layer.spec.config_keys:
            value = lookup(document.root, (key,))
            if dest not in options and not value.is_absent:
                options[dest] = LaunchOption(key, value, value.spans[0] if value.spans else document.span)
        return options, document

    def _document(self, path: Value, command: EvaluatedCommand) -> Document | None:
        """The configuration that a path means where a command runs."""
        if not isinstance(path.only, str):
            return None
        found = self._existing((Chunk(path.only),), command)
        facts = self.read_facts(found) if found else None
        return facts.documents[0] if facts is not None and facts.documents else None

    # Scripts and arguments

    def _script(self, command: EvaluatedCommand, layer: Layer) -> tuple[Value, str, int, bool]:
        """The script as written, its project file, the index behind it, and whether it is a module."""
        if layer.spec.implied:
            implied = known(layer.spec.implied, command.words[layer.start].span)
            return implied, self._module_file(layer.spec.implied, command), layer.first, True
        module = layer.options.get("module")
        if module is not None and module.value.only is not True:
            name = module.value
            return name, self._module_file(name.only, command), layer.end, True
        if layer.end >= len(command.words):
            return absent(command.span), "", layer.end, False
        word = command.words[layer.end]
        if "no-python" in layer.options and layer.end + 1 < len(command.words) and is_python(word):
            # ``torchrun --no-python python train.py``: the interpreter's own words are skipped as well.
            at = layer.end + 1
            while at + 1 < len(command.words) and command.words[at].literal in ("-u", "-O", "-B", "-E"):
                at += 1
            return command.words[at].value, self._script_file(command.words[at], command), at + 1, False
        if module is not None:
            return word.value, self._module_file(word.literal, command), layer.end + 1, True
        if word.is_open and not word.prefix and not _is_placed(word):
            return unknown("the script is not known", word.span), "", layer.end, False
        return word.value, self._script_file(word, command), layer.end + 1, False

    def _script_file(self, word: EvaluatedWord, command: EvaluatedCommand, endings: tuple[str, ...] = ()) -> str:
        if len(word.texts) != 1 or (endings and not word.text.endswith(endings)):
            return ""
        return self._existing(word.texts[0], command)

    def _existing(self, text: Text, command: EvaluatedCommand) -> str:
        return find_file(text, command.directory, command.script, self.project_files.__contains__)

    def _module_file(self, name: object, command: EvaluatedCommand) -> str:
        if not isinstance(name, str) or not name.replace(".", "").replace("_", "").isalnum():
            return ""
        base = name.replace(".", "/")
        for path in (f"{base}.py", f"{base}/__main__.py"):
            for found in candidates((Chunk(path),), command.directory, command.script):
                for option in (found, f"src/{found}"):
                    if option in self.project_files:
                        return option
        return ""

    def _arguments(self, words: Sequence[EvaluatedWord], command: EvaluatedCommand) -> Iterable[Argument]:
        for word in words:
            whole = word.literal
            flag, equals, _ = ("", "", "") if whole is not None else word.prefix.partition("=")
            if equals and flag.startswith("-"):
                rest = tuple(_after_equals(text) for text in word.texts)
                tail = EvaluatedWord(rest, word.span)
                yield Argument(known(flag, word.span), word.span, flag)
                yield Argument(tail.value, word.span, tail.text, self._file_of(tail, tail.text, command))
            else:
                shown = whole if whole is not None else word.text
                yield Argument(word.value, word.span, shown, self._file_of(word, shown, command))

    def _file_of(self, word: EvaluatedWord, shown: str, command: EvaluatedCommand) -> str:
        if len(word.texts) != 1 or not shown.endswith(_FILE_ENDINGS):
            return ""
        text = word.texts[0]
        if shown.startswith("-") and "=" in shown:
            text = _after_equals(text)
        return self._existing(text, command)

    # Written files

    def written_by(self, command: EvaluatedCommand) -> Iterable[WrittenFile]:
        """The files that a command writes from here-documents."""
        for output in command.outputs:
            path = Argument(output.path.value, output.path.span, output.path.text)
            yield WrittenFile(path, output.text, output.original, output.span, command.script, command.branch)


def _is_elsewhere(layer: Layer, words: Sequence[EvaluatedWord], environment: Mapping[str, Value]) -> bool:
    """Whether a cluster that the launcher only submits to starts the processes."""
    for name in layer.spec.elsewhere:
        value = environment.get(name)
        if value is not None and not value.is_absent and str(value.only).lower() not in _NO:
            return True
        for at, word in enumerate(words[layer.first :], start=layer.first + 1):
            text = word.prefix
            if name.startswith("-") and (text == name or text.startswith(f"{name}=")):
                following = words[at].text if at < len(words) else ""
                return (text.partition("=")[2] or following).lower() not in _NO
    return False


def _passed_on(layer: Layer) -> dict[str, Value]:
    """``mpirun -x NAME=value``."""
    value = given(layer.options, "environment")
    name, equals, text = str(value.only or "").partition("=")
    return {name: known(text, *value.spans)} if equals else {}


def _ends(whole: Span, part: Span) -> bool:
    return whole.file == part.file and whole.end == part.end and whole.start <= part.start


def _after_equals(text: Text) -> Text:
    """What stands behind the first ``=`` of a text whose beginning is known."""
    for at, piece in enumerate(text):
        if isinstance(piece, Chunk) and "=" in piece.text:
            rest = piece.text.partition("=")[2]
            head: Text = (piece._replace(text=rest),) if rest else ()
            return (*head, *text[at + 1 :])
    return text


def _is_placed(word: EvaluatedWord) -> bool:
    return any(isinstance(piece, Hole) and piece.place for text in word.texts for piece in text)


def _is_open(words: Sequence[EvaluatedWord]) -> bool:
    """Whether a list of arguments may hold options that we don't see.

    An unknown word right behind an option is taken for its value, unless its name says that it holds options.
    """
    for at, word in enumerate(words):
        if not word.is_open:
            continue
        previous = words[at - 1] if at else None
        is_value = (
            previous is not None and (previous.literal or "").startswith("-") and "=" not in (previous.literal or "")
        )
        if word.prefix.startswith("-") and "=" in word.prefix:
            continue
        if not is_value or any(_names_options(name) for name in word.holes):
            return True
    return False


def _names_options(name: str) -> bool:
    upper = name.upper()
    return (
        not name or name in ("@", "*") or any(mark in upper for mark in ("ARG", "OPT", "FLAG", "PARAM", "CMD", "EXTRA"))
    )
