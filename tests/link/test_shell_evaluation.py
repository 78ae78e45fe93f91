"""The abstract shell agrees with a real one about what words become, and is silent where it can't know."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distlint.link.shell import evaluate_script
from distlint.link.shell_commands import EvaluatedCommand
from distlint.link.shell_walk import Seen
from distlint.model.value import Confidence
from distlint.read.shell import read_shell


def commands(text: str, path: str = "scripts/run.sh", **others: str) -> list[EvaluatedCommand]:
    scripts = {path: text, **{f"scripts/{name}.sh": body for name, body in others.items()}}
    facts = {name: read_shell(body, name)[0] for name, body in scripts.items()}
    return list(evaluate_script(path, Seen(facts, facts.__contains__)).commands)


def words(text: str) -> list[str | None]:
    return [word.literal for word in commands(text)[-1].words[1:]]


def by_bash(text: str) -> list[str]:
    script = (
        text.replace("run ", "printf '%s\\0' ", 1)
        if text.startswith("run ")
        else text.replace("\nrun ", "\nprintf '%s\\0' ")
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    return done.stdout.decode().split("\0")[:-1]


VALUES = st.text(alphabet="ab1 _-=.,/:@", max_size=8)
NUMBERS = st.integers(min_value=1, max_value=64)


@given(first=VALUES, second=VALUES)
@settings(max_examples=40, deadline=None)
def test_variables_expand_as_in_bash(first: str, second: str) -> None:
    text = (
        f'A=\'{first}\'\nB="{second}"\nC+="$A"\nC+=x\nE=( $A "$B" z )\n'
        'run x$A "$A" "${B}y" $B$A "${C}" "${E[@]}" ${#E[@]} "${E[0]}" ${A:-d} "${B:+set}" ${N-"d e"} '
        '"${A%b*}" "${A//a/c}" "${A:1:2}" "${E[@]/a/c}" end\n'
    )
    assert words(text) == by_bash(text)


@given(
    a=NUMBERS,
    b=NUMBERS,
    c=NUMBERS,
    operators=st.lists(st.sampled_from(["+", "-", "*", "/", "%", "<", "==", "&&", "|"]), min_size=2, max_size=2),
)
@settings(max_examples=40, deadline=None)
def test_arithmetic_is_bash_arithmetic(a: int, b: int, c: int, operators: list[str]) -> None:
    one, two = operators
    text = (
        f"A={a}\nB={b}\nrun $((A {one} $B {two} {c})) $(( (A+{b})*{c} )) $((-A ** 2)) $((A > B ? A : B)) "
        "$(expr $A \\* $B)\n"
    )
    try:
        expected = by_bash(text)
    except subprocess.CalledProcessError:
        return
    if len(expected) == 5:
        assert words(text) == expected


def test_a_default_for_the_environment_is_only_likely() -> None:
    outside, inside = commands("N=${GPUS:-8}\nrun $N\nM=4\nrun ${M:-8}\n")
    assert (outside.words[1].value.only, outside.words[1].value.confidence) == ("8", Confidence.LIKELY)
    assert (inside.words[1].value.only, inside.words[1].value.confidence) == ("4", Confidence.CERTAIN)


def test_the_default_behind_a_test_for_emptiness_counts_like_one() -> None:
    (found,) = commands('OUT=$1\nif [ "$OUT" == "" ]; then OUT=./out; fi\nrun $OUT\n')
    assert (found.words[1].value.only, found.words[1].value.confidence) == ("./out", Confidence.LIKELY)


def test_a_value_names_its_word_first_and_its_assignment_next() -> None:
    (found,) = commands("GPUS=4\nrun --gpus $GPUS\n")
    assert [span.start for span in found.words[2].value.spans] == [(2, 12), (1, 1)]


def test_words_of_a_quoted_variable_have_their_own_places() -> None:
    (found,) = commands('ARGS="--lr 1 \\\n  --bs 8"\nrun $ARGS\n')
    assert [word.literal for word in found.words[1:]] == ["--lr", "1", "--bs", "8"]
    assert [word.span.start for word in found.words[1:]] == [(1, 7), (1, 12), (2, 3), (2, 8)]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        (
            'N=8\nA="--tp $N \\\n --pp 2"\nA="$A --lr 1"\nC="x.py $A"\nrun $C\n',
            [(5, 4), (2, 4), (2, 9), (3, 2), (3, 7)],
        ),
        ('N=8\nA=(--tp $N)\nA=("${A[@]}" --pp 2)\nA=("${A[@]}" --lr 1)\nrun "${A[@]}"\n', [(2, 4), (2, 9), (3, 14)]),
    ],
)
def test_words_keep_their_places_through_lists_that_are_added_to(text: str, places: list[tuple[int, int]]) -> None:
    (found,) = commands(text)
    assert [word.span.start for word in found.words[1 : len(places) + 1]] == places


def test_an_undecided_branch_leaves_both_values_and_a_decided_one_only_its_own() -> None:
    (first,) = commands("if [ $X = 1 ]; then A=1; else A=2; fi\nrun $A\n")
    assert set(first.words[1].value.options) == {"1", "2"}
    (second,) = commands("X=1\nif [ $X -eq 1 ]; then A=1; else A=2; fi\nrun $A\n")
    assert second.words[1].value.only == "1"


def test_unknown_text_never_becomes_text() -> None:
    (found,) = commands('run $(cat n) "x$Y" --flag=$Z *.json\n')
    assert [word.literal for word in found.words[1:]] == [None, None, None, None]
    assert found.words[3].prefix == "--flag="


def test_loops_over_few_words_are_unrolled_and_others_are_not() -> None:
    assert [c.words[1].literal for c in commands("for i in 1 2; do run $i; done\n")] == ["1", "2"]
    (unknown,) = commands("for i in $(ls); do run $i; done\n")
    assert (unknown.words[1].literal, unknown.guards) == (None, 1)


def test_commands_behind_an_exit_never_run() -> None:
    assert [c.words[1].literal for c in commands("run 1\nexit\nrun 2\n")] == ["1"]


def test_functions_and_shift_see_their_arguments() -> None:
    assert words("f() { shift; run $1 $#; }\nf a b c\n") == ["b", "2"]


def test_scripts_inherit_what_is_exported_and_their_arguments() -> None:
    found = commands("export A=1\nB=2\nC=3 bash scripts/other.sh x\n", other='run $A $1 $C "[$B]"\n')
    assert [word.literal for word in found[-1].words[1:]] == ["1", "x", "3", None]


def test_sourced_scripts_share_variables() -> None:
    found = commands('source "$(dirname "$0")/other.sh"\nrun $A\n', other="A=5\n")
    assert found[-1].words[1].literal == "5"


def test_the_batch_header_is_likely() -> None:
    (found,) = commands("#SBATCH --nodes=4\n#SBATCH --gres=gpu:a100:8\nrun $((SLURM_NNODES * SLURM_GPUS_ON_NODE))\n")
    assert (found.words[1].value.only, found.words[1].value.confidence) == ("32", Confidence.LIKELY)


def test_the_working_directory_is_followed() -> None:
    (found,) = commands('cd "$(dirname "$0")/.."\nrun\n')
    assert found.directory.known == ""


@pytest.mark.parametrize(
    "text",
    [
        "f() { f; f; }\nf\n",
        "while true; do A=$A$A; done\nrun $A\n",
        "A=x\nfor i in 1 2 3 4 5 6 7 8; do for j in 1 2 3 4 5 6 7 8; do A=$A$A$A; done; done\nrun $A\n",
        "bash scripts/run.sh\n",
    ],
)
def test_work_is_bounded(text: str) -> None:
    assert len(commands(text)) <= 600


@pytest.mark.parametrize(
    "text",
    [
        "f() { local a=2 b; a=3; b=4; }\na=1\nf\nrun $a x$b\n",
        "f() { g; }\ng() { a=5; }\nh() { local a=2; f; run $a; }\na=1\nh\n",
        "f() { declare -g a=2; }\nf\nrun $a\n",
        "i=0\nuntil [ 1 = 1 ]; do i=5; done\nrun $i\n",
        "i=1\n((i++))\n((i+=3, 1))\nlet i=i*2\n((--i))\nrun x$i\n",
        "n=0\nfor f in a b c; do ((n+=1)); done\nrun $n\n",
        "IFS=, read -ra ids <<< '0,1,2'\nrun ${#ids[@]} ${ids[2]}\n",
        "read -r a b c <<< 'x y'\nrun $a $b [$c]\n",
        "printf -v name '%s' abc\nrun $name\n",
        "a=b\nb=(x y)\nc=d\nd=e\nrun ${!c} ${!b[@]}\n",
        "n=010\nrun $((n + 1))\n",
        "declare -i n=2*3\nrun $n\n",
        "A=1 B=$'x\\ty' C=\"z\"\nrun $A $C\n",
        'set -euo pipefail\nrun "${1:-none}" $#',
        "set -eu -o pipefail a 'b c'\nrun \"$@\"",
        'set +eo pipefail -- -x y\nrun "$@"',
        'set -a a\nset -\nrun "$@"',
    ],
)
def test_what_sets_variables_does_so_as_in_bash(text: str) -> None:
    expected = by_bash(text.replace("{ local a=2; f; run", "{ local a=2; f; printf '%s\\0'"))
    found = words(text)
    assert found == expected or (None in found and len(found) == len(expected))


def test_values_that_cannot_be_known_after_an_odd_setter_are_holes() -> None:
    for setter in ("read x", "mapfile -t x", "printf -v x '%05d' 3", "((x = y++, y))", "unset 'x[0]'"):
        assert words(f"x=(1 2)\n{setter}\nrun $x\n") == [None], setter


def test_options_of_the_script_itself_have_their_defaults() -> None:
    text = "N=8\nNAME=\nwhile [[ $# -gt 0 ]]; do case $1 in -n) N=$2; shift 2;; --name) NAME=$2; shift 2;; esac; done\n"
    (found,) = commands(text + '[ -z "$NAME" ] && exit 1\nrun $N ${G:-2}\n')
    assert [(word.value.only, word.value.confidence) for word in found.words[1:]] == [
        ("8", Confidence.LIKELY), ("2", Confidence.LIKELY),
    ]  # fmt: skip


def test_a_string_with_a_few_possible_texts_is_run_as_each_of_them() -> None:
    first, second = commands("if [ $X = 1 ]; then O=-a; else O=-b; fi\neval run $O\n")
    assert [first.words[1].literal, second.words[1].literal] == ["-a", "-b"]
    assert first.branch != second.branch


def test_places_in_a_script_that_a_string_calls_are_its_own() -> None:
    found = commands('A=1\nbash -c "X=$A bash scripts/other.sh"\n', other="\nrun\n")[-1]
    assert (found.span.file, found.span.line) == ("scripts/other.sh", 2)
