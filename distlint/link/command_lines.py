"""Command lines of launchers: wrappers in front of them, their own options, the script, the script's arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from distlint.link.shell_commands import EvaluatedWord
from distlint.link.shell_values import Hole, shown, value_of, without_beginning
from distlint.model.framework import LauncherSpec, OptionSpec
from distlint.model.launch import LaunchOption
from distlint.model.record import dataclass
from distlint.model.span import Span
from distlint.model.value import Value, absent, known, unknown

_PYTHON = re.compile(r"(?:python|pypy)(?:\d+(?:\.\d+)?)?(?:\.exe)?", re.IGNORECASE)
_PYTHON_VARIABLE = re.compile(
    r"\$\{(?:\w+_)?(?:PYTHON\d*|PY)(?:_?(?:BIN|EXE|EXEC|EXECUTABLE|PATH|CMD|INTERPRETER|COMMAND))?\}", re.IGNORECASE
)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=", re.ASCII)

# Programs that run the command behind them, with the options of theirs that take a value.
_WRAPPERS: Mapping[tuple[str, ...], frozenset[str]] = {
    ("nohup",): frozenset(),
    ("time",): frozenset({"-f", "-o", "--format", "--output"}),
    ("/usr/bin/time",): frozenset({"-f", "-o", "--format", "--output"}),
    ("exec",): frozenset({"-a"}),
    ("command",): frozenset(),
    ("builtin",): frozenset(),
    ("env",): frozenset({"-u", "--unset", "-C", "--chdir", "-S"}),
    ("sudo",): frozenset({"-u", "-g", "-h", "-p", "-C", "-r", "-t"}),
    ("nice",): frozenset({"-n"}),
    ("ionice",): frozenset({"-c", "-n"}),
    ("stdbuf",): frozenset({"-i", "-o", "-e"}),
    ("setsid",): frozenset(),
    ("unbuffer",): frozenset(),
    ("numactl",): frozenset(
        {"-N", "-m", "-C", "-i", "-p", "-l", "--physcpubind", "--membind", "--cpunodebind", "--interleave"}
    ),
    ("xvfb-run",): frozenset({"-n", "-s", "-e", "-f", "-p", "-w", "--server-args", "--server-num", "--error-file"}),
    ("poetry", "run"): frozenset(),
    ("pipenv", "run"): frozenset(),
    ("pdm", "run"): frozenset({"-p", "--project"}),
    ("uv", "run"): frozenset(
        {"--with", "--extra", "--group", "-p", "--python", "--project", "--directory", "--env-file", "--index"}
    ),
    ("rye", "run"): frozenset(),
    ("conda", "run"): frozenset({"-n", "--name", "-p", "--prefix", "--cwd"}),
    ("coverage", "run"): frozenset({"--rcfile", "--source", "--omit", "--include", "--data-file", "--context"}),
    ("doppler", "run"): frozenset(),
}
# ``timeout 10m cmd``, ``taskset MASK cmd``: one operand before the command.
_WRAPPERS_WITH_OPERAND: Mapping[str, frozenset[str]] = {
    "timeout": frozenset({"-s", "--signal", "-k", "--kill-after"}),
    "taskset": frozenset(),
    "chrt": frozenset(),
}
# ``ssh host cmd``: what stands behind runs on another machine, in an environment of its own. One operand before the
# command, or none where the hosts are options.
REMOTE: Mapping[str, tuple[int, frozenset[str]]] = {
    "ssh": (1, frozenset(f"-{letter}" for letter in "BbcDEeFIiJLlmOopQRSWw")),
    "pdsh": (0, frozenset({"-w", "-x", "-g", "-X", "-l", "-t", "-u", "-f", "-R", "-S"})),
    "clush": (0, frozenset({"-w", "-x", "-g", "-X", "-l", "-f", "-o", "-R", "-m", "-t", "-u"})),
    "parallel-ssh": (0, frozenset({"-h", "-H", "-l", "-p", "-o", "-e", "-t", "-O", "-x", "-X"})),
    "pssh": (0, frozenset({"-h", "-H", "-l", "-p", "-o", "-e", "-t", "-O", "-x", "-X"})),
}
# Programs whose last word is a command for a shell.
_TERMINALS = frozenset({"tmux", "screen", "script", "watch"})
# Programs whose own options are too many to list; the command inside begins at the first word that we know as a
# launcher.
_CONTAINERS = frozenset(
    {
        "ray",
        "kubectl",
        "sky",
        "singularity",
        "apptainer",
        "docker",
        "podman",
        "nerdctl",
        "enroot",
        "nsys",
        "ncu",
        "nvprof",
        "shifter",
        "gdb",
        "strace",
        "ibrun",
        "jsrun",
        "aprun",
    }
)


_APART = frozenset({"docker", "podman", "nerdctl", "kubectl", "sky", "ray"})
_SHELLS = frozenset({"bash", "sh", "zsh"})

UNKNOWN = "unknown"
"""The name under which the first option is kept that a launcher's description does not have."""


