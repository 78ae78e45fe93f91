"""All releases that names are looked up in, with Python's own library and NumPy as packages of their own.

NumPy's and Python's names come from their release notes: which names went, and in which release.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

from needs_reader import Asked
from needs_sources import ABSENT, PRESENT, UNKNOWN, SourceRelease, unpacked
from packaging.version import Version

PYTHONS = ("3.6", "3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
_COLLECTIONS = (
    "Awaitable Coroutine AsyncIterable AsyncIterator AsyncGenerator Hashable Iterable Iterator Generator Reversible "
    "Sized Container Callable Collection Set MutableSet Mapping MutableMapping MappingView KeysView ItemsView "
    "ValuesView Sequence MutableSequence ByteString"
)
PYTHON_GONE = {
    **{f"collections.{name}": "3.10" for name in _COLLECTIONS.split()},
    **dict.fromkeys(("distutils", "imp", "asyncore", "asynchat", "smtpd"), "3.12"),
    **dict.fromkeys(("formatter", "parser", "symbol", "binhex"), "3.11"),
    **dict.fromkeys(
        ("aifc", "audioop", "cgi", "cgitb", "chunk", "crypt", "imghdr", "mailcap", "msilib", "nis"), "3.13"
    ),
    **dict.fromkeys(
        ("nntplib", "ossaudiodev", "pipes", "sndhdr", "spwd", "sunau", "telnetlib", "uu", "xdrlib"), "3.13"
    ),
    **dict.fromkeys(("lib2to3", "typing.io", "typing.re"), "3.13"),
    "asyncio.coroutine": "3.11",
    "inspect.getargspec": "3.11",
    "inspect.formatargspec": "3.11",
    "math.gcd_": "3.9",
    "fractions.gcd": "3.9",
    "pkgutil.ImpImporter": "3.12",
    "pkgutil.find_loader": "3.14",
    "locale.resetlocale": "3.13",
    "unittest.makeSuite": "3.13",
    **dict.fromkeys(("ast.Num", "ast.Str", "ast.Bytes", "ast.NameConstant", "ast.Ellipsis"), "3.14"),
}
"""What Python's library no longer has, and since which release (docs.python.org, "What's New", removed)."""

PYTHON_NEW = {
    **dict.fromkeys(("typing.Literal", "typing.Protocol", "typing.TypedDict", "typing.Final"), "3.8"),
    **dict.fromkeys(("functools.cached_property", "importlib.metadata", "typing.runtime_checkable"), "3.8"),
    **dict.fromkeys(
        ("functools.cache", "typing.Annotated", "zoneinfo", "graphlib", "importlib.resources.files"), "3.9"
    ),
    **dict.fromkeys(("typing.TypeAlias", "typing.ParamSpec", "typing.Concatenate", "typing.TypeGuard"), "3.10"),
    **dict.fromkeys(("types.NoneType", "types.UnionType", "types.EllipsisType", "itertools.pairwise"), "3.10"),
    **dict.fromkeys(("dataclasses.KW_ONLY", "contextlib.aclosing"), "3.10"),
    **dict.fromkeys(("typing.Self", "typing.NotRequired", "typing.Required", "typing.Never", "typing.Unpack"), "3.11"),
    **dict.fromkeys(
        ("typing.LiteralString", "typing.assert_never", "typing.assert_type", "typing.reveal_type"), "3.11"
    ),
    **dict.fromkeys(("enum.StrEnum", "tomllib", "typing.TypeVarTuple", "typing.dataclass_transform"), "3.11"),
    **dict.fromkeys(("typing.override", "itertools.batched", "typing.TypeAliasType"), "3.12"),
    **dict.fromkeys(("warnings.deprecated", "typing.TypeIs", "typing.ReadOnly"), "3.13"),
}
"""What Python's library has only since a release."""

_NUMPY_2 = (
    "ALLOW_THREADS BUFSIZE CLIP MAXDIMS MAY_SHARE_BOUNDS MAY_SHARE_EXACT RAISE UFUNC_BUFSIZE_DEFAULT WRAP "
    "DataSource Inf Infinity NINF NZERO NaN PINF PZERO add_docstring add_newdoc add_newdoc_ufunc alltrue asfarray "
    "byte_bounds cast cfloat clongfloat compare_chararrays complex_ compat cumproduct deprecate deprecate_with_doc "
    "disp fastCopyAndTranspose find_common_type float_ geterrobj infty issctype issubclass_ issubsctype longcomplex "
    "longfloat lookfor mat maximum_sctype msort nbytes obj2sctype product recfromcsv recfromtxt round_ safe_eval "
    "sctype2char sctypes set_numeric_ops set_string_function seterrobj singlecomplex sometrue source string_ "
    "tracemalloc_domain unicode_ who ComplexWarning ModuleDeprecationWarning RankWarning TooHardError "
    "VisibleDeprecationWarning AxisError"
)
NUMPY_GONE = {
    **{f"numpy.{name}": "2.0" for name in _NUMPY_2.split()},
    **{f"numpy.{name}": "1.24" for name in ("object", "float", "complex", "str", "int", "typeDict")},
    "numpy.bool": "1.24-2.0",
    "numpy.asscalar": "1.23",
}
"""What NumPy no longer has: its release notes for 1.23, 1.24 and 2.0 ("Expired deprecations", "NPY201")."""


class TableRelease(SourceRelease):
    """A release of which only is known which names it lacks."""

    def __init__(self, package: str, version: str, lacking: Iterable[str]) -> None:
        super().__init__(package, version, Path())
        self._lacking = frozenset(lacking)

    def has(self, module: str, name: str) -> str:
        """Whether an import finds the name."""
        parts = f"{module}.{name}".split(".") if name and name != "*" else module.split(".")
        prefixes = {".".join(parts[: length + 1]) for length in range(len(parts))}
        return ABSENT if prefixes & self._lacking else PRESENT

    def reaches(self, dotted: str) -> str:
        """The prefix of a chain that is missing."""
        parts = dotted.split(".")
        return next((p for n in range(len(parts)) if (p := ".".join(parts[: n + 1])) in self._lacking), "")


