"""The page of a rule: one text for the documentation, ``distlint rule``, hover in editors and SARIF's ``help``."""

from __future__ import annotations

import re
from pathlib import Path

from distlint.model.finding import Severity
from distlint.model.record import dataclass
from distlint.model.rule import Rule
from distlint.report.text import BITES

FENCES = {
    ".py": "python",
    ".json": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".toml": "toml",
    ".sh": "bash",
    ".slurm": "bash",
}
MAX_EXAMPLE_LINES = 80
"""Longer files of an example are cut: the page must stay readable."""

_CONSEQUENCE = {
    Severity.ERROR: "the job fails, hangs or computes something wrong",
    Severity.WARNING: "speed, memory or safety is likely to be lost",
    Severity.NOTE: "worth knowing",
}


@dataclass(frozen=True, slots=True)
class Example:
    """A small project: pairs of relative path and text, without the file that only tests read."""

    files: tuple[tuple[str, str], ...]


def fixtures_folder() -> Path | None:
    """The folder of the example projects: beside the package in a checkout, not part of an installed distlint."""
    folder = Path(__file__).resolve().parents[2] / "fixtures"
    return folder if folder.is_dir() else None


def example(code: str, kind: str, fixtures: Path | None = None) -> Example | None:
    """The first example of a rule, ``kind`` being ``bad`` or ``good``; ``None`` if there is none."""
    base = fixtures if fixtures is not None else fixtures_folder()
    if base is None:
        return None
    for folder in sorted((base / code).glob(f"{kind}*")):
        files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "expect.txt"]
        texts = [
            (path.relative_to(folder).as_posix(), path.read_text(encoding="utf-8", errors="replace")) for path in files
        ]
        if texts:
            return Example(tuple(texts))
    return None


def page_markdown(rule: Rule, *, examples: bool = True, fixtures: Path | None = None) -> str:
    """The page in Markdown. ``examples`` adds the rule's example projects, as far as they are at hand."""
    sections = [
        ("What it finds", _what(rule)),
        ("Why it matters", _why(rule)),
        ("Example (bad)", _example_text(rule, "bad", fixtures) if examples else ""),
        ("Instead (good)", _example_text(rule, "good", fixtures) if examples else ""),
        ("When it stays silent", rule.silence.strip()),
        ("Fix safety", _fix(rule)),
        ("Options", _options(rule)),
        ("Evidence", "\n".join(f"- {item}" for item in rule.evidence)),
    ]
    head = f"# {rule.code}: {rule.name}\n\n{_sentence(rule.summary)}\n\n{_facts(rule)}"
    body = "\n\n".join(f"## {title}\n\n{text}" for title, text in sections if text)
    return f"{head}\n\n{body}\n"


def page_text(rule: Rule, *, bold: bool = False) -> str:
    """The page for a terminal: the same words, headings without marks (bold if wanted), tables as plain lines."""
    lines = []
    fenced = False
    for line in page_markdown(rule).splitlines():
        if line.startswith("```"):
            fenced = not fenced
            continue
        if fenced:
            lines.append(f"    {line}".rstrip())
        elif match := re.match(r"#+ (.*)", line):
            lines.append(f"\x1b[1m{match.group(1)}\x1b[0m" if bold else match.group(1))
        elif not line.startswith(("| ---", "| | |")):
            lines.append(re.sub(r"^\| ([^|]*) \| (.*) \|$", r"  \1: \2", line))
    return "\n".join(lines) + "\n"


def _facts(rule: Rule) -> str:
    rows = [
        ("Severity", f"{rule.severity.word} ({_CONSEQUENCE[rule.severity]})"),
        ("Confidence", f"{rule.confidence.word}, lowered by the weakest value that a finding rests on"),
        ("Shows", BITES.get(rule.bites, rule.bites)),
        ("Framework", rule.framework),
        ("Versions", ", ".join(f"{package} {spec}" for package, spec in sorted(rule.versions.items()))),
        ("Root cause", rule.root_cause),
        ("Symptom", f"{rule.symptom}, in the stage {rule.stage}" if rule.stage else rule.symptom),
        ("Fix pattern", rule.fix_pattern),
        ("Status", f"{rule.status} since {rule.since}" if rule.since else rule.status),
        ("Replaced by", rule.replaced_by),
    ]
    return "\n".join(["| | |", "| --- | --- |", *(f"| {name} | {_cell(value)} |" for name, value in rows if value)])


def _what(rule: Rule) -> str:
    """The first paragraph of the explanation: what the rule sees."""
    return _paragraphs(rule)[0] if _paragraphs(rule) else _sentence(rule.summary)


def _why(rule: Rule) -> str:
    parts = _paragraphs(rule)[1:]
    if rule.help:
        parts.append(_sentence(rule.help[:1].upper() + rule.help[1:]))
    return "\n\n".join(parts) or f"Where it applies, {_CONSEQUENCE[rule.severity]}."


def _paragraphs(rule: Rule) -> list[str]:
    return [part.strip() for part in re.split(r"\n\s*\n", rule.explanation) if part.strip()]


def _example_text(rule: Rule, kind: str, fixtures: Path | None) -> str:
    found = example(rule.code, kind, fixtures)
    return "\n\n".join(_file_text(path, text) for path, text in found.files) if found is not None else ""


def _file_text(path: str, text: str) -> str:
    lines = text.rstrip().splitlines()
    if len(lines) > MAX_EXAMPLE_LINES:
        lines = [*lines[:MAX_EXAMPLE_LINES], "..."]
    shown = "\n".join(lines)
    fence = "````" if "```" in shown else "```"
    return f"`{path}`\n\n{fence}{FENCES.get(Path(path).suffix, 'text')}\n{shown}\n{fence}"


def _fix(rule: Rule) -> str:
    if rule.fix is None:
        return "There is no automatic fix."
    title = f"*{rule.fix.title}.* " if rule.fix.title else ""
    safety = {
        "safe": "The fix is safe: `--fix` applies it.",
        "unsafe": "The fix is unsafe, because it may change what the job does: `--fix --unsafe-fixes` applies it.",
        "suggestion": "The fix is a suggestion: it is shown, and never applied.",
    }
    return title + safety[rule.fix.safety.word]


def _options(rule: Rule) -> str:
    code, name = rule.code, rule.name
    lower = "note" if rule.severity is not Severity.NOTE else "warning"
    return (
        f"Silence one place with a comment, `# distlint: ignore[{code}] reason`, where the format has comments. "
        f'In the settings, `ignore = ["{code}"]` (or `"{name}"`) switches the rule off, '
        f'and `severity = {{ {code} = "{lower}" }}` grades it anew.'
    )


def _sentence(text: str) -> str:
    text = text.strip()
    return text if not text or text.endswith((".", "!", "?")) else text + "."


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