class Layer(NamedTuple):
    """One program of a command line: a launcher, where its own words begin, and what its options say."""

    spec: LauncherSpec
    start: int
    options: Mapping[str, LaunchOption]
    end: int
    """Index of the first word that is not the launcher's: the script, or the command it runs."""
    open: bool = False
    """Whether the launcher may get options that we don't see."""
    first: int = 0
    """Index of the first word behind the words that name the launcher."""


@dataclass(slots=True)
class CommandLine:
    """A command line taken apart: schedulers from the outside in, the innermost launcher last.

    ``environment`` is what words like ``env A=1`` set; ``inner`` the index of the first word that no launcher took.
    ``remote`` says that it runs on another machine, which has an environment of its own; ``apart`` that it runs there
    or in a container with a network of its own.
    """

    layers: list[Layer] = field(default_factory=list)
    environment: dict[str, Value] = field(default_factory=dict)
    inner: int = 0
    remote: bool = False
    apart: bool = False


class CommandReader:
    """Takes command lines apart with the help of launcher descriptions."""

    def __init__(self, specs: Sequence[LauncherSpec]) -> None:
        self._by_word: dict[str, list[tuple[tuple[str, ...], LauncherSpec]]] = {}
        for spec in specs:
            for command in spec.commands:
                self._by_word.setdefault(command[0], []).append((command, spec))
        for entries in self._by_word.values():
            entries.sort(key=lambda entry: -len(entry[0]))
        self._prefixes = {command[0] for spec in specs if spec.prefix for command in spec.commands}
        self._python = next((spec for spec in specs if ("python",) in spec.commands), None)
        self._flags = {spec.name: _flag_table(spec) for spec in specs}

    @property
    def python(self) -> str:
        """The name of the plain interpreter's description."""
        return self._python.name if self._python is not None else ""

    def wrapping(self, words: Sequence[EvaluatedWord]) -> int:
        """How many words in front of a command only run it: wrappers and schedulers with their options."""
        line = CommandLine()
        at = self._skip_wrappers(words, 0, line)
        while at < len(words) and _base(words[at]) in self._prefixes:
            found = self._match(words, at)
            if found is None:
                break
            at = self._skip_wrappers(words, self._options(found[0], words, found[1], at).end, line)
        return at if at < len(words) else 0

    def is_apart(self, words: Sequence[EvaluatedWord]) -> bool:
        """Whether what a command runs has a network of its own."""
        line = CommandLine()
        self._skip_wrappers(words, 0, line)
        return line.apart

    def read(self, words: Sequence[EvaluatedWord]) -> CommandLine | None:
        """The launchers on a command line; ``None`` when it starts none that we know."""
        line = CommandLine()
        at = self._skip_wrappers(words, 0, line)
        while at < len(words):
            found = self._match(words, at)
            if found is None:
                break
            spec, after = found
            layer = self._options(spec, words, after, at)
            handed = self._handed_on(words, layer)
            if handed:
                at = handed
                continue
            line.layers.append(layer)
            at = layer.end
            if not spec.prefix:
                break
            at = self._skip_wrappers(words, at, line)
        line.inner = at
        return line if line.layers else None

    # Finding the program

    def _skip_wrappers(self, words: Sequence[EvaluatedWord], at: int, line: CommandLine) -> int:
        while at < len(words):
            name = _base(words[at])
            if name is None:
                break
            if name in _CONTAINERS:
                line.apart = line.apart or name in _APART
                return self._scan(words, at + 1, line)
            if name in _TERMINALS:
                return self._scan_terminal(words, at + 1)
            if name in REMOTE:
                operands, options = REMOTE[name]
                at = self._skip_options(words, at + 1, options, CommandLine()) + operands
                at = self._skip_options(words, at, options, line)
                line.remote = line.apart = True
                continue
            following = words[at + 1].literal if at + 1 < len(words) else None
            valued = _WRAPPERS.get((name,))
            step = 1
            if valued is None and following is not None:
                valued, step = _WRAPPERS.get((name, following)), 2
            if valued is not None:
                at = self._skip_options(words, at + step, valued, line)
            elif name in _WRAPPERS_WITH_OPERAND:
                at = self._skip_options(words, at + 1, _WRAPPERS_WITH_OPERAND[name], line) + 1
            else:
                break
        return at

    def _skip_options(self, words: Sequence[EvaluatedWord], at: int, valued: frozenset[str], line: CommandLine) -> int:
        while at < len(words):
            prefix = words[at].prefix
            if prefix.startswith("-"):
                at += 2 if words[at].literal in valued else 1
            elif (match := _ASSIGNMENT.match(prefix)) is not None:
                line.environment[match.group(1)] = _after(words[at], match.end())
                at += 1
            else:
                break
        return at

    def _handed_on(self, words: Sequence[EvaluatedWord], layer: Layer) -> int:
        """``python submit.py ... -- torchrun ...``: the index of the launcher that a script is handed; 0 if none."""
        if layer.spec is not self._python or "module" in layer.options or "command" in layer.options:
            return 0
        for at in range(layer.end + 1, len(words) - 1):
            if words[at].literal == "--":
                found = self._match(words, at + 1)
                return at + 1 if found is not None and not found[0].prefix else 0
        return 0

    def _scan(self, words: Sequence[EvaluatedWord], at: int, line: CommandLine) -> int:
        """The command inside a container: the first word that is a launcher or a shell."""
        environment: dict[str, Value] = {}
        for index in range(at, len(words)):
            flag = words[index - 1].literal
            match = _ASSIGNMENT.match(words[index].prefix) if flag in ("-e", "--env") else None
            if match is not None:
                environment[match.group(1)] = _after(words[index], match.end())
            elif self._match(words, index) is not None or _base(words[index]) in _SHELLS:
                line.environment |= environment
                return index
        return len(words)

    def _scan_terminal(self, words: Sequence[EvaluatedWord], at: int) -> int:
        """The command for a terminal: the first word that is a launcher, a shell, or a text with blanks."""
        for index in range(at, len(words)):
            text = words[index].text
            if _base(words[index]) in _SHELLS or " " in text.strip() or self._match(words, index) is not None:
                return index
        return len(words)

    def _match(self, words: Sequence[EvaluatedWord], at: int) -> tuple[LauncherSpec, int] | None:
        """The launcher that begins at a word, and the index behind the words that name it."""
        name = _base(words[at])
        if name is None:
            return None
        if _is_python(name):
            return self._match_python(words, at)
        found = self._named(words, at, name)
        if found is None and name.endswith(".py"):
            found = self._script_launcher(name, at)
        return found

    def _named(self, words: Sequence[EvaluatedWord], at: int, name: str) -> tuple[LauncherSpec, int] | None:
        for command, spec in self._by_word.get(name, ()):
            rest = words[at + 1 : at + len(command)]
            if len(rest) == len(command) - 1 and all(w.literal == c for w, c in zip(rest, command[1:], strict=True)):
                return spec, at + len(command)
        return None

    def _script_launcher(self, name: str, at: int) -> tuple[LauncherSpec, int] | None:
        for command, spec in self._by_word.get("python", ()):
            if command == ("python", name):
                return spec, at + 1
        return None

    def _match_python(self, words: Sequence[EvaluatedWord], at: int) -> tuple[LauncherSpec, int] | None:
        if self._python is None:
            return None
        layer = self._options(self._python, words, at + 1, at)
        module = layer.options.get("module")
        if module is not None:
            name = module.value.only
            for command, spec in self._by_word["python"]:
                if len(command) >= 3 and command[1] == "-m" and command[2] == name:
                    rest = [word.literal for word in words[layer.end : layer.end + len(command) - 3]]
                    if rest == list(command[3:]):
                        return spec, layer.end + len(command) - 3
            return self._python, at + 1
        if layer.end < len(words) and "command" not in layer.options:
            script = _base(words[layer.end])
            if script is not None:
                found = self._script_launcher(script, layer.end) or self._named(words, layer.end, script)
                if found is not None:
                    return found
        return self._python, at + 1

    # Options

    def _options(self, spec: LauncherSpec, words: Sequence[EvaluatedWord], at: int, start: int) -> Layer:
        table = self._flags[spec.name]
        if spec.implied:
            return self._scattered(spec, words, at, start)
        options: dict[str, LaunchOption] = {}
        is_open = False
        first = at
        while at < len(words):
            word = words[at]
            prefix = word.prefix
            if word.literal == "--":
                return Layer(spec, start, options, at + 1, is_open, first)
            if not prefix.startswith("-") or prefix == "-":
                if word.is_open and not prefix and word.literal is None and not _is_path(word) and at + 1 < len(words):
                    is_open = True
                    at += 1
                    continue
                if is_open and not _looks_like_script(word) and any(map(_looks_like_script, words[at:])):
                    at += 1
                    continue
                break
            flag, equals, _ = prefix.partition("=")
            option = _find(table, flag, spec)
            if option is None and not prefix.startswith("--") and len(prefix) > 2:
                short = _find(table, flag[:2], spec)
                if short is not None:
                    at = self._clustered(spec, short, word, options, at, table)
                    continue
            if option is None:
                # An option that we don't know: with a value only if no script could follow at once.
                if word.literal is not None:
                    options.setdefault(UNKNOWN, LaunchOption(flag, known(flag, word.span), word.span))
                at += 1
                takes = not equals and at < len(words) and not words[at].prefix.startswith("-")
                takes = takes and not (spec.prefix and self._match(words, at) is not None)
                at += takes and not _looks_like_script(words[at]) and any(map(_looks_like_script, words[at:]))
                continue
            if equals:
                value = _after(word, len(flag) + 1)
                options[option.dest] = LaunchOption(flag, value, word.span)
                at += 1
                continue
            at = _take(option, flag, words, at, options)
            if option.dest == "module" and option.arity == 1:
                return Layer(spec, start, options, at, is_open, first)
            if option.dest == "command":
                break
        return Layer(spec, start, options, min(at, len(words)), is_open, first)

    def _scattered(self, spec: LauncherSpec, words: Sequence[EvaluatedWord], at: int, start: int) -> Layer:
        """The options of a command that starts a module of its own: they stand anywhere among the module's."""
        table = self._flags[spec.name]
        options: dict[str, LaunchOption] = {}
        first, is_open = at, False
        while at < len(words):
            word = words[at]
            flag, equals, _ = word.prefix.partition("=")
            option = _find(table, flag, spec) if flag.startswith("-") else None
            is_open = is_open or (word.is_open and not word.prefix)
            if option is None:
                at += 1
            elif equals:
                options[option.dest] = LaunchOption(flag, _after(word, len(flag) + 1), word.span)
                at += 1
            else:
                at = _take(option, flag, words, at, options)
        return Layer(spec, start, options, len(words), is_open and bool(table), first)

    def _clustered(
        self,
        spec: LauncherSpec,
        option: OptionSpec,
        word: EvaluatedWord,
        options: dict[str, LaunchOption],
        at: int,
        table: Mapping[str, OptionSpec],
    ) -> int:
        """``-N4`` and ``-lu``."""
        letters = word.prefix[1:]
        if option.arity == 1 or option.arity == "=":
            options[option.dest] = LaunchOption(word.prefix[:2], _after(word, 2), word.span)
            return at + 1
        for letter in letters:
            switch = _find(table, f"-{letter}", spec)
            if switch is None or switch.arity != 0:
                break
            options[switch.dest] = LaunchOption(f"-{letter}", known(True, word.span), word.span)
        return at + 1


