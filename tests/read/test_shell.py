"""Shell scripts become statements and words with exact places."""

from __future__ import annotations

import subprocess

import pytest

from distlint.model.shell import Assignments, Command, Expansion, If, Literal, Pipeline, ShellFacts
from distlint.model.span import LineIndex
from distlint.read.shell import read_shell
from distlint.read.shell_refusal import refusal


def read(text: str) -> ShellFacts:
    facts, errors = read_shell(text, "run.sh")
    assert errors == ()
    return facts


def command(text: str) -> Command:
    (statement,) = read(text).statements
    assert isinstance(statement, Command)
    return statement


def test_words_lose_their_quotes_and_keep_their_places() -> None:
    text = "torchrun 'a b' \"c\" d\\ e \\\n  $'x\\n' é\"ü\" last\n"
    found = command(text)
    assert [word.literal for word in found.words] == ["torchrun", "a b", "c", "d e", "x\n", "éü", "last"]
    index = LineIndex(text)
    assert [index.slice(word.span) for word in found.words][1:] == ["'a b'", '"c"', "d\\ e", "$'x\\n'", 'é"ü"', "last"]


def test_environment_in_front_of_a_command_is_not_one_of_its_words() -> None:
    found = command("CUDA_VISIBLE_DEVICES=0,1 N=2 python train.py > log 2>&1\n")
    assert [item.name for item in found.environment] == ["CUDA_VISIBLE_DEVICES", "N"]
    assert [word.literal for word in found.words] == ["python", "train.py"]
    assert [redirect.operator for redirect in found.redirects] == [">", "2>&"]


@pytest.mark.parametrize(
    ("text", "operator", "argument"),
    [
        ("${N:-8}", ":-", "8"),
        ("${N%.*}", "%", ".*"),
        ("${#N}", "length", None),
        ("${!N}", "indirect", None),
        ("$N", "", None),
    ],
)
def test_expansions_name_their_operator(text: str, operator: str, argument: str | None) -> None:
    part = command(f"echo {text}\n").words[1].parts[0]
    assert isinstance(part, Expansion)
    assert (part.name, part.operator) == ("N", operator)
    assert (part.argument.literal if part.argument is not None else None) == argument


def test_brace_lists_become_words() -> None:
    assert [w.literal for w in command("echo a{1..3} {x,y}z '{1,2}' {one}\n").words[1:]] == [
        "a1", "a2", "a3", "xz", "yz", "{1,2}", "{one}",
    ]  # fmt: skip


def test_here_document_has_its_text_and_place() -> None:
    found = command('cat <<EOT > $CFG\n{"a": $N}\nEOT\n')
    body = next(redirect for redirect in found.redirects if redirect.body is not None)
    assert body.body == '{"a": $N}\n'
    assert body.body_span is not None
    assert body.body_span.start == (2, 1)
    assert body.body_word is not None
    assert any(isinstance(part, Expansion) and part.name == "N" for part in body.body_word.parts)


def test_quoted_here_document_does_not_expand() -> None:
    found = command("cat <<'EOT' > x\n$N\nEOT\n")
    body = next(redirect for redirect in found.redirects if redirect.body is not None)
    assert (body.body, body.body_word, body.expands) == ("$N\n", None, False)


def test_arrays_leave_comments_out() -> None:
    (statement,) = read("ARGS=(\n  --a 1  # one\n  --b '2 3'\n)\n").statements
    assert isinstance(statement, Assignments)
    value = statement.items[0].value
    assert isinstance(value, tuple)
    assert [word.literal for word in value] == ["--a", "1", "--b", "2 3"]


def test_and_lists_are_conditions_and_pipelines_keep_their_background() -> None:
    first, second = read("cd x && python a.py\npython b.py | tee log &\n").statements
    assert isinstance(first, If)
    assert isinstance(second, Pipeline)
    assert second.background


def test_directives_and_interpreter() -> None:
    facts = read("#!/usr/bin/env bash\n#SBATCH --nodes=4  # comment\n#SBATCH -N 2\n")
    assert facts.interpreter == "bash"
    assert [[word.literal for word in words] for _, words in facts.directives] == [["--nodes=4"], ["-N", "2"]]


