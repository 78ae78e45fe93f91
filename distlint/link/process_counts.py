"""How many nodes and processes a launcher's options mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from distlint.link.command_lines import given
from distlint.model.framework import LauncherSpec
from distlint.model.launch import LaunchOption
from distlint.model.span import Span
from distlint.model.value import Confidence, State, Value, absent, known, unknown

_INTEGER = re.compile(r"\s*\+?(\d{1,6})\s*")
_RANGE = re.compile(r"(\d{1,6}):(\d{1,6})")
_HOST_LINE = re.compile(r"(\S+)\s+slots=(\d{1,4})\s*(?:#.*)?")
_PPR = re.compile(r"ppr:(\d{1,4}):node")
MAX_HOSTS = 20_000

Read = Callable[[str], "str | None"]
"""The text of a project file by the path written on a command line, or ``None``."""


class Counts(NamedTuple):
    """Nodes, processes on each node, and processes in all."""

    nodes: Value
    per_node: Value
    world: Value


def count_processes(
    spec: LauncherSpec,
    options: Mapping[str, LaunchOption],
    environment: Mapping[str, Value],
    span: Span,
    read: Read = lambda _: None,
    *,
    complete: bool = True,
    devices: int | None = None,
) -> Counts:
    """The counts that a launcher's options and environment mean.

    ``read`` gives the text of a host file. ``complete`` is false when the launcher may get options that we don't see:
    defaults then don't count. ``devices`` is how many a node has, where somebody told.
    """
    lookup = _Lookup(spec, options, environment, span, complete, devices)
    single = _single(lookup)
    if single is not None:
        return Counts(single, single, single)
    if spec.counting == "tasks":
        return _tasks(lookup, read)
    if spec.counting == "slots":
        return _slots(lookup, read)
    if spec.counting == "hosts":
        return _hosts(lookup, read)
    return _flags(lookup)


class _Lookup:
    def __init__(
        self,
        spec: LauncherSpec,
        options: Mapping[str, LaunchOption],
        environment: Mapping[str, Value],
        span: Span,
        complete: bool,
        devices: int | None,
    ) -> None:
        self.each_node = devices
        self.spec, self.options, self.environment, self.span, self.complete = spec, options, environment, span, complete

    def written(self, dest: str) -> Value:
        """The value of an option that was given, or absent."""
        return given(self.options, dest)

    def option(self, dest: str) -> Value:
        """The value of an option or of the environment variable that stands in for it; absent if there is neither."""
        value = self.written(dest)
        if not value.is_absent:
            return value
        for name, variable in self.spec.inherits:
            if name == dest and variable in self.environment:
                return self.environment[variable]
        return absent(self.span)

    def default(self, number: int | None, reason: str) -> Value:
        """A default, unless the launcher may get options that we don't see."""
        if number is None or not self.complete:
            return unknown(reason if self.complete else "the launcher may get options that are not known", self.span)
        return known(number, self.span)

    def devices(self) -> Value:
        """The number of devices that the environment makes visible, or that a node has by the settings; or absent."""
        for name in self.spec.devices:
            if name in self.environment and not self.environment[name].is_absent:
                return self.environment[name].map(_device_count)
        if self.each_node is not None:
            return known(self.each_node, self.span, confidence=Confidence.LIKELY)
        return absent(self.span)


def _integer(value: Value) -> Value:
    return value if value.is_absent else value.map(_parse_integer)


def _parse_integer(text: object) -> int:
    match = _INTEGER.fullmatch(str(text))
    if match is None:
        is_long = str(text).strip().isdecimal()
        raise ValueError(f"{text!r} is {'too large a number' if is_long else 'not a number'}")
    return int(match.group(1))


def _parse_nodes(text: object) -> int:
    match = _RANGE.fullmatch(str(text).strip())
    if match is None:
        return _parse_integer(text)
    if match.group(1) != match.group(2):
        raise ValueError(f"{text} nodes: the number may change while it runs")
    return int(match.group(1))


def _device_count(text: object) -> int:
    names = [name for name in str(text).split(",") if name.strip()]
    if not names or any(name.strip().startswith("-") for name in names):
        raise ValueError("no device is visible")
    return len(names)


def product(first: Value, second: Value) -> Value:
    """The product of two counts; unknown when either is, or when several values of both are possible."""
    spans = tuple(dict.fromkeys((*first.spans, *second.spans)))
    sure = min(first.confidence, second.confidence)
    for value in (first, second):
        if value.state not in (State.KNOWN, State.ONE_OF):
            return unknown(value.reason or "a count is not known", *spans)
    from distlint.model.value import one_of

    return one_of((one * other for one in first.options for other in second.options), spans, sure)


