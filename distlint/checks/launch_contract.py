"""What a launch line gives to a script against what the script's parser takes.

The rule's ``fault`` parameter says which disagreement it is about: ``launcher-option`` (an option that the launcher
adds, unknown to the parser), ``launcher-spelling`` (the parser has it in another spelling), ``unknown-option``,
``missing-option``, ``refused-value``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from distlint.checks.command_contract import Contract, Given, Reading, command_word, contracts
from distlint.checks.registry import CheckContext, check
from distlint.checks.written_commands import commands_in
from distlint.judge.suggestion import did_you_mean, listing
from distlint.judge.versions import satisfies
from distlint.link.options import Option
from distlint.model import python as ir
from distlint.model.finding import Finding, FixPlan, Operation, Related, Safety
from distlint.model.framework import LauncherSpec
from distlint.model.launch import Launch
from distlint.model.span import Span
from distlint.model.value import Value

_TRUTHS = frozenset({"yes", "true", "t", "y", "1", "no", "false", "f", "n", "0"})
"""What parsers that are made of dataclasses read as a truth value, in any case (transformers: hf_argparser.py, string_to_bool)."""
MAX_LISTED = 8
"""Choices that a message lists; beyond these it says how many there are."""


@check("launch-contract")
def launch_contract(context: CheckContext) -> Iterator[Finding]:
    """Findings of the one kind that the rule asks for, over every run whose parser is certain."""
    fault = context.parameters["fault"]
    for contract in contracts(context.project, strict=fault not in _FOR_ALL):
        yield from _FAULTS[fault](context, contract)


# Options that the launcher adds -----------------------------------------------------------------------------------


def _added_option(context: CheckContext, contract: Contract) -> Iterator[Finding]:
    spelling = _appended(context, contract)
    if spelling and not _same_option(contract, spelling) and contract.parser.find(spelling) is None:
        yield context.finding(
            f"the launcher passes `{spelling}`, which the script's parser does not define",
            _place_for_option(contract),
            related=[
                Related(
                    contract.launch.span, f"`{contract.launch.launcher}` adds `{spelling}` to the script's arguments"
                ),
                Related(contract.parse.span, "parsed here"),
            ],
            plan=_define_option(context, contract, spelling),
            symbol=spelling,
        )


def _other_spelling(context: CheckContext, contract: Contract) -> Iterator[Finding]:
    spelling = _appended(context, contract)
    option = _same_option(contract, spelling)
    if not spelling or option is None or contract.parser.find(spelling) is not None:
        return
    written = next(flag for flag in option.flags if _plain(flag) == _plain(spelling))
    versions = context.project.environments.for_file(contract.run.script_file)
    pins = (versions.span(package) for _, package, _ in _spec(context, contract).appends_when)
    yield context.finding(
        f"the launcher passes `{spelling}`, but the parser only knows `{written}`",
        option.span,
        related=[
            Related(contract.launch.span, f"`{contract.launch.launcher}` adds `{spelling}` in the version in use"),
            *(Related(pin, "the version is pinned here") for pin in dict.fromkeys(pins) if pin is not None),
        ],
        plan=_add_spelling(context, contract, option, spelling),
        symbol=spelling,
    )


def _appended(context: CheckContext, contract: Contract) -> str:
    """The option that the launcher adds in the version in use; ``""`` if none, or if that can't be told."""
    launch = contract.launch
    spec = _spec(context, contract)
    conditions = {spelling: (package, specifier) for spelling, package, specifier in spec.appends_when}
    versions = context.project.environments.for_file(contract.run.script_file)
    holding = [
        spelling
        for spelling in launch.appends
        if spelling not in conditions or satisfies(versions, *conditions[spelling])
    ]
    return holding[0] if len(holding) == 1 else ""


def _spec(context: CheckContext, contract: Contract) -> LauncherSpec:
    """The description of a launch's launcher; an empty one for processes that a program starts itself."""
    launchers: Iterator[LauncherSpec] = (one for spec in context.project.specs for one in spec.launchers)
    name = contract.launch.launcher
    return next((one for one in launchers if one.name == name), LauncherSpec(name, (), ()))