def test_literal_pieces_know_where_they_stand() -> None:
    parts = command('echo "ab$N cd"\n').words[1].parts
    assert [(p.text, p.line, p.column) for p in parts if isinstance(p, Literal)] == [("ab", 1, 7), (" cd", 1, 11)]


def test_a_quote_that_never_closes_is_one_error_and_the_rest_is_read() -> None:
    facts, errors = read_shell('A=1\npython x.py "oops\n', "run.sh")
    assert [(error.span.line, error.span.column) for error in errors] == [(2, 13)]
    assert isinstance(facts.statements[0], Assignments)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("if a; then\n  b\n", (1, 1), "the `if` that opens here never closes"),
        ("for i in 1 2; do\n  case $i in\n    1) x;;\n  esac\n", (1, 15), "the `do` that opens here never closes"),
        ("f() {\n  if a; then b; fi\n", (1, 5), "the `{` that opens here never closes"),
        ("if a; then b; done\n", (1, 15), "there is no `do` that this `done` could close"),
    ],
)
def test_blocks_that_never_close_are_errors(text: str, place: tuple[int, int], message: str) -> None:
    errors = read_shell(text, "run.sh")[1]
    assert [(error.span.start, error.message) for error in errors] == [(place, message)]


@pytest.mark.parametrize(
    "text",
    [
        "echo if then fi done\n",
        "x=(if do {)\n",
        "case $1 in\n  if) a;;\n  (do|done) b;;\nesac\n",
        "for x do y; done\nfor x\nin a\ndo y; done\n",
        "cat <<EOF\nif a; then {\nEOF\n",
        "echo 'if' \"do\" # if {\n",
        "if [[ $a == if* ]]; then b > done; fi\n",
        "for ((i=0; i<2; i++)); do x; done\n",
        "f() (\n  x\n)\n",
        "if a; then b; fi | { read x; }\n",
        "cat <<< if\n",
        "while read l; do x; done < <(y)\n",
    ],
)
def test_no_block_is_reported_that_a_shell_accepts(text: str) -> None:
    assert subprocess.run(["bash", "-n"], input=text.encode(), capture_output=True, check=False).returncode == 0
    assert refusal(text) is None


def test_assignments_on_one_line_do_not_belong_to_the_next() -> None:
    first, second, third = read("A=1 B='x y' # both\n\n  run a b\nC=1 D=$E run c\n").statements
    assert isinstance(first, Assignments)
    assert [item.name for item in first.items] == ["A", "B"]
    assert isinstance(second, Command)
    assert (second.environment, second.span.start) == ((), (3, 3))
    assert isinstance(third, Command)
    assert len(third.environment) == 2


def test_declarations_know_their_scope() -> None:
    statements = read("local a=1 b\ndeclare -gx c=2\nexport d\nunset e 'f[0]' g[1]\n").statements
    items = [item for statement in statements if isinstance(statement, Assignments) for item in statement.items]
    assert [(item.name, item.local, item.exported) for item in items[:4]] == [
        ("a", True, False), ("b", True, False), ("c", False, True), ("d", False, True),
    ]  # fmt: skip
    assert [(item.name, item.unset, item.index is not None) for item in items[4:]] == [
        ("e", True, False), ("f", True, True), ("g", True, True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["", "# only\n", "[[ $a =~ ^[0-9]+$ ]] && x\n", "x() { y; }\n", "a=(\n)\n", "((i++))\n"]
)
def test_what_a_shell_accepts_is_no_error(text: str) -> None:
    assert read_shell(text, "run.sh")[1] == ()


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000,
        "$(echo " * 3000,
        "if a; then " * 2000,
        "A=$b" + "$cc" * 3000 + " B=" + "$dd" * 3000 + "(",
        "a && " * 3000 + "a",
        '"${x:-' * 2000,
    ],
)
def test_hostile_nesting_ends(text: str) -> None:
    assert isinstance(read_shell(text, "run.sh")[0], ShellFacts)
