"""What a subject says of one setting, for those who describe a run: given, its default, or unknown."""

from __future__ import annotations

from distlint.model.subject import Subject
from distlint.model.value import State, Value, absent, known, unknown

MAX_NUMBER = 1 << 40
"""No size of a model or a job is larger than this."""

UNSEEN = "may be given where we can't see"


def given(subject: Subject, path: str, default: object = None) -> Value:
    """The value of a setting; where it is not given its default, or ``default`` if the framework lists none.

    Unknown where it is set on some paths only, or may be given where we can't see.
    """
    setting = subject.settings.get(path)
    if setting is not None:
        if not setting.certain:
            return unknown(f"`{setting.written or path}` is given on some paths only", setting.key_span)
        value = subject.taken(setting)
        if value.is_known and value.only is None:
            return absent(setting.key_span)
        return value if value.spans else value.at(setting.key_span)
    if path in subject.names:
        return subject.names[path]
    if "" in subject.open_blocks:
        return unknown(UNSEEN)
    found = subject.default(path)
    if found.is_known and found.only is None:
        found = absent()
    return known(default) if found.is_absent and default is not None else found


def is_on(subject: Subject, path: str) -> Value:
    """Whether a switch is on; off where it is not given."""
    value = given(subject, path)
    if value.is_absent:
        return known(False)
    return value.map(bool) if value.state in (State.KNOWN, State.ONE_OF) else value


def whole(value: Value) -> int:
    """The number if a value is known to be one above 0 that can be meant, else 0."""
    return value.only if type(value.only) is int and 0 < value.only < MAX_NUMBER else 0