def _plain(flag: str) -> str:
    return flag.lstrip("-").replace("-", "_")


def _same_option(contract: Contract, spelling: str) -> Option | None:
    return next((o for o in contract.parser.options if any(_plain(flag) == _plain(spelling) for flag in o.flags)), None)


def _place_for_option(contract: Contract) -> Span:
    """Where an option would be added: behind the last one that is defined in the file of the parser."""
    same_file = [site for site in contract.definitions if site.file == contract.parser.span.file]
    return same_file[-1].span if same_file else contract.parse.span


def _define_option(context: CheckContext, contract: Contract, spelling: str) -> FixPlan | None:
    same_file = [site for site in contract.definitions if site.file == contract.parser.span.file]
    if contract.parser.from_dataclasses or not same_file:
        return None
    func = same_file[-1].site.call.func
    if type(func) is not ir.Attribute or type(func.base) is not ir.Name:
        return None
    text = f'{func.base.id}.add_argument("{spelling}", type=int, default=-1)'
    return context.plan(
        Operation("insert-statement", same_file[-1].span, {"text": text, "where": "after"}),
        title=f"define `{spelling}`",
    )


def _add_spelling(context: CheckContext, contract: Contract, option: Option, spelling: str) -> FixPlan | None:
    site = next((site for site in contract.definitions if site.span == option.span), None)
    flags = [a for a in site.site.call.args if type(a) is ir.Constant] if site is not None else []
    if site is None or not flags:
        return None
    last = ir.unpack(flags[-1].at, site.file)
    end = Span(last.file, *last.end, *last.end)
    return context.plan(Operation("replace", end, {"text": f', "{spelling}"'}), title=f"accept `{spelling}` too")


# Options that the command line gives ------------------------------------------------------------------------------


def _unknown_option(context: CheckContext, contract: Contract) -> Iterator[Finding]:
    reading = contract.reading()
    flags = sorted({flag for option in contract.parser.options for flag in option.flags})
    for given in reading.options:
        name = _plain(given.flag)
        if name in context.parameters.get("left-to-others", ()) and name in contract.parser.elsewhere:
            continue
        if given.option is None and given.flag.startswith("--") and given.flag != "--help":
            similar = [flag for flag in flags if flag.startswith(given.flag)]
            hint = f"; it may mean {listing(similar)}" if len(similar) > 1 else did_you_mean(given.flag, flags)
            if name in contract.parser.elsewhere:
                hint = f"; {contract.parser.elsewhere[name]}"
            yield context.finding(
                f"the script's parser does not define `{given.flag}`{hint}",
                given.span,
                related=[Related(contract.parse.span, "parsed here, strictly")],
                plan=_rename(context, given, flags),
                symbol=given.flag,
            )
    known = [word for word in reading.operands if word.value.is_known]
    takes_operands = any(not option.flags for option in contract.parser.options)
    complete = all(given.option is not None for given in reading.options)
    if (
        known
        and complete
        and not takes_operands
        and len(known) == len(reading.operands)
        and not contract.launch.open_arguments
    ):
        before = next(
            (g for g in reversed(reading.options) if g.option is not None and g.span.start < known[0].span.start), None
        )
        taker = (
            f"; `{before.flag}` takes no value"
            if before is not None and before.option is not None and before.option.arity == 0
            else ""
        )
        related = [Related(contract.parse.span, "parsed here, strictly")]
        if before is not None and before.option is not None and taker:
            related.insert(0, Related(before.option.span, f"`{before.flag}` is a switch"))
        yield context.finding(
            f"the script's parser takes no argument such as `{known[0].value.only}`{taker}",
            known[0].span,
            related=related,
            symbol=str(known[0].value.only),
        )
    elif complete and takes_operands and not contract.launch.open_arguments:
        yield from _surplus(context, contract, reading)