def _take(
    option: OptionSpec, flag: str, words: Sequence[EvaluatedWord], at: int, options: dict[str, LaunchOption]
) -> int:
    """Takes an option and the words that belong to it; gives the index behind them."""
    word = words[at]
    if option.arity in (0, "="):
        options[option.dest] = LaunchOption(flag, known(True, word.span), word.span)
        return at + 1
    if option.arity == "*" or option.arity == "?":
        stop = at + 1
        while stop < len(words) and not words[stop].prefix.startswith("-") and (option.arity == "*" or stop == at + 1):
            stop += 1
        value = words[at + 1].value if stop == at + 2 else known(True, word.span)
        options[option.dest] = LaunchOption(flag, value, _cover(word.span, words[stop - 1].span))
        return stop
    count = int(option.arity)
    stop = at + 1 + count
    if stop > len(words):
        options[option.dest] = LaunchOption(flag, unknown("its value is missing", word.span), word.span)
        return len(words)
    options[option.dest] = LaunchOption(flag, words[at + 1].value, _cover(word.span, words[stop - 1].span))
    return stop


def _cover(first: Span, last: Span) -> Span:
    if first.file != last.file or first.start > last.start:
        return first
    return Span(first.file, *first.start, *max(first.end, last.end))


def _flag_table(spec: LauncherSpec) -> dict[str, OptionSpec]:
    return {_spelling(flag, spec): option for option in spec.options for flag in option.flags}


