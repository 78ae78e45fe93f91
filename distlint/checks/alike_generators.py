"""Random numbers that a value is made of: by which generators, and whether all ranks seed these alike."""

from __future__ import annotations

import builtins
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.derivations import RANK_WORDS, Part
from distlint.checks.divergence import DivergenceView
from distlint.checks.drawn_alike import PLACING, word
from distlint.checks.execution import body_of
from distlint.checks.made_of import made_of, sources
from distlint.checks.partial_samplers import is_seeded_alike
from distlint.checks.programs import family
from distlint.checks.ranks import Process
from distlint.checks.registry import CheckContext
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.project import CallSite
from distlint.link.walking import asks_for_main, below, guards_of, last_name, statements
from distlint.model import python as ir
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.project import Project

_TORCH = frozenset(
    {
        *("rand", "randn", "randint", "randperm", "normal", "multinomial", "bernoulli", "poisson"),
        *("rand_like", "randn_like", "randint_like"),
    }
)
_BY_TORCH = frozenset(
    {"rsample", "normal_", "uniform_", "random_", "bernoulli_", "exponential_", "multinomial", "bernoulli", "cauchy_"}
)
"""Methods that draw by torch's own generator where they are given none."""
_BY_ANY = frozenset(
    {
        *(
            "sample",
            "random",
            "uniform",
            "gauss",
            "normal",
            "standard_normal",
            "integers",
            "randint",
            "choice",
            "choices",
        ),
        *("permutation", "shuffle", "randrange", "poisson", "exponential", "beta", "gamma", "binomial", "triangular"),
        *("rand", "randn", "dirichlet", "multivariate_normal", "normalvariate", "random_sample", "getrandbits"),
    }
)
"""Methods that generators have; a distribution has some of these, too."""
_UNREPEATED = frozenset({"urandom", "token_bytes", "uuid4", "SystemRandom", "seed", "initial_seed"})


_DISTRIBUTIONS = "torch.distributions."
_OF_PROCESS = frozenset({"environ", "getenv", "getpid", "procid", "SLURM_PROCID", "argv"})
_RESEEDING = frozenset({"seed", "manual_seed", "set_state", "setstate", "manual_seed_all", "set_rng_state"})
_STARTING = ("spawn", "Process", "start_processes")
_SECOND = Process(1, 1, world=2)
MAX_DEPTH = 3
MAX_MAKERS = 10


_KNOWN = frozenset(
    {
        *("torch", "numpy", "math", "random", "builtins", "itertools", "collections", "copy", "functools", "operator"),
        *("argparse", "dataclasses", "yaml", "json", "tomllib", "omegaconf", "pathlib", "typing", "types", "einops"),
    }
)
"""Libraries whose functions give the same everywhere for the same arguments, but for the random numbers in them."""
_OUTSIDE = (
    "torch.distributed.",
    "torch.utils.data.",
    "torch.load",
    "torch.multiprocessing.",
    "torch.cuda.",
    "torch.rpc",
)


class Drawn(NamedTuple):
    """A call that draws, and the library whose generator it draws by; ``made`` where a generator of the program's own is made."""

    call: Part
    library: str
    made: Part | None = None
    is_choice: bool = False
    """Whether it is taken from a distribution: what a policy does, as a rule."""


def drawn_by(context: CheckContext, part: Part) -> list[Drawn] | None:
    """What a call draws: nothing, by which generator, or ``None`` where that can't be told."""
    call = part.expr
    if type(call) is not ir.Call:
        return []
    project: Project = context.project
    dotted = project.modules.dotted(call.func, part.file)
    name = last_name(call.func)
    if name in _UNREPEATED:
        return None
    given = next((one.value for one in call.keywords if one.name in ("generator", "rng", "random_state")), None)
    if dotted:
        library = _library(dotted)
        if not library:
            return []
        return _own(context, part, given) if given is not None else [Drawn(part, library)]
    if type(call.func) is not ir.Attribute or project.call_graph.targets(part.file, part.function, call):
        return []
    if name in _BY_TORCH:
        return _own(context, part, given) if given is not None else [Drawn(part, "torch")]
    return _own(context, part, call.func.base) if name in _BY_ANY else []


def _library(dotted: str) -> str:
    root, _, rest = dotted.partition(".")
    last = dotted.rpartition(".")[2]
    if root == "torch":
        return root if last in _TORCH or dotted.startswith("torch.nn.init.") else ""
    if root == "numpy":
        return root if rest.startswith("random.") and last in _BY_ANY else ""
    return root if root == "random" and last in _BY_ANY else ""