def _surplus(context: CheckContext, contract: Contract, reading: Reading) -> Iterator[Finding]:
    """The first word behind what the positional arguments take; only where each takes a fixed number of words."""
    counts = [option.arity for option in contract.parser.options if not option.flags]
    open_ended = any(
        option.flags and (not isinstance(option.arity, int) or option.arity > 1) for option in contract.parser.options
    )
    if open_ended or not all(type(count) is int or count == "?" for count in counts):
        return
    taken = sum(1 if count == "?" else count for count in counts)
    surplus = reading.operands[taken:]
    if surplus and all(word.value.is_known for word in reading.operands):
        yield context.finding(
            f"the script's parser takes {taken} positional argument{'s' * (taken != 1)}; `{surplus[0].value.only}` is one too many",
            surplus[0].span,
            related=[Related(contract.parse.span, "parsed here, strictly")],
            symbol=str(surplus[0].value.only),
        )


def _rename(context: CheckContext, given: Given, flags: list[str]) -> FixPlan | None:
    """The same option with dashes and underscores exchanged; any other nearness is only a guess."""
    same = [flag for flag in flags if flag.replace("-", "_") == given.flag.replace("-", "_")]
    if len(same) != 1 or given.flag in same:
        return None
    return context.plan(
        Operation("rename-option", given.span, {"to": same[0]}), title=f"write `{same[0]}`", safety=Safety.SAFE
    )


def _missing_option(context: CheckContext, contract: Contract) -> Iterator[Finding]:
    reading, launch = contract.reading(), contract.launch
    unmatched = [given.flag for given in reading.options if given.option is None]
    # What a subparser requires depends on the command that is chosen.
    if launch.open_arguments or (unmatched and contract.strict) or contract.parser.has_commands:
        return
    if any(given.flag in ("-h", "--help") for given in reading.options) or any(
        not word.value.is_known for word in reading.operands
    ):
        return
    given = {item.option.dest for item in reading.options if item.option is not None}
    optional = {option.dest for option in contract.parser.options if option.required.only is not True}
    for option in contract.parser.options:
        if any(flag.startswith(word) for flag in option.flags for word in unmatched):
            continue
        if option.flags and option.required.only is True and option.dest not in given | optional:
            yield context.finding(
                f"`{option.flags[0]}` is required, but the command line does not give it",
                launch.span,
                related=[Related(option.span, "required here"), Related(contract.parse.span, "parsed here")],
                symbol=option.flags[0],
            )
    yield from _missing_of_group(context, contract, given)
    yield from _missing_operand(context, contract, len(reading.operands))


def _missing_of_group(context: CheckContext, contract: Contract, given: set[str]) -> Iterator[Finding]:
    """A group of which one option has to be given, and none is."""
    groups: dict[object, list[Option]] = {}
    for option in contract.parser.options:
        if option.exclusive is not None and option.exclusive_required:
            groups.setdefault(option.exclusive, []).append(option)
    for members in groups.values() if contract.complete else ():
        if all(option.flags and option.always and option.dest not in given for option in members):
            names = listing(option.flags[0] for option in members)
            yield context.finding(
                f"one of {names} is required, but the command line gives none",
                contract.launch.span,
                related=[
                    Related(members[0].span, "the group is defined here"),
                    Related(contract.parse.span, "parsed here"),
                ],
                symbol=members[0].flags[0],
            )


def _missing_operand(context: CheckContext, contract: Contract, given: int) -> Iterator[Finding]:
    """The first positional argument that the words don't reach; only where each takes a fixed number of words."""
    if not contract.strict or contract.launch.open_arguments or contract.parser.from_dataclasses:
        return
    if not _is_literal(context, contract.launch):  # an empty variable leaves no word, and templates hold many of them
        return
    positional = [option for option in contract.parser.options if not option.flags]
    needed = 0
    for option in positional:
        least = 1 if option.arity == "+" else option.arity
        if not option.always or not isinstance(least, int) or type(least) is bool:
            return
        needed += least
        if given < needed:
            yield context.finding(
                f"the argument `{option.dest}` is required, but the command line does not give it",
                contract.launch.span,
                related=[Related(option.span, "required here"), Related(contract.parse.span, "parsed here")],
                symbol=option.dest,
            )
            return


