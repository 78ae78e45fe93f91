"""Attributes on one process: of library objects that tell the rank, of objects of the project, of parsed options."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from distlint.checks import rank_calls, rank_names
from distlint.checks.rank_scope import Closure, Made, Record, Scope
from distlint.checks.rank_values import UNKNOWN, Sized, names_group, part_of, same, truth_of
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.flow import Bind, Env, Join, Store
from distlint.link.modules import ClassRef, External, FunctionRef, GlobalRef
from distlint.link.objects import fields_of
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.checks.ranks import RankView
    from distlint.link.project import CallSite, Project

MAX_STORES = 8

SETTINGS = frozenset({"args", "opt", "opts", "options", "cfg", "config", "conf", "params", "hparams", "flags", "FLAGS"})
"""Names of what holds the options of a program."""


def attribute(view: RankView, expr: ir.Attribute, scope: Scope, state: Env) -> Any:
    """``base.name`` in a state of a function."""
    target = view.project.modules.resolve(expr, scope.file)
    if isinstance(target, External):
        # the function itself, not what it gives
        return Closure(target, scope, state) if target.name in view.sources else UNKNOWN
    if isinstance(target, GlobalRef):
        return rank_names.variable(view, target)
    if isinstance(target, FunctionRef) and view.project.function(target).owner < 0:
        flow = view.project.flow(target.file, -1)
        return Closure(target, view.scope(target.file, -1), flow.exit or flow.entry)
    stored = _stored(view, expr, scope, state)
    if stored is not UNKNOWN:
        return stored
    base = view.value(expr.base, scope, state)
    if isinstance(base, Made):
        return of_made(view, base, expr.name)
    if isinstance(base, Record):
        return base.fields.get(expr.name, UNKNOWN)
    owner = view.project.modules.resolve(expr.base, scope.file)
    if isinstance(owner, ClassRef):
        return of_class(view, owner, expr.name, None)
    if isinstance(base, Sized) and expr.name == "shape":
        return (base.length, *base.rest)
    return same(_of_objects(view, expr, scope))


def _of_objects(view: RankView, expr: ir.Attribute, scope: Scope) -> Iterator[Any]:
    options = named_objects(view, expr, scope)
    for name, option in options:
        switch = view.counter(name)
        if switch is not None:
            yield _counter(view, option, switch)
        elif name in view.sources:
            yield view.source(view.sources[name])
        elif isinstance(option.callee, ClassRef):
            yield of_class(view, option.callee, expr.name, None)
        else:
            yield _parsed(view, option, expr.name)
    if not options:
        known = view.known_attribute(expr.name, of_settings=_holds_settings(expr.base))
        if known is UNKNOWN and type(expr.base) is ir.Name and expr.base.id in SETTINGS:
            known = _set_elsewhere(view, expr.name)
        yield known


def _holds_settings(expr: ir.Expr) -> bool:
    """Whether an object is named like one that holds settings: ``args``, ``self.args``, ``training_args``."""
    name = expr.id if type(expr) is ir.Name else expr.name if type(expr) is ir.Attribute else ""
    return name in SETTINGS or name.endswith("_args")


def _set_elsewhere(view: RankView, name: str) -> Any:
    """An option that the program sets itself (``args.rank = ...``), or one that is named like a rank."""
    stores = view.project.outside_stores(name)
    if len(stores) > MAX_STORES:
        return view.guessed(name)

    def stored() -> Any:
        found = [
            UNKNOWN
            if store.value is None
            else view.value(
                store.value, view.scope(file, store.function), view.project.flow(file, store.function).before(store.at)
            )
            for file, store in stores
            if type(store.base) is ir.Name and store.base.id in SETTINGS
        ]
        return same(found) if found else UNKNOWN

    known = view.guarded(("elsewhere", name), stored)
    return known if known is not UNKNOWN else view.guessed(name)


def named_objects(view: RankView, expr: ir.Attribute, scope: Scope) -> list[tuple[str, Instance]]:
    """The attribute by what made each object that its base can be: ``pkg.Class().name``."""
    base = view.evaluator.ask(expr.base, scope.file, scope.function, everywhere=True)
    canonical = view.project.modules.canonical
    return [
        (canonical(f"{view.evaluator.instance_name(option)}.{expr.name}"), option)
        for option in options_of(base)
        if isinstance(option, Instance)
    ]


def library_method(view: RankView, call: ir.Call, func: ir.Attribute, scope: Scope) -> Any:
    """What a method of a library's object, or of one of the project, gives where the object itself is not known."""
    found = []
    options = named_objects(view, func, scope)
    if not options and not call.args:
        return view.known_attribute(func.name)
    for name, option in options:
        kind = view.sources.get(name)
        if kind is not None:
            found.append(view.source(kind) if not names_group(call) else UNKNOWN)
        elif isinstance(option.callee, ClassRef):
            method = view.project.modules.method(option.callee, func.name)
            found.append(rank_calls.returned(view, method, None) if method is not None else UNKNOWN)
        else:
            found.append(UNKNOWN)
    return same(found)


def _stored(view: RankView, expr: ir.Attribute, scope: Scope, state: Env) -> Any:
    """What a statement before set ``name.attribute`` to in this body."""
    if type(expr.base) is not ir.Name:
        return UNKNOWN
    wanted, path = expr.base.id, ("." + expr.name,)
    place: Env | None = state
    while place is not None:
        if isinstance(place, Store) and place.name == wanted and place.path == path:
            return view.value(place.expr, scope, place.at) if place.action == "set" else UNKNOWN
        if isinstance(place, Bind) and place.name == wanted:
            return UNKNOWN
        if isinstance(place, Join) and f"{wanted}.{expr.name}" in place.touched.how and len(place.branches) == 2:
            test = None
            if place.test is not None and place.prev is not None:
                test = truth_of(view.value(place.test, scope, place.prev))
            if test is None:
                found = [_stored(view, expr, scope, branch) for branch in place.branches] if place.by is None else []
                return same(found)
            place = place.branches[0] if test else place.branches[1]
            continue
        place = place.prev
    return UNKNOWN