def _own(context: CheckContext, part: Part, source: ir.Expr) -> list[Drawn] | None:
    """What is drawn by a generator of the program's own, or by a distribution of torch."""
    project: Project = context.project
    found: list[Drawn] = []
    for one in _made(project, Part(source, part.file, part.function), 0):
        call = one.expr
        dotted = project.modules.dotted(call.func, one.file) if type(call) is ir.Call else ""
        name = dotted.rpartition(".")[2] or (last_name(call.func) if type(call) is ir.Call else "")
        if dotted.startswith(_DISTRIBUTIONS):
            found.append(Drawn(part, "torch", is_choice=last_name(part.expr.func) == "sample"))  # type: ignore[union-attr]
        elif name in context.parameters["generators"] or dotted == "numpy.random.Generator":
            found.append(Drawn(part, "", one))
        elif dotted == "torch.Generator":
            found += [Drawn(part, "", seeded) for seeded in _seeded_later(project, source, part)]
        else:
            return None
    return found if all(one.made is None or _is_given(one.made.expr) for one in found) and found else None


def _made(project: Project, part: Part, depth: int) -> Iterator[Part]:
    """What gives an object: the calls that a variable or an attribute is given, behind functions and models of the project."""
    expr = part.expr
    if depth > MAX_MAKERS:
        yield part
    elif type(expr) is ir.Name or type(expr) is ir.Attribute:
        given = sources(project, part)
        if not given:
            yield part
        for one in given:
            yield from _made(project, one, depth + 1)
    elif type(expr) is ir.Call:
        inner = [edge.target for edge in project.call_graph.targets(part.file, part.function, expr)]
        inner = (
            inner if any(project.function(one).name != "__init__" for one in inner) else _passes(project, part, depth)
        )
        returned = [
            Part(one.value, ref.file, ref.index)
            for ref in inner
            for one in statements(project.function(ref).body)
            if type(one) is ir.Return and one.value is not None
        ]
        for one in returned:
            yield from _made(project, one, depth + 1)
        if not returned:
            yield part
    else:
        yield part


def _passes(project: Project, part: Part, depth: int) -> list[FunctionRef]:
    """The forward pass of the model that a call calls, if that is a class of the project."""
    call = part.expr
    if type(call) is not ir.Call or isinstance(project.modules.resolve(call.func, part.file), ClassRef):
        return []
    if project.modules.dotted(call.func, part.file):
        return []
    found = []
    for one in _made(project, Part(call.func, part.file, part.function), depth + 2):
        made = one.expr
        if (
            type(made) is ir.Call
            and made.args
            and not isinstance(project.modules.resolve(made.func, one.file), ClassRef)
        ):
            one = next(_made(project, Part(made.args[0], one.file, one.function), depth + 3), one)  # of a wrapper
        owner = project.modules.resolve(one.expr.func, one.file) if type(one.expr) is ir.Call else None
        method = project.modules.method(owner, "forward") if isinstance(owner, ClassRef) else None
        found += [method] if method is not None else []
    return found


def _seeded_later(project: Project, source: ir.Expr, part: Part) -> Iterator[Part]:
    """The calls that give a generator its seed after it was made; one without a seed where there is none."""
    own = [
        one
        for one in project.sites("manual_seed")
        if type(one.site.call.func) is ir.Attribute and last_name(one.site.call.func.base) == last_name(source)
    ]
    yield from (Part(one.site.call, one.file, one.site.function) for one in own)
    if not own:
        yield part._replace(expr=source)


def _is_given(call: ir.Expr) -> bool:
    return type(call) is ir.Call and bool(call.args or call.keywords)


def is_alike(project: Project, part: Part) -> bool:
    """Whether a part of a value has nothing to do with the rank, nor with anything outside of the program."""
    expr = part.expr
    if RANK_WORDS.search(word(expr)) or word(expr) in _OF_PROCESS:
        return False
    if type(expr) is not ir.Call:
        return True
    if project.call_graph.targets(part.file, part.function, expr):
        return True
    if isinstance(project.modules.resolve(expr.func, part.file), ClassRef):
        return True
    dotted = project.modules.dotted(expr.func, part.file)
    if not dotted:
        name = expr.func.id if type(expr.func) is ir.Name else ""
        return not name or hasattr(builtins, name) or bool(sources(project, part._replace(expr=expr.func)))
    return dotted.partition(".")[0] in _KNOWN and not dotted.startswith(_OUTSIDE)


def common_seeds(context: CheckContext, file: str, found: Collection[Drawn]) -> Span | None:
    """The seed of what was drawn, where all of the generators are certainly seeded, each alike on all ranks."""
    project: Project = context.project
    first: Span | None = None
    files = family(project, file)
    started = any(one.file in files for name in _STARTING for one in project.sites(name))
    if not all(_is_common(project, one) for one in _reseeding(project, files)):
        return None
    sites = [one for one in project.calls_to(set(context.parameters["seeds"])) if one.file in files]
    for library in dict.fromkeys(one.library for one in found if one.library):
        if not is_seeded_alike(project, files, context.parameters["seeds"], library):
            return None
        own = [one for one in sites if _seeds(one, library)]
        if not own or not all(_is_common(project, _part(one)) for one in own):
            return None
        certain = next((one for one in own if _is_certain(project, one, started)), None)
        if certain is None:
            return None
        first = first or certain.span
    for made in (one.made for one in found if one.made is not None):
        if not _is_common(project, made):
            return None
        first = first or _seeded_at(project, made, 0)
    return first


