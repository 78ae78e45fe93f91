"""Which objects an expression means, for following one object through a program.

An object is known by the call that made it. Methods that give the object itself (``model.to(device)``), and library functions of which a
rule says so, are looked through.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.derivations import holders
from distlint.checks.protocol_parameters import owners
from distlint.checks.protocol_sources import Chain, Sources, Use
from distlint.link.abstract import Abstract, Frame, Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.flow import Env
from distlint.link.modules import ClassRef, External, FunctionRef
from distlint.link.program import names_leading_to
from distlint.link.starters import STARTERS
from distlint.link.walking import below, expressions_of
from distlint.model import python as ir
from distlint.model.document import Leaf

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project

_KEEPING_NAMES = """
to cuda cpu train eval half float double bfloat16 requires_grad_ share_memory apply type to_empty contiguous __enter__
"""

KEEPING = frozenset(_KEEPING_NAMES.split())
"""Methods of a module that give the module itself."""

Thing = tuple[str, int, tuple[int | str, ...]]
"""The identity of an object: file and position of the call that made it, and the part of its result."""


class Mention(NamedTuple):
    """What an expression may be: the objects, and whether it can be nothing else."""

    options: tuple[Instance, ...]
    certain: bool
    whole: bool = False
    """Whether it is one of these objects for sure, if nobody knows which."""

    @property
    def only(self) -> Thing | None:
        """The one object that it is, if it can be no other."""
        return self.options[0].identity if self.certain and len(self.options) == 1 else None


class Things:
    """Answers questions about objects; one per program, since it knows which functions occur in it how often."""

    def __init__(
        self,
        project: Project,
        same: Collection[str],
        silent: Collection[str],
        wrappers: Collection[str],
        handing: Collection[str] = (),
    ) -> None:
        self.project = project
        self.evaluator = project.evaluator(None)
        self.same = frozenset(same)
        self.silent = frozenset(silent)
        self.wrappers = frozenset(wrappers)
        self.handing = frozenset(handing)
        """Methods that give back what they were given, each thing at its place, made ready (``accelerate.Accelerator().prepare``)."""
        self._mentions: dict[tuple[int, int], Mention] = {}
        self._alive: list[object] = []
        self.copies: dict[tuple[str, int], int] = {}
        self._repeated: dict[Thing, bool] = {}
        self._leading: dict[frozenset[str], frozenset[str]] = {}

    def mention(self, expr: ir.Expr, frame: Frame, state: Env | None = None) -> Mention:
        """What objects an expression may be."""
        key = (id(expr), id(frame))
        found = self._mentions.get(key) if state is None else None
        if found is None:
            at = state if state is not None else self.evaluator.state(frame, expr.at)
            options = options_of(self.evaluator.ask_in(expr, frame, at))
            # what a call is given is not what it makes, though that may be stored in the same place (net.head = Wrap(net.head))
            found = self._of(tuple(one for one in options if not _is_given(expr, frame, one)))
            if state is None:
                self._mentions[key] = found
                self._alive.append((expr, frame))
        return found

    def _of(self, options: tuple[Abstract, ...]) -> Mention:
        found: dict[Thing, Instance] = {}
        certain = True
        for option in options:
            if isinstance(option, Instance):
                one = self.peeled(option)
                if self.is_repeated(one):
                    certain = False
                else:
                    found.setdefault(one.identity, one)
            elif not is_nothing(option):
                certain = False
        return Mention(tuple(found.values()), certain and len(found) == 1, certain)

    def peeled(self, instance: Instance) -> Instance:
        """The object itself, where a call only handed it on."""
        for _ in range(12):
            call = instance.call
            given: ir.Expr | None = None
            if isinstance(instance.callee, External) and instance.callee.name in self.handing:
                given = handed_back(call, instance.part)
            elif isinstance(instance.callee, External) and not instance.part:
                if type(call.func) is ir.Attribute and call.func.name in KEEPING:
                    given = call.func.base
                elif call.args and self._is_same(call, instance):
                    given = call.args[0]
            elif instance.part == (".module",) and self.made_by(instance) in self.wrappers:
                given = find_argument(call, "module", 0)[0]
            if given is None or type(given) is ir.Starred:
                return instance
            found = options_of(self.evaluator.ask_in(given, instance.frame, instance.state))
            # what an attribute holds behind the call is not what the call gets
            options = [one for one in found if not isinstance(one, Instance) or one.call is not call]
            if len(options) != 1 or not isinstance(options[0], Instance):
                return instance
            instance = options[0]
        return instance

    def _is_same(self, call: ir.Call, instance: Instance) -> bool:
        """Whether a call of a library function, or of what it gives (``compile(mode=...)(model)``), gives its argument back."""
        if isinstance(instance.callee, External) and instance.callee.name in self.same:
            return True
        made = call.func
        return type(made) is ir.Call and self.evaluator.modules.dotted(made.func, instance.frame.file) in self.same

    def is_repeated(self, instance: Instance) -> bool:
        """Whether the call that made an object may have made several that live beside each other."""
        thing = instance.identity
        if thing not in self._repeated:
            self._repeated[thing] = self._made_often(instance)
        return self._repeated[thing]

    def _made_often(self, instance: Instance) -> bool:
        frame, at = instance.frame, instance.call.at
        module = self.project.module(frame.file)
        body = module.body if frame.function < 0 else module.functions[frame.function].body
        for statement in holders(body, at):
            for expr in expressions_of(statement):
                for part in below(expr):
                    if type(part) is ir.Comprehension and ir.encloses(part.at, at) and part.at != at:
                        return True
        if frame.function < 0 or instance.part[:1] == ("self",):
            return False
        inside = self.copies.get((frame.file, frame.function), 0)
        if inside:
            return inside > 1 or self._is_handed_on(FunctionRef(frame.file, frame.function))
        function = module.functions[frame.function]
        name = function.name
        if name == "__init__" and function.owner >= 0:
            name = module.classes[function.owner].name
        ref = FunctionRef(frame.file, frame.function)
        return sum(self._may_call(ref, one) for one in self.project.sites(name)) > 1

    def _is_handed_on(self, ref: FunctionRef) -> bool:
        """Whether a function that the program calls is also given to something else than what starts processes with it."""
        name = self.project.function(ref).name
        called = {(one.file, one.site.call.func.at) for one in self.project.sites(name)}
        started = [one for starter in STARTERS for one in self.project.sites(starter)]
        return any(
            (file, at) not in called
            and not any(one.file == file and ir.encloses(one.site.call.at, at) for one in started)
            for file, at, _ in self.project.reachers.references_to(ref)
        )

    def _may_call(self, ref: FunctionRef, site: CallSite) -> bool:
        """Whether a call of something of the same name may be one of a function: it is none of a library's, or of another class's."""
        func = site.site.call.func
        if self.evaluator.modules.dotted(func, site.file):
            return False
        if type(func) is not ir.Attribute:
            return True
        for one in options_of(self.evaluator.ask(func.base, site.file, site.site.function)):
            if not isinstance(one, Instance) or one.part:
                return True
            if isinstance(one.callee, ClassRef):
                method = self.evaluator.modules.method(one.callee, func.name)
                if method is None or method == ref:
                    return True
            elif not isinstance(one.callee, External):
                return True
        return False

    def made_by(self, instance: Instance) -> str:
        """The library function or class whose call made an object, or the first library class that its own derives from."""
        if isinstance(instance.callee, External):
            return instance.callee.name
        if isinstance(instance.callee, ClassRef):
            return min(self.evaluator.modules.external_bases(instance.callee), default="")
        return ""

    def is_wrapper(self, instance: Instance) -> bool:
        """Whether an object is a wrapper around another, by which that is reached."""
        return not instance.part and self.made_by(instance) in self.wrappers

    def root(self, instance: Instance) -> Instance:
        """The innermost of wrapped modules."""
        for _ in range(6):
            if not self.is_wrapper(instance):
                break
            given = find_argument(instance.call, "module", 0)[0]
            inner = self.mention(given, instance.frame, instance.state) if given is not None else None
            if inner is None or inner.only is None:
                break
            instance = inner.options[0]
        return instance

    def holds(self, instance: Instance, known: Collection[Thing], depth: int) -> bool:
        """Whether an object was made with one of some objects, or with something that was."""
        for part in (*instance.call.args, *(keyword.value for keyword in instance.call.keywords)):
            copied: list[ir.Position] = []
            for one in below(part):
                if not isinstance(one, ir.Name | ir.Attribute | ir.Call):
                    continue
                for option in self.mention(one, instance.frame, instance.state).options:
                    if option.copy and type(one) is ir.Call:
                        copied.append(one.at)
                    if any(ir.encloses(at, one.at) for at in copied if at != one.at):
                        continue  # only a copy of it is held
                    if self.root(option).identity in known:
                        return True
                    if depth > 0 and option.identity != instance.identity and self.holds(option, known, depth - 1):
                        return True
        return False

    def is_inner(self, instance: Instance) -> bool:
        """Whether an object was made by a method of a class, so that it may be a part of another object."""
        frame = instance.frame
        owner = self.project.module(frame.file).functions[frame.function].owner if frame.function >= 0 else -1
        if instance.part or owner < 0:
            return bool(instance.part)
        return bool(self.evaluator.modules.external_bases(ClassRef(frame.file, owner)))

    def leading_to(self, lasts: frozenset[str]) -> frozenset[str]:
        """The names of project functions that may come to calls with some last names."""
        if lasts not in self._leading:
            self._leading[lasts] = names_leading_to(self.project, lasts)
        return self._leading[lasts]

    # Parts ---------------------------------------------------------------------------------------------------------

    def argument(self, instance: Instance, name: str, position: int | None) -> ir.Expr | None:
        """An argument of the call that made an object."""
        return find_argument(instance.call, name, position)[0]

    def owners(self, expr: ir.Expr, frame: Frame, state: Env | None = None) -> Mention:
        """The modules whose ``parameters()`` an expression holds (``protocol_parameters``)."""
        return owners(self, expr, frame, state if state is not None else self.evaluator.state(frame, expr.at))

    def together(self, found: list[Mention]) -> Mention:
        """What several expressions hold that make one list; parts of it that are not known leave it uncertain."""
        options: dict[Thing, Instance] = {}
        for one in found:
            for option in one.options:
                options.setdefault(self.root(option).identity, option)
        known = all(one.certain or one.whole for one in found)
        return Mention(tuple(options.values()), known and len(options) == 1)

    # Values ----------------------------------------------------------------------------------------------------------

    def definitions(self, name: str, frame: Frame, state: Env) -> Iterator[tuple[ir.Expr, Env, Frame]]:
        """The expressions that a name may have got its value from, each with where it stands."""
        yield from Chain(self).name(name, frame, state)

    def sources(self, expr: ir.Expr, frame: Frame, state: Env | None = None) -> dict[Thing, Use]:
        """The objects whose call, or whose method, a value was computed by, in a way that gradients flow through."""
        search = Sources(self)
        search.expression(expr, frame, state if state is not None else self.evaluator.state(frame, expr.at), 0)
        return search.found


def handed_back(call: ir.Call, part: tuple[int | str, ...]) -> ir.Expr | None:
    """The argument that a call gives back, in a row of all of them where they are several, for a part of its result."""
    if any(type(one) is ir.Starred for one in call.args):
        return None
    if not part and len(call.args) == 1:
        return call.args[0]
    at = part[0] if len(part) == 1 else None
    return call.args[at] if isinstance(at, int) and 0 <= at < len(call.args) and len(call.args) > 1 else None


def is_nothing(option: Abstract) -> bool:
    """Whether something is ``None`` for sure: no object that can be used, as an attribute is until it gets its value."""
    return isinstance(option, Leaf) and option.value.is_known and option.value.only is None


def _is_given(expr: ir.Expr, frame: Frame, made: Abstract) -> bool:
    """Whether an expression stands inside the call that made an object."""
    if not isinstance(made, Instance) or made.part or made.call.at == expr.at:
        return False
    same = (made.frame.file, made.frame.function) == (frame.file, frame.function)
    return same and ir.encloses(made.call.at, expr.at)