def _spelling(flag: str, spec: LauncherSpec) -> str:
    return flag.replace("_", "-") if spec.dashes_equal and flag.startswith("--") else flag


def _find(table: Mapping[str, OptionSpec], flag: str, spec: LauncherSpec) -> OptionSpec | None:
    """The option for a flag as written, by a unique beginning where the launcher takes those."""
    flag = _spelling(flag, spec)
    option = table.get(flag)
    if option is not None or not spec.abbreviations or not flag.startswith("--") or len(flag) < 4:
        return option
    found = {id(candidate): candidate for name, candidate in table.items() if name.startswith(flag)}
    return next(iter(found.values())) if len(found) == 1 else None


def program_of(layer: Layer, words: Sequence[EvaluatedWord]) -> str:
    """What a launcher is called by: the name of its command, or of the module that an interpreter runs."""
    name = _base(words[layer.start]) or ""
    if not _is_python(name):
        return name
    modules = {command[2] for command in layer.spec.commands if command[1:2] == ("-m",)}
    return next((word.literal for word in words[layer.start : layer.end] if word.literal in modules), name) or name


def _base(word: EvaluatedWord) -> str | None:
    """The last component of a program's path; a variable's ``${NAME}`` where it is not known."""
    names = {_last_component(shown(text)) for text in word.texts}
    return names.pop() or None if len(names) == 1 else None


def _last_component(path: str) -> str:
    return path.rpartition("/")[2] if "/" in path and not path.endswith("}") else path


def _is_python(name: str) -> bool:
    return _PYTHON.fullmatch(name) is not None or _PYTHON_VARIABLE.fullmatch(name) is not None


def is_python(word: EvaluatedWord) -> bool:
    """Whether a word names an interpreter."""
    name = _base(word)
    return name is not None and _is_python(name)


def _is_path(word: EvaluatedWord) -> bool:
    return any(isinstance(piece, Hole) and piece.place for text in word.texts for piece in text)


def _looks_like_script(word: EvaluatedWord) -> bool:
    return word.text.endswith(".py")


def _after(word: EvaluatedWord, count: int) -> Value:
    """The value of a word without its first characters, which are known."""
    return value_of(tuple(without_beginning(text, count) for text in word.texts), word.span)


def given(options: Mapping[str, LaunchOption], dest: str) -> Value:
    """The value given for an option, or absent."""
    found = options.get(dest)
    return found.value if found is not None else absent()