def quotient(total: Value, parts: Value) -> Value:
    """A total shared out evenly; unknown when it does not come out even."""
    if not total.is_known or not parts.is_known or not parts.only or total.only % parts.only:
        return unknown("the processes of a node are not known", *total.spans)
    spans = tuple(dict.fromkeys((*total.spans, *parts.spans)))
    return known(total.only // parts.only, *spans, confidence=min(total.confidence, parts.confidence))


def _single(lookup: _Lookup) -> Value | None:
    """One process, where an option says so; ``None`` where the counts decide."""
    if not lookup.complete or any(dest in lookup.options for dest in lookup.spec.single_unless):
        return None
    for dest, value in lookup.spec.single_when:
        found = lookup.written(dest)
        if found.is_known and found.only == value:
            return replace(found, options=(1,))
    return None


def _flags(lookup: _Lookup) -> Counts:
    nodes = lookup.option("nodes")
    nodes = (
        lookup.default(lookup.spec.default_nodes, "the number of nodes is not given")
        if nodes.is_absent
        else nodes.map(_parse_nodes)
    )
    if lookup.spec.total_processes:
        return _flags_total(lookup, nodes)
    given_processes = lookup.option("processes-per-node")
    if given_processes.only in ("gpu", "auto"):
        devices = lookup.devices()
        per_node = (
            unknown("as many as the machine has devices", *given_processes.spans)
            if devices.is_absent
            else devices.at(*given_processes.spans).at_most(Confidence.LIKELY)
        )
    elif given_processes.is_absent:
        devices = lookup.devices() if lookup.spec.default_processes is None and lookup.complete else given_processes
        per_node = (
            lookup.default(lookup.spec.default_processes, "the number of processes is not given")
            if devices.is_absent
            else devices.at_most(Confidence.LIKELY)
        )
    elif given_processes.only in ("cpu", "xpu", "npu"):
        per_node = unknown("as many as the machine has of them", *given_processes.spans)
    else:
        per_node = _integer(given_processes)
    return Counts(nodes, per_node, product(nodes, per_node))


def _flags_total(lookup: _Lookup, nodes: Value) -> Counts:
    total = _integer(lookup.option("processes"))
    per_node = _integer(lookup.option("processes-per-node"))
    if not per_node.is_absent and total.is_absent:
        return Counts(nodes, per_node, product(nodes, per_node))
    if not per_node.is_absent:
        return Counts(quotient(total, per_node) if lookup.option("nodes").is_absent else nodes, per_node, total)
    if total.is_absent:
        devices = lookup.devices()
        usable = lookup.complete and not devices.is_absent and nodes.only == 1
        total = (
            devices.at_most(Confidence.LIKELY)
            if usable
            else lookup.default(None, "the number of processes is not given")
        )
    return Counts(nodes, quotient(total, nodes), total)


def _positive(value: Value) -> Value:
    """A count option whose ``-1`` (or 0) means that it is not given."""
    if value.is_known and str(value.only).strip() in ("-1", "0"):
        return absent(*value.spans)
    return _integer(value)


def _slots(lookup: _Lookup, read: Read) -> Counts:
    """A pool of hosts with devices: a host file or this machine, narrowed by include, exclude and the two counts."""
    nodes, per_node = _positive(lookup.option("nodes")), _positive(lookup.option("processes-per-node"))
    include, exclude = lookup.written("include"), lookup.written("exclude")
    hostfile = lookup.written("hostfile")
    if not lookup.complete and (nodes.is_absent or per_node.is_absent):
        missing = unknown("the launcher may get options that are not known", lookup.span)
        nodes, per_node = (missing if nodes.is_absent else nodes), (missing if per_node.is_absent else per_node)
        return Counts(nodes, per_node, product(nodes, per_node))
    if not include.is_absent and include.only != "":
        return _included(include, _pool(hostfile, read))
    pool = _pool(hostfile, read)
    if not exclude.is_absent and exclude.only != "":
        pool = _excluded(exclude, pool)
        if pool is None:
            missing = unknown("which devices are left out is not known", *exclude.spans)
            return Counts(missing, missing, missing)
    if pool is not None:
        return _limited(pool, nodes, per_node, hostfile.spans or (lookup.span,))
    if nodes.is_absent:
        # Without a host file of its own the launcher looks for a system-wide one, which few machines have.
        nodes = (
            known(1, lookup.span, confidence=Confidence.LIKELY)
            if hostfile.is_absent
            else unknown("the hosts of the host file are not known", *hostfile.spans)
        )
    if per_node.is_absent:
        devices = lookup.devices()
        per_node = (
            unknown("as many as the machine has devices", lookup.span)
            if devices.is_absent or (lookup.each_node is None and not lookup.written("nodes").is_absent)
            else devices
        )
    return Counts(nodes, per_node, product(nodes, per_node))


def _pool(hostfile: Value, read: Read) -> dict[str, list[int]] | None:
    """Hosts with their device numbers as a host file in the project says; ``None`` when it can't be read."""
    text = read(hostfile.only) if hostfile.is_known and isinstance(hostfile.only, str) else None
    if text is None:
        return None
    pool: dict[str, list[int]] = {}
    for line in text.splitlines()[:MAX_HOSTS]:
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        match = _HOST_LINE.match(line)
        if match is None or match.group(1) in pool:
            return None
        pool[match.group(1)] = list(range(int(match.group(2))))
    return pool or None


def _filter(text: str) -> dict[str, list[int]] | None:
    """``host:0,1@other`` as hosts with device numbers, an empty list for all of them; ``None`` when malformed."""
    found: dict[str, list[int]] = {}
    for part in text.split("@"):
        host, colon, slots = part.partition(":")
        if not colon:
            found.setdefault(host, [])
            continue
        numbers = slots.split(",")
        if not all(number.strip().isdecimal() and len(number) < 6 for number in numbers):
            return None
        found[host] = sorted({*found.get(host, ()), *(int(number) for number in numbers)})
    return found


def _included(include: Value, pool: dict[str, list[int]] | None) -> Counts:
    hosts = _filter(include.only) if include.is_known and isinstance(include.only, str) else None
    missing = unknown("which devices are included is not known", *include.spans)
    if hosts is None:
        return Counts(missing, missing, missing)
    sizes = [
        len(slots) if slots else len(pool[host]) if pool and host in pool else None for host, slots in hosts.items()
    ]
    nodes = replace(include, options=(len(hosts),))
    if None in sizes:
        return Counts(nodes, missing, missing)
    return _sized([size for size in sizes if size is not None], include)


def _sized(sizes: list[int], source: Value) -> Counts:
    nodes, total = replace(source, options=(len(sizes),)), replace(source, options=(sum(sizes),))
    if len(set(sizes)) == 1:
        return Counts(nodes, replace(source, options=(sizes[0],)), total)
    return Counts(nodes, unknown("differs between nodes", *source.spans), total)


def _excluded(exclude: Value, pool: dict[str, list[int]] | None) -> dict[str, list[int]] | None:
    hosts = _filter(exclude.only) if exclude.is_known and isinstance(exclude.only, str) else None
    if hosts is None or pool is None:
        return None
    left = {host: [slot for slot in slots if slot not in hosts.get(host, ())] for host, slots in pool.items()}
    return {host: slots for host, slots in left.items() if slots and not (host in hosts and not hosts[host])} or None


def _limited(pool: dict[str, list[int]], nodes: Value, per_node: Value, spans: tuple[Span, ...]) -> Counts:
    if nodes.is_unknown or per_node.is_unknown:
        return Counts(nodes, per_node, product(nodes, per_node))
    hosts = list(pool.items())
    source = known(0, *spans)
    if nodes.is_known:
        hosts, source = hosts[: nodes.only], nodes
    if per_node.is_known:
        count = known(len(hosts), *source.spans, confidence=source.confidence)
        return Counts(count, per_node, product(count, per_node))
    return _sized([len(slots) for _, slots in hosts], source)


def _hosts(lookup: _Lookup, read: Read) -> Counts:
    """A list of hosts, or a file with one host a line; this machine without either."""
    hosts, hostfile = lookup.written("hosts"), lookup.written("hostfile")
    limited = _positive(lookup.option("nodes"))
    if not hostfile.is_absent:
        text = read(hostfile.only) if hostfile.is_known and isinstance(hostfile.only, str) else None
        lines = [line for line in (text or "").splitlines()[:MAX_HOSTS] if line.strip() and not line.startswith("#")]
        filtered = not lookup.written("include").is_absent or not lookup.written("exclude").is_absent
        if lines and filtered:
            lines = _narrowed([line.split()[0] for line in lines], lookup)
        if not lines:
            nodes = (
                limited if limited.is_known and not filtered else unknown("the hosts are not known", *hostfile.spans)
            )
        else:
            count = min(len(lines), limited.only) if limited.is_known else len(lines)
            nodes = known(count, *hostfile.spans)
    elif not hosts.is_absent:
        nodes = hosts.map(lambda text: len([name for name in str(text).split(",") if name.strip()]))
    else:
        nodes = lookup.default(1, "")
    per_node = _integer(lookup.option("processes-per-node"))
    if per_node.is_absent:
        per_node = lookup.default(None, "the number of processes is not given")
    return Counts(nodes, per_node, product(nodes, per_node))


def _narrowed(hosts: list[str], lookup: _Lookup) -> list[str]:
    """The hosts that ``include`` or ``exclude`` (names with commas between) leave; none where these are not known."""
    include, exclude = lookup.written("include"), lookup.written("exclude")
    chosen = exclude if include.is_absent else include
    if not isinstance(chosen.only, str) or not (include.is_absent or exclude.is_absent):
        return []
    names = {name.strip() for name in chosen.only.split(",")}
    return [host for host in hosts if (host in names) is not include.is_absent]


def _slots_in_all(lookup: _Lookup, read: Read) -> Value:
    """As many as the hosts that are given have slots, for a scheduler that is told no number; or absent.

    Only where the slots are written: what a bare host has is another matter for each implementation.
    """
    hosts, hostfile = lookup.written("hosts"), lookup.written("hostfile")
    sizes: list[str | None] = []
    if isinstance(hosts.only, str):
        sizes = [_digits(part.partition(":")[2]) for part in hosts.only.split(",")]
    elif isinstance(hostfile.only, str):
        lines = [line.partition("#")[0].split() for line in (read(hostfile.only) or "").splitlines()[:MAX_HOSTS]]
        sizes = [_digits(next((w[6:] for w in line if w.startswith("slots=")), "")) for line in lines if line]
    if not sizes or None in sizes:
        return absent(lookup.span)
    spans = hosts.spans or hostfile.spans
    return known(sum(int(size) for size in sizes if size), *spans, confidence=Confidence.LIKELY)


def _digits(text: str) -> str | None:
    return text if text.isdecimal() and len(text) < 6 else None


def _tasks(lookup: _Lookup, read: Read) -> Counts:
    """A scheduler's tasks: in all, or on each node. What is not given comes from the job that the command runs in."""
    own_total, own_per_node = _integer(lookup.written("processes")), _integer(lookup.written("processes-per-node"))
    nodes = lookup.option("nodes")
    nodes = unknown("the scheduler decides how many nodes", lookup.span) if nodes.is_absent else _integer(nodes)
    if own_per_node.is_absent:
        own_per_node = lookup.written("map-by").map(_ppr) if not lookup.written("map-by").is_absent else own_per_node
    hosts = lookup.written("hosts")
    if nodes.is_unknown and hosts.is_known:
        nodes = hosts.map(lambda text: len({part.split(":")[0] for part in str(text).split(",")}))
    if own_total.is_absent and own_per_node.is_absent:
        own_total = _slots_in_all(lookup, read)
    if not own_total.is_absent:
        if not own_per_node.is_absent and nodes.is_unknown:
            nodes = quotient(own_total, own_per_node)
        return Counts(nodes, own_per_node if not own_per_node.is_absent else quotient(own_total, nodes), own_total)
    if not own_per_node.is_absent:
        return Counts(nodes, own_per_node, product(nodes, own_per_node))
    inherited_total, inherited = _integer(lookup.option("processes")), _integer(lookup.option("processes-per-node"))
    if not lookup.complete:
        missing = unknown("the scheduler may get options that are not known", lookup.span)
        return Counts(nodes, missing, missing)
    narrowed = not lookup.written("nodes").is_absent
    if not inherited_total.is_absent and not narrowed:
        return Counts(nodes, quotient(inherited_total, nodes), inherited_total)
    if not inherited.is_absent:
        return Counts(nodes, inherited, product(nodes, inherited))
    if lookup.spec.default_processes is not None and inherited_total.is_absent:
        one = known(1, lookup.span, confidence=Confidence.LIKELY)
        return Counts(nodes, one, product(nodes, one))
    missing = unknown("the scheduler decides how many processes", lookup.span)
    return Counts(nodes, missing, missing)


def _ppr(text: object) -> int:
    match = _PPR.match(str(text))
    if match is None:
        raise ValueError("no count per node")
    return int(match.group(1))
