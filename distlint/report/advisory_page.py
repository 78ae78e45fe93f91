"""The page of an advisory, and the page that lists all: for the documentation and for ``distlint rule``."""

from __future__ import annotations

from collections.abc import Iterable

from distlint.judge.advisories import Advisory, Range, UseOf

LIST_HEAD = """# Advisories

Known defects of released frameworks, each traced to the thread that reports it and to the release that has the fix.
A finding tells them only to code that uses the defective feature with a release that has the defect. Each is an
[OSV](https://ossf.github.io/osv-schema/) document under `rules/advisories/`; [rule files](../rule-files.md) say what
is added to that format.

| Advisory | Package | Releases | Symptom | What is wrong |
| --- | --- | --- | --- | --- |
"""


def advisory_markdown(advisory: Advisory) -> str:
    """One advisory in Markdown: what is wrong, where, what it does, what mends it, and what proves it."""
    mend = [f"Mended in {one.fixed}." for one in advisory.ranges if one.fixed]
    if advisory.workaround:
        mend.append(f"Or {advisory.workaround}." if mend else _sentence(advisory.workaround))
    needs = "".join(f", with {package} {wanted}" for package, wanted in advisory.requires.items())
    parts = [
        f"# {advisory.id}",
        f"{_sentence(advisory.summary)}",
        f"{advisory.package} {_releases(advisory.ranges)}{needs}: {advisory.symptom.replace('-', ' ')}.",
        f"{_sentence(advisory.effect)}",
        *advisory.details.split("\n\n"),
        " ".join(mend),
        "Told where one of these is used:",
        "\n".join(f"- {_use(use)}" for use in advisory.uses),
        "\n".join(f"- {kind.lower()}: <{url}>" for kind, url in advisory.references),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def advisory_text(advisory: Advisory) -> str:
    """The same for a terminal."""
    return advisory_markdown(advisory).replace("# ", "", 1).replace("<http", "http").replace(">\n", "\n")


def list_markdown(advisories: Iterable[Advisory]) -> str:
    """The page that lists all advisories."""
    return LIST_HEAD + "".join(_row(one) for one in advisories)


def _row(one: Advisory) -> str:
    where = f"[{one.id}](../../rules/{one.source})"
    summary = one.summary.replace("|", "\\|")
    return f"| {where} | {one.package} | {_releases(one.ranges)} | {one.symptom.replace('-', ' ')} | {summary} |\n"


def _releases(ranges: Iterable[Range]) -> str:
    words = []
    for one in ranges:
        end = f"before {one.fixed}" if one.fixed else f"up to {one.last}" if one.last else "and later"
        words.append(end if one.introduced == "0" else f"{one.introduced} {end}")
    return ", ".join(words)


def _use(use: UseOf) -> str:
    what = ", ".join(f"`{name}`" for name in (*use.calls, *use.names)) or f"the settings of `{use.subject}`"
    condition = f", where `{use.when}`" if use.when else ""
    beside = f", beside {' or '.join(f'`{name}`' for name in use.beside)}" if use.beside else ""
    return f"{what}{condition}{beside}"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