def _is_literal(context: CheckContext, launch: Launch) -> bool:
    """Whether a command is written without variables."""
    facts = context.project.facts.get(launch.span.file)
    if facts is None or facts.shell is None:
        return False
    found = [command for command in commands_in(facts.shell.statements) if command.span == launch.span]
    return bool(found) and all(word.literal is not None for command in found for word in command.words)


def _refused_command(context: CheckContext, contract: Contract) -> Iterator[Finding]:
    """A subcommand that the parser does not have."""
    names = contract.parser.commands or {}
    word = command_word(contract.parser, contract.launch)
    if word is not None and str(word.value.only) not in names:
        yield context.finding(
            f"`{word.value.only}` is no subcommand of the script: the choices are {listing(names)}",
            word.span,
            related=[Related(contract.parse.span, "parsed here")],
            symbol=str(word.value.only),
            confidence=word.value.confidence,
        )


def _refused_together(context: CheckContext, contract: Contract) -> Iterator[Finding]:
    """Two options of a group of which only one may be given."""
    first: dict[object, Given] = {}
    for given in contract.reading().options:
        option = given.option
        # A value that is the very default does not count as given.
        if option is None or option.exclusive is None or (option.arity != 0 and option.default.only is not None):
            continue
        before = first.setdefault(option.exclusive, given)
        if before.option is not None and before.option.dest != option.dest:
            yield context.finding(
                f"`{given.flag}` is not allowed together with `{before.flag}`",
                given.span,
                related=[
                    Related(before.span, f"`{before.flag}` is given here"),
                    Related(option.span, "the parser takes one of them only"),
                ],
                symbol=given.flag,
            )


def _refused_value(context: CheckContext, contract: Contract) -> Iterator[Finding]:
    yield from _refused_command(context, contract)
    yield from _refused_together(context, contract)
    for given in contract.reading().options:
        option = given.option
        if option is None or (not contract.complete and given.flag not in option.flags):
            continue
        for value in given.values if option.arity != 0 else ():
            problem = _problem(option, value, yes_or_no=contract.parser.from_dataclasses)
            if problem:
                yield context.finding(
                    f"`{given.flag}` can't be `{value.options[0]}`: {problem}",
                    given.span if not value.spans else value.spans[0],
                    related=[
                        Related(option.span, f"`{given.flag}` is defined here"),
                        Related(contract.launch.span, "given to the script here"),
                    ],
                    symbol=given.flag,
                    confidence=value.confidence,
                )


def _problem(option: Option, value: Value, *, yes_or_no: bool) -> str:
    """Why the parser refuses every possible value; ``""`` if it may accept one.

    ``yes_or_no`` says that words are read as what they mean where the type is ``bool``; argparse takes any.
    """
    if not value.options or any(not isinstance(text, str) for text in value.options):
        return ""
    if option.kind == "bool" and yes_or_no:
        return "" if any(text.lower() in _TRUTHS for text in value.options) else "it is read as yes or no"
    convert: Callable[[str], object] | None = {"int": int, "float": float, "": str, "str": str}.get(option.kind)
    if convert is None:
        return ""
    converted = [result for text in value.options for result in _converted(convert, text)]
    if not converted:
        return f"it is read as `{option.kind}`"
    if option.choices is None or any(item in option.choices for item in converted) or not option.choices:
        return ""
    if len(option.choices) > MAX_LISTED:
        return f"it is none of the {len(option.choices)} choices"
    return f"the choices are {listing(str(choice) for choice in option.choices)}"


def _converted(convert: Callable[[str], object], text: str) -> tuple[object, ...]:
    """The converted word, or nothing where the conversion fails."""
    try:
        return (convert(text),)
    except ValueError:
        return ()


_FOR_ALL = frozenset({"missing-option", "refused-value"})
"""What holds for parsers too that leave unknown options alone, or have more options than we see."""

_FAULTS: dict[str, Callable[[CheckContext, Contract], Iterator[Finding]]] = {
    "launcher-option": _added_option,
    "launcher-spelling": _other_spelling,
    "unknown-option": _unknown_option,
    "missing-option": _missing_option,
    "refused-value": _refused_value,
}