def of_made(view: RankView, made: Made, name: str) -> Any:
    """An attribute of an object of the project whose making is known."""
    return of_class(view, made.owner, name, made)


def of_class(view: RankView, owner: ClassRef, name: str, made: Made | None) -> Any:
    """An attribute of the objects of a class: a property, a field, or what methods store."""
    method = view.project.modules.method(owner, name)
    if method is not None:
        if rank_names.is_property(view.project.function(method)):
            return rank_calls.returned(view, method, None if made is None else {}, made)
        flow = view.project.flow(method.file, -1)
        return Closure(method, view.scope(method.file, -1), flow.entry, made)
    view.keep(made)
    return view.guarded(("attribute", owner, name, id(made)), lambda: _of_class(view, owner, name, made))


def _of_class(view: RankView, owner: ClassRef, name: str, made: Made | None) -> Any:
    fields = fields_of(view.evaluator, owner)
    place = next((index for index, field in enumerate(fields) if field.name == name), None)
    if place is not None and made is not None:
        given, certain = find_argument(made.call, name, place)
        if given is not None:
            return view.value(given, made.scope, made.state)
        default = fields[place].default
        plain = default is not None and type(default) is not ir.Call
        if certain and plain and default is not None:
            return view.value(default, view.scope(owner.file, -1), view.project.flow(owner.file, -1).entry)
        return _factory(view, default, owner) if certain and isinstance(default, ir.Call) else UNKNOWN
    if place is not None and made is None:
        return _where_made(view, owner, name, place)
    if place is not None:
        return UNKNOWN
    stores = view.project.attribute_stores(owner).get(name, ())[:MAX_STORES]
    return same(_store(view, where, value, part, made) for where, value, part in stores)


def _where_made(view: RankView, owner: ClassRef, name: str, place: int) -> Any:
    """A field of objects that nothing else is known of than where the project makes them."""
    project = view.project
    word = project.class_(owner).name
    calls = [site for site in project.sites(word) if project.modules.resolve(site.site.call.func, site.file) == owner]
    calls += [site for site in project.sites("cls") if _is_own_class(project, site, owner)]
    given = [(site, find_argument(site.site.call, name, place)[0]) for site in calls]
    if len(calls) > MAX_STORES or any(one is None for _, one in given):
        return UNKNOWN
    return same(view.value(one, *_place(view, site)) for site, one in given if one is not None)


def _place(view: RankView, site: CallSite) -> tuple[Scope, Env]:
    """The function that a call stands in, and its state before the call."""
    state = view.project.flow(site.file, site.site.function).before(site.site.call.at)
    return view.scope(site.file, site.site.function), state


def _is_own_class(project: Project, site: CallSite, owner: ClassRef) -> bool:
    """Whether ``cls(...)`` stands in a method of a class that gets the class as its first parameter."""
    method = project.module(site.file).functions[site.site.function] if site.site.function >= 0 else None
    if method is None or ClassRef(site.file, method.owner) != owner or not method.parameters:
        return False
    return method.parameters[0].name == "cls" and type(site.site.call.func) is ir.Name


def _factory(view: RankView, default: ir.Call, owner: ClassRef) -> Any:
    """The default of a field: a plain call, or what ``field(default=..., default_factory=...)`` says."""
    scope, state = view.scope(owner.file, -1), view.project.flow(owner.file, -1).entry
    for keyword in default.keywords:
        if keyword.name == "default":
            return view.value(keyword.value, scope, state)
        if keyword.name == "default_factory":
            return rank_calls.called(view, view.value(keyword.value, scope, state), (), {})
    return view.value(default, scope, state)


def _store(view: RankView, where: FunctionRef, value: ir.Expr | None, part: tuple[Any, ...], made: Made | None) -> Any:
    """What a method stores into an attribute; in the constructor with the arguments of the call."""
    if value is None:
        return UNKNOWN
    scope = view.scope(where.file, where.index)
    if made is not None and where.index >= 0:
        if view.project.function(where).name == "__init__":
            given = rank_calls.bound(view, where, made.call, 1, made.scope, made.state)
            scope = Scope(where.file, where.index, given, own=made, depth=made.scope.depth + 1)
        else:
            scope = Scope(where.file, where.index, own=made, depth=made.scope.depth + 1)
    return part_of(view.value(value, scope, view.project.flow(where.file, where.index).before(value.at)), part)


def _parsed(view: RankView, option: Instance, name: str) -> Any:
    """An option of a parsed command line that is named like a rank."""
    func = option.call.func
    parsing = type(func) is ir.Attribute and func.name.startswith("parse_")
    return _set_elsewhere(view, name) if parsing else UNKNOWN


def _counter(view: RankView, option: Instance, switch: str) -> Any:
    """A counter of an object: 0 on a process where the object is switched off."""
    given, _ = find_argument(option.call, switch, None)
    if given is None:
        return UNKNOWN
    scope = view.scope(option.frame.file, option.frame.function)
    if truth_of(view.value(given, scope, option.state)):
        view.off = True
        return 0
    return UNKNOWN


__all__ = ["attribute", "library_method", "named_objects", "of_class", "of_made"]
