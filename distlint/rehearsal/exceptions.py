"""Which exceptions there are in a rehearsed program: what functions throw, what a ``raise`` raises, and what handlers take.

Exceptions are told by names: those of Python's own by their last one, those of libraries by that and by the dotted one, classes of
the project by theirs with a dot in front, so that none of them is taken for another's.

Sources: Python 3.11, PyYAML and Pillow, each of these functions called with data that is cut or foreign.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

from distlint.link.modules import ClassRef
from distlint.model import python as ir
from distlint.rehearsal.entities import ClassValue, Library
from distlint.rehearsal.values import Items, Made, Thing

if TYPE_CHECKING:
    from distlint.link.project import Project

Names = frozenset[str]

ANY: Names = frozenset({"", "Exception", "BaseException"})
"""What takes any exception; the empty name stands for a bare ``except``."""
CONVERTING = ANY | {"ValueError", "TypeError", "JSONDecodeError", "UnicodeError", "UnicodeDecodeError"}
"""Exceptions of what makes numbers or objects of texts."""
READING = CONVERTING | {"OSError", "IOError", "EnvironmentError", "FileNotFoundError", "EOFError", "RuntimeError"}
"""Exceptions of what reads a file."""

EXITING = frozenset({"", "BaseException", "SystemExit"})
"""What takes the end of the program."""

CONVERTERS = frozenset({"int", "float"})
TEXTS = frozenset({"loads", "literal_eval", "strptime", "fromisoformat", "fromhex", "b64decode", "decode"})
"""Last names of functions that make something of a text."""
READERS = frozenset(
    {
        "load",
        "load_file",
        "open",
        "read_text",
        "read_bytes",
        "imread",
        "read_image",
        "safe_load",
        "loadtxt",
        "genfromtxt",
        "read_csv",
        "read_json",
        "read_parquet",
        "frombuffer",
    }
)
"""Last names of those that read what a path or an open file tells."""

_PACKED = ANY | {"struct.error"}
_UNPICKLED = CONVERTING | {"UnpicklingError", "PickleError", "EOFError"}
_BASE64 = CONVERTING | {"binascii.Error"}
_PARSED = ANY | {"ParseError", "SyntaxError"}
_THROWN = {
    "struct.unpack": _PACKED,
    "struct.unpack_from": _PACKED,
    "struct.iter_unpack": _PACKED,
    "struct.Struct().unpack": _PACKED,
    "struct.Struct().unpack_from": _PACKED,
    "struct.Struct().iter_unpack": _PACKED,
    "json.JSONDecoder().decode": CONVERTING,
    "json.JSONDecoder().raw_decode": CONVERTING,
    "pickle.loads": _UNPICKLED,
    "pickle.load": READING | _UNPICKLED,
    "base64.b64decode": _BASE64,
    "base64.b32decode": _BASE64,
    "base64.b16decode": _BASE64,
    "base64.urlsafe_b64decode": _BASE64,
    "base64.standard_b64decode": _BASE64,
    "base64.decodebytes": _BASE64,
    "binascii.a2b_base64": _BASE64,
    "binascii.unhexlify": _BASE64,
    "binascii.a2b_hex": _BASE64,
    "zlib.decompress": ANY | {"zlib.error"},
    "gzip.decompress": ANY | {"OSError", "BadGzipFile", "EOFError", "zlib.error"},
    "bz2.decompress": ANY | {"OSError", "ValueError"},
    "lzma.decompress": ANY | {"LZMAError"},
    "xml.etree.ElementTree.fromstring": _PARSED,
    "xml.etree.ElementTree.XML": _PARSED,
    "yaml.safe_load": READING | {"YAMLError"},
    "yaml.load": READING | {"YAMLError"},
    "PIL.Image.open": READING | {"UnidentifiedImageError"},
    "decimal.Decimal": ANY | {"InvalidOperation", "ArithmeticError"},
}
"""What functions throw that name exceptions of their own."""


MATCHED: Names = frozenset({"AttributeError"})
"""Exceptions of what is asked of a match where nothing matched."""
_OF_MATCHES = frozenset({"group", "groups", "groupdict"})


def thrown_by(name: str) -> Names:
    """The exceptions of a library's function of this name; none where it is not known to fail."""
    last = name.rpartition(".")[2]
    if last in _OF_MATCHES:
        return MATCHED
    return _THROWN.get(name) or (CONVERTING if last in TEXTS else READING if last in READERS else frozenset())


def has_own_exceptions(name: str) -> bool:
    """Whether a function, or a method of a library's object, is known by its whole name to fail for what it is given."""
    return name in _THROWN


class Raised(str):
    """How a body ends that raises something: equal to ``"raise"``; ``names`` are those that a handler may take it by.

    Without names it is not known what is raised.
    """

    names: Names

    __slots__ = ("names",)

    @classmethod
    def of(cls, names: Names) -> Raised:
        """The end with an exception of these names."""
        made = cls("raise")
        made.names = names
        return made


def raised_names(ended: str) -> Names:
    """The names of what ended a body; none where that is not known."""
    return ended.names if isinstance(ended, Raised) else frozenset()


def names_raised(project: Project, value: Any) -> Names:
    """By which names handlers may take an exception, or one of a class; none where other names may be among them."""
    value = value.cls if isinstance(value, Thing) else value.ref if isinstance(value, ClassValue) else value
    if isinstance(value, Made):
        value = Library(value.name.removesuffix("()"))
    if isinstance(value, Library):
        return _of_python(value.name)
    if not isinstance(value, ClassRef):
        return frozenset()
    found: set[str] = set()
    for one in project.modules.ancestry(value):
        definition = project.class_(one)
        found.add(f".{definition.name}")
        for base in definition.bases:
            if isinstance(project.modules.resolve(base, one.file), ClassRef):
                continue
            names = _of_python(project.modules.dotted(base, one.file) or _last(base))
            if not names:
                return frozenset()  # a library's class may derive from anything
            found |= names
    return frozenset(found)


def _of_python(name: str) -> Names:
    """The names of an exception of Python's own and of those that it derives from."""
    name = name.removeprefix("builtins.")
    kind = getattr(builtins, name, None) if name.isidentifier() else None
    if not isinstance(kind, type) or not issubclass(kind, BaseException):
        return frozenset()
    return frozenset({"", *(one.__name__ for one in kind.__mro__ if one is not object)})


def names_caught(project: Project, kind: ir.Expr | None, value: Any) -> Names:
    """The names of the exceptions that a handler takes; ``value`` is what its expression comes to, if that is known."""
    if kind is None:
        return frozenset({""})
    parts = value.items if isinstance(value, Items) else value
    found: set[str] = set()
    for part in parts if isinstance(parts, tuple | list) and not isinstance(parts, Library | ClassValue) else (parts,):
        if isinstance(part, ClassValue):
            found.add(f".{project.class_(part.ref).name}")
        elif isinstance(part, Library):
            found |= {part.name, part.name.rpartition(".")[2]}
        else:
            return frozenset({*found, *_written(kind)})
    return frozenset(found)


def _written(kind: ir.Expr) -> set[str]:
    """The last names of exceptions as they are written."""
    return {_last(part) for part in (kind.items if type(kind) is ir.ListDisplay else (kind,))} - {""}


def _last(expr: ir.Expr) -> str:
    return expr.id if type(expr) is ir.Name else expr.name if type(expr) is ir.Attribute else ""
