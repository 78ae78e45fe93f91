from __future__ import annotations

import pytest

from distlint.lsp.silence import silencing_comment
from distlint.model.finding import Finding, Severity
from distlint.model.span import LineIndex, Span
from distlint.model.value import Confidence

COMMENT = "# distlint: ignore[XX101] <why>"


def silenced(file: str, text: str, word: str = "bad") -> str | None:
    """The text after silencing a finding on a word of it."""
    index = LineIndex(text)
    span = index.span(file, text.index(word), text.index(word) + len(word))
    edit = silencing_comment(Finding("XX101", "wrong", span, Severity.ERROR, Confidence.CERTAIN), text)
    if edit is None:
        return None
    at = index.offset(*edit.span.start)
    assert edit.span == Span(file, *edit.span.start, *edit.span.start)
    return text[:at] + edit.text + text[at:]


@pytest.mark.parametrize(
    ("file", "text", "after"),
    [
        ("a.py", "x = bad\ny\n", f"x = bad  {COMMENT}\ny\n"),
        ("a.py", "x = bad", f"x = bad  {COMMENT}"),
        ("a.py", "x = bad\r\ny\r\n", f"x = bad  {COMMENT}\r\ny\r\n"),
        ("a.py", "x = bad  # why not\n", f"x = bad  # why not  {COMMENT}\n"),
        ("a.py", "if x:\n    y = '''bad\n'''\n", f"if x:\n    {COMMENT}\n    y = '''bad\n'''\n"),
        ("a.py", "if x:\r\n    y = '''bad\r\n'''\r\n", f"if x:\r\n    {COMMENT}\r\n    y = '''bad\r\n'''\r\n"),
        ("a.py", "x = 1 + \\\n    bad + \\\n    2\n", f"{COMMENT}\nx = 1 + \\\n    bad + \\\n    2\n"),
        ("a.yaml", "a:\n  b: bad\n", f"a:\n  b: bad  {COMMENT}\n"),
        ("a.toml", 'a = "bad"\n', f'a = "bad"  {COMMENT}\n'),
        ("run.sh", "torchrun bad\n", f"torchrun bad  {COMMENT}\n"),
        ("run.sh", "cd x\ntorchrun \\\n  --bad \\\n  a.py\n", f"cd x\n{COMMENT}\ntorchrun \\\n  --bad \\\n  a.py\n"),
        ("run.sh", "cat <<EOF > x\nbad\nEOF\n", f"{COMMENT}\ncat <<EOF > x\nbad\nEOF\n"),
        (
            "run.sh",
            "for x in 1; do\n\ttorchrun 'bad\n\t'\ndone\n",
            f"for x in 1; do\n\t{COMMENT}\n\ttorchrun 'bad\n\t'\ndone\n",
        ),
        ("a.py", "f(\n    1,\n    bad,\n)\n", f"f(\n    1,\n    bad,  {COMMENT}\n)\n"),
        ("ds.hjson", "{a: bad}\n", "// distlint: ignore[XX101] <why>\n{a: bad}\n"),
        ("requirements.txt", "bad==1\n", f"bad==1  {COMMENT}\n"),
    ],
)
def test_the_comment_stands_where_it_counts(file: str, text: str, after: str) -> None:
    assert silenced(file, text) == after


@pytest.mark.parametrize(("file", "text"), [("a.json", '{"a": "bad"}\n'), ("LICENSE", "bad\n")])
def test_there_is_none_where_no_comment_would_count(file: str, text: str) -> None:
    assert silenced(file, text) is None
