"""``dataclass`` at a tenth of its price.

distlint has some 150 small classes, and a check of one file makes most of them. The standard decorator compiles up to eight functions
for each (a third of a millisecond, so a third of the whole run), and an instance of a frozen class costs three times a plain one.
This one compiles ``__init__`` only and shares the other methods.

To the type checker it is the standard ``dataclass``; that nobody assigns to a field of a frozen class is the type checker's business.
``fields``, ``replace``, ``asdict`` and pickling work. Not supported, and refused: ``order``, ``kw_only``, ``InitVar``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    from dataclasses import MISSING, Field, field
    from operator import attrgetter

    _FACTORY = object()

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True, repr=True, match_args=True):  # noqa: A002, D103
        if cls is None:
            return lambda cls: _made(cls, slots, eq, frozen)
        return _made(cls, slots, eq, frozen)

    def _made(cls, slots, eq, frozen):
        fields = {}
        for base in reversed(cls.__mro__[1:]):
            fields.update(getattr(base, "__dataclass_fields__", {}))
        own = cls.__dict__.get("__annotations__", {})  # noqa: RUF063 - the plain strings are enough
        namespace = dict(cls.__dict__)
        for name, annotation in own.items():
            if annotation.startswith("ClassVar"):
                continue
            default = namespace.pop(name, MISSING)
            item = default if isinstance(default, Field) else field(default=default)
            if item.kw_only is True:
                raise TypeError(f"{cls.__qualname__}.{name}: kw_only is not supported")
            item.name, item.type, item._field_type = name, annotation, _KIND
            item.kw_only = False
            fields[name] = item
            if not slots and item.default is not MISSING:
                namespace[name] = item.default
        namespace["__dataclass_fields__"] = fields
        namespace["__init__"] = _init(cls, fields, "__post_init__" in namespace or hasattr(cls, "__post_init__"))
        namespace["__match_args__"] = tuple(fields)
        if "__repr__" not in namespace:
            namespace["__repr__"] = _repr
        if eq and "__eq__" not in namespace:
            namespace["__eq__"] = _eq
            namespace["__compared__"] = (_compared(fields),)
            namespace["__hash__"] = _hash if frozen else None
        if slots:
            namespace["__slots__"] = tuple(name for name in own if name in fields)
            namespace["__getstate__"] = _getstate
            namespace["__setstate__"] = _setstate
        namespace.pop("__dict__", None)
        namespace.pop("__weakref__", None)
        made = type(cls)(cls.__name__, cls.__bases__, namespace)
        made.__qualname__ = cls.__qualname__
        return made

    def _init(cls, fields, has_post_init):
        """The only compiled method: the one whose speed matters."""
        parameters, body, scope = [], [], {"_FACTORY": _FACTORY}
        for name, item in fields.items():
            if not item.init:
                if item.default_factory is not MISSING:
                    scope[f"_make_{name}"] = item.default_factory
                    body.append(f" self.{name} = _make_{name}()")
                elif item.default is not MISSING:
                    scope[f"_default_{name}"] = item.default
                    body.append(f" self.{name} = _default_{name}")
                continue
            if item.default_factory is not MISSING:
                scope[f"_make_{name}"] = item.default_factory
                parameters.append(f"{name}=_FACTORY")
                body.append(f" self.{name} = _make_{name}() if {name} is _FACTORY else {name}")
                continue
            if item.default is not MISSING:
                scope[f"_default_{name}"] = item.default
                parameters.append(f"{name}=_default_{name}")
            else:
                parameters.append(name)
            body.append(f" self.{name} = {name}")
        if has_post_init:
            body.append(" self.__post_init__()")
        source = f"def __init__(self, {', '.join(parameters)}):\n" + ("\n".join(body) or " pass")
        exec(source, scope)  # noqa: S102 - built from the names of our own classes' fields
        init = scope["__init__"]
        init.__qualname__ = f"{cls.__qualname__}.__init__"
        init.__module__ = cls.__module__
        return init

    def _compared(fields):
        """What gives the values that tell an object from others: in C where it can be, since sets of places ask all the time."""
        names = [name for name, item in fields.items() if item.compare]
        if len(names) > 1:
            return attrgetter(*names)
        return lambda self: tuple([getattr(self, name) for name in names])

    def _eq(self, other):
        if self is other:
            return True
        if other.__class__ is not self.__class__:
            return NotImplemented
        values = self.__compared__[0]
        return values(self) == values(other)

    def _hash(self):
        return hash(self.__compared__[0](self))

    def _repr(self):
        shown = (f"{name}={getattr(self, name)!r}" for name, item in self.__dataclass_fields__.items() if item.repr)
        return f"{self.__class__.__qualname__}({', '.join(shown)})"

    def _getstate(self):
        return [getattr(self, name) for name in self.__dataclass_fields__]

    def _setstate(self, state):
        for name, value in zip(self.__dataclass_fields__, state, strict=True):
            object.__setattr__(self, name, value)

    def _field_kind():
        """The standard module's private mark of an ordinary field, by which ``fields`` and ``replace`` know it."""
        import dataclasses

        return dataclasses._FIELD

    _KIND = _field_kind()

__all__ = ["dataclass"]