def _reseeding(project: Project, files: Collection[str]) -> Iterator[Part]:
    """The calls of a program that give something another seed, or the state of another generator."""
    for file in sorted(files):
        calls = project.module(file).calls if file in project.facts and project.facts[file].module is not None else {}
        for name, sites in calls.items():
            for site in sites:
                if name in _RESEEDING or any("seed" in (one.name or "") for one in site.call.keywords):
                    yield Part(_seeds_of(site.call, name), file, site.function)


def _seeds_of(call: ir.Call, name: str) -> ir.Call:
    """A call with those of its arguments that seed."""
    if name in _RESEEDING:
        return call
    return ir.Call(call.func, (), tuple(one for one in call.keywords if "seed" in (one.name or "")), call.at)


def _seeded_at(project: Project, made: Part, depth: int) -> Span:
    """Where a seed is chosen: a call that is handed it as it is leads to who hands it."""
    call = made.expr
    given = next(iter([*call.args, *(one.value for one in call.keywords)]), None) if type(call) is ir.Call else None
    ref = FunctionRef(made.file, made.function)
    if type(given) is ir.Name and made.function >= 0 and depth < MAX_DEPTH:
        callers = project.callers(ref)
        if len(callers) == 1 and any(one.name == given.id for one in project.function(ref).parameters):
            caller = callers[0]
            return _seeded_at(project, Part(caller.site.call, caller.file, caller.site.function), depth + 1)
    return ir.unpack(call.at, made.file)


def _part(site: CallSite) -> Part:
    return Part(site.site.call, site.file, site.site.function)


def _seeds(site: CallSite, library: str) -> bool:
    root = site.name.partition(".")[0]
    return root == library or root not in ("torch", "numpy", "random")


def _is_common(project: Project, made: Part) -> bool:
    """Whether what a call is given as its seed is the same on all ranks."""
    call = made.expr
    given = [*call.args, *(one.value for one in call.keywords)] if type(call) is ir.Call else []
    return bool(given) and all(_is_common_number(project, Part(one, made.file, made.function)) for one in given)


def _is_common_number(project: Project, seed: Part) -> bool:
    if DivergenceView.of_project(project).of(seed.expr, seed.file, seed.function).is_same:
        return True
    for part in made_of(project, seed, bodies=True, placing=PLACING):
        if part.fixed or not is_alike(project, part) or _is_unknown(project, part):
            return False
        if type(part.expr) is ir.Call and (last_name(part.expr.func) in _UNREPEATED or drawn_name(project, part)):
            return False
    return True


def _is_unknown(project: Project, part: Part) -> bool:
    """Whether a name is a parameter of which the calls of its function don't show what it is, as the number of a started process."""
    if type(part.expr) is not ir.Name or part.function < 0 or sources(project, part):
        return False
    ref = FunctionRef(part.file, part.function)
    return any(one.name == part.expr.id for one in project.function(ref).parameters) and bool(project.callers(ref))


def drawn_name(project: Project, part: Part) -> bool:
    """Whether a call draws random numbers, as far as its name tells."""
    name = last_name(part.expr.func) if type(part.expr) is ir.Call else ""
    dotted = project.modules.dotted(part.expr.func, part.file) if type(part.expr) is ir.Call else ""
    return bool(_library(dotted)) or (not dotted and name in _BY_ANY | _BY_TORCH)


def _is_certain(project: Project, site: CallSite, started: bool, depth: int = 0) -> bool:
    """Whether a process comes to a call on all of its ways; ``started`` says that the program starts its processes itself."""
    file, function, call = site.file, site.site.function, site.site.call
    view = DivergenceView.of_project(project).view(_SECOND)
    for guard in guards_of(body_of(project, file, function), call.at) or ():
        if guard.kind == "for" or guard.test is None or asks_for_main(guard.test):
            continue
        if guard.kind == "exit" and not any("seed" in last_name(one).lower() for one in below(guard.test)):
            continue  # whoever leaves there trains nothing
        if view.ask(guard.test, file, function) is not guard.holds:
            return False
    if function < 0:
        return not started or not _is_in_main(project, site)
    callers = project.callers(FunctionRef(file, function))
    if not callers or depth >= MAX_DEPTH:
        return not started
    return any(one.starter or _is_certain(project, CallSite(one.file, one.site), started, depth + 1) for one in callers)


def _is_in_main(project: Project, site: CallSite) -> bool:
    guards = guards_of(body_of(project, site.file, -1), site.site.call.at) or ()
    return any(one.test is not None and asks_for_main(one.test) for one in guards)