def _lacked(version: str, gone: dict[str, str], new: dict[str, str]) -> list[str]:
    here = Version(version)
    found = []
    for name, since in gone.items():
        first, _, again = since.partition("-")
        if here >= Version(first) and not (again and here >= Version(again)):
            found.append(name)
    return found + [name for name, since in new.items() if here < Version(since)]


class World:
    """Packages by name, their releases in order, and where a name is missing."""

    given = frozenset({"torch", "python", "numpy"})
    """Packages that are always there."""

    def __init__(self, root: Path, packages: Sequence[str], numpy: Sequence[str]) -> None:
        self._releases: dict[str, list[SourceRelease]] = {name: unpacked(root, name) for name in packages}
        if "torch" in self._releases:
            # until 1.7 the extension put its classes into Python modules by itself
            self._releases["torch"] = [r for r in self._releases["torch"] if Version(r.version) >= Version("1.8")]
        self._releases["python"] = [TableRelease("python", v, _lacked(v, PYTHON_GONE, PYTHON_NEW)) for v in PYTHONS]
        self._releases["numpy"] = [TableRelease("numpy", v, _lacked(v, NUMPY_GONE, {})) for v in numpy]
        self._releases = {name: found for name, found in self._releases.items() if found}
        self._versions = {name: [Version(r.version) for r in found] for name, found in self._releases.items()}
        self._lacking: dict[tuple[str, str, str, str], int] = {}
        self._first: dict[tuple[str, str, str, str], int] = {}
        self._top_names: dict[str, tuple[str, ...]] = {}

    @cached_property
    def _tops(self) -> dict[str, str]:
        found = {"python": "python", "numpy": "numpy"}
        if "setuptools" in self._releases:
            found["pkg_resources"] = "setuptools"
        special = {"megatron-core": "megatron", "lightning-fabric": "lightning_fabric"}
        for name in self._releases:
            found.setdefault(special.get(name, name.replace("-", "_")), name)
        return found

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages that are known."""
        return tuple(self._releases)

    def tops(self, package: str) -> tuple[str, ...]:
        """The top modules of a package."""
        if package not in self._top_names:
            self._top_names[package] = tuple(top for top, name in self._tops.items() if name == package)
        return self._top_names[package]

    def package_of(self, module: str) -> str | None:
        """The package that a dotted module belongs to."""
        top = module.partition(".")[0]
        if top in self._tops and top != "python":
            return self._tops[top]
        return "python" if top in sys.stdlib_module_names or top in PYTHON_GONE else None

    def is_standard(self, module: str) -> bool:
        """Whether a module is part of Python itself."""
        return module.partition(".")[0] in sys.stdlib_module_names

    def distribution(self, name: str) -> str | None:
        """The known package that a word in a version test means."""
        words = {"bnb": "bitsandbytes", "hf_hub": "huggingface-hub", "huggingface_hub": "huggingface-hub"}
        package = words.get(name, name).replace("_", "-")
        return package if package in self._releases else None

    def releases(self, package: str) -> list[SourceRelease]:
        """The releases of a package, oldest first."""
        return self._releases[package]

    def versions(self, package: str) -> list[Version]:
        """The same as versions."""
        return self._versions[package]

    def full(self, package: str) -> int:
        """All releases of a package."""
        return (1 << len(self._releases[package])) - 1

    def lacking(self, package: str, asked: Asked) -> int:
        """The releases in which what is asked for is missing; none if no release is known to have it."""
        return self.lacks(package, asked.kind, asked.module, asked.name)

    def lacks(self, package: str, kind: str, module: str, name: str) -> int:
        """The same, by the parts of the question."""
        key = (package, kind, module, name)
        if key not in self._lacking:
            self._lacking[key] = self._lacks(package, kind, module, name)
        return self._lacking[key]

    def _lacks(self, package: str, kind: str, module: str, name: str) -> int:
        mask, first = 0, -1
        for position, release in enumerate(self._releases[package]):
            if kind == "attribute":
                missing = release.reaches(module)
                known = bool(missing) or self._surely(release, module)
            else:
                state = release.has(module, name)
                missing = state == ABSENT
                known = state != UNKNOWN
            if missing:
                mask |= 1 << position
            elif known and first < 0:
                first = position
        self._first[package, kind, module, name] = first
        return mask if first >= 0 else 0

    def first_with(self, package: str, kind: str, module: str, name: str) -> int:
        """The first release that is known to have what was looked up before."""
        return self._first[package, kind, module, name]

    @staticmethod
    def _surely(release: SourceRelease, dotted: str) -> bool:
        """Whether a chain's names are there as far as modules go, and not only perhaps."""
        parts = dotted.split(".")
        module = parts[0]
        for name in parts[1:]:
            state = release.has(module, name)
            if state != PRESENT:
                return False
            if release.source(f"{module}.{name}") is None:
                return True
            module = f"{module}.{name}"
        return True

    def enforced(self, release: SourceRelease, package: str) -> str:
        """The least version of a package that a release calls available without saying so in a parameter."""
        if package != "torch":
            return ""
        source = release.source(f"{release.package}.utils.import_utils")
        if source is None:
            return ""
        import re

        match = re.search(
            r"_torch_version\)\s*<\s*version\.parse\([\"']([\d.]+)[\"']\)|PyTorch >= ([\d.]+) is required", source.text
        )
        return "" if match is None else next(group for group in match.groups() if group)
