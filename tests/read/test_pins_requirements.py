from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.markers import Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from distlint.model.span import LineIndex
from distlint.read.pins import read_requirements
from distlint.read.pins.requirement import RequirementError, parse_requirement


def pins(text: str, file: str = "requirements.txt") -> list[tuple[str, str, str]]:
    """(name, specifier, text under the span) of every pin."""
    index = LineIndex(text)
    return [(pin.name, pin.specifier, index.slice(pin.span)) for pin in read_requirements(text, file).pins]


def test_a_requirement_with_everything():
    text = "\n  Flash_Attn[Extra_A, b]  >= 2.0 ,<3 ; python_version < '3.12'   # why\n"
    (pin,) = read_requirements(text, "env/requirements.txt").pins
    assert (pin.name, pin.specifier, pin.extras) == ("flash-attn", ">=2.0,<3", ("b", "extra-a"))
    assert (pin.marker, pin.origin, pin.environment) == ("python_version < '3.12'", "requirements", "env")
    assert LineIndex(text).slice(pin.span) == "Flash_Attn[Extra_A, b]  >= 2.0 ,<3 ; python_version < '3.12'"


def test_comments_options_and_blank_lines_are_no_pins():
    text = "# torch==1\n--index-url https://example.org/simple\n-i x\n--pre\n\n   # b\ntorch==2.1.0 #c\nnumpy\n"
    assert pins(text) == [("torch", "==2.1.0", "torch==2.1.0"), ("numpy", "", "numpy")]


def test_a_hash_sign_within_a_word_is_no_comment():
    ((name, _, text),) = pins("git+https://example.org/o/r.git#egg=thing # really\n")
    assert (name, text) == ("thing", "git+https://example.org/o/r.git#egg=thing")


def test_hashes_on_continued_lines_are_cut_off():
    text = "torch==2.1.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\nnumpy==1.26.4 --hash=sha256:cc\n"
    assert pins(text) == [("torch", "==2.1.0", "torch==2.1.0"), ("numpy", "==1.26.4", "numpy==1.26.4")]


def test_a_requirement_may_go_over_lines():
    text = "torch>=2.0,\\\r\n  <2.3\r\nnumpy\\"
    (first, second) = read_requirements(text, "r.txt").pins
    assert (first.specifier, first.span.line, first.span.end_line, first.span.end_column) == (">=2.0,<2.3", 1, 2, 7)
    assert second.name == "numpy"


def test_a_backslash_at_the_end_of_a_comment_does_not_continue_it():
    assert pins("# note \\\ntorch\n") == [("torch", "", "torch")]


@pytest.mark.parametrize(
    ("line", "path", "constraint"),
    [
        ("-r base.txt", "base.txt", False),
        ("-rbase.txt", "base.txt", False),
        ("--requirement=base.txt # all", "base.txt", False),
        ("--requirement  ../a b.txt", "../a b.txt", False),
        ("-c limits.txt", "limits.txt", True),
        ("--constraint limits.txt", "limits.txt", True),
    ],
)
def test_includes(line, path, constraint):
    reading = read_requirements(line + "\n", "requirements.txt")
    (include,) = reading.includes
    assert (include.path, include.constraint) == (path, constraint)
    assert LineIndex(line).slice(include.span) == path


def test_an_include_from_the_network_is_left_out():
    assert read_requirements("-r https://example.org/r.txt\n", "r.txt").includes == ()


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("-e git+https://example.org/microsoft/DeepSpeed.git@v0.14.0#egg=deepspeed", "deepspeed"),
        ("git+ssh://git@example.org/NVIDIA/TransformerEngine@stable", "transformer-engine"),
        ("git+https://example.org/NVIDIA/Megatron-LM.git@core_v0.12.0", "megatron-core"),
        ("https://example.org/whl/torch-2.0.0%2Bcu118-cp310-cp310-linux_x86_64.whl", "torch"),
        ("./wheels/flash_attn-2.5.6-cp310-cp310-linux_x86_64.whl", "flash-attn"),
        ("https://example.org/owner/apex/archive/refs/tags/v1.2.zip", "apex"),
        ("torch @ https://example.org/x.whl", "torch"),
    ],
)
def test_addresses_tell_the_package(line, name):
    pin, *_ = read_requirements(line, "r.txt").pins
    assert (pin.name, pin.specifier) == (name, "")
    assert pin.url
    assert not read_requirements(line, "r.txt").errors


@pytest.mark.parametrize(
    "line", ["-e .", "-e .[dev]", ".", "./sub", "../other", "git+https://e.org/o/r.git#subdirectory=x"]
)
def test_what_names_no_package_is_no_pin_and_no_error(line):
    reading = read_requirements(line, "r.txt")
    assert (reading.pins, reading.errors) == ((), ())


@pytest.mark.parametrize("line", ["torch==${VERSION}", "torch>=$VERSION", "torch=={version}", "torch[a]==<VERSION>"])
def test_a_version_from_elsewhere_makes_the_pin_dynamic(line):
    (pin,) = read_requirements(line, "r.txt").pins
    assert (pin.name, pin.specifier, pin.dynamic) == ("torch", "", True)


def test_a_bad_line_is_an_error_and_the_rest_is_read():
    text = "torch==\ndiffusers>==0.5\nnumpy 1.2\n<<<<<<< HEAD\npeft==0.10.0\n"
    reading = read_requirements(text, "r.txt")
    assert [pin.name for pin in reading.pins] == ["peft"]
    assert [error.span.line for error in reading.errors] == [1, 2, 3, 4]
    assert "`torch==`" in reading.errors[0].message


@pytest.mark.parametrize(
    "text", ["a" * 5000, "a" + "[" * 1000, "a; " + "(" * 1900 + "os_name", "\\\n" * 500, "-" * 3000]
)
def test_hostile_lines_are_refused_quickly(text):
    assert all(pin.name != "a" for pin in read_requirements(text, "r.txt").pins)


def test_constraints_files_have_their_own_origin():
    (pin,) = read_requirements("torch<2.3\n", "ci/constraints-gpu.txt").pins
    assert pin.origin == "constraints"


NAMES = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,8}[A-Za-z0-9])?", fullmatch=True)
RELEASES = st.from_regex(r"[0-9]{1,3}(\.[0-9]{1,3}){0,3}", fullmatch=True)
VERSIONS = st.builds("{}{}".format, RELEASES, st.sampled_from(["", "a1", "rc2", ".post1", ".dev3", "rc1.post2.dev3"]))
CLAUSES = st.one_of(
    st.builds(
        "{}{}{}".format, st.sampled_from(["==", "!=", ">=", "<=", "<", ">"]), st.sampled_from(["", " "]), VERSIONS
    ),
    st.builds("{}{}.*".format, st.sampled_from(["==", "!="]), RELEASES),
    st.builds("~={}.{}".format, RELEASES, st.integers(0, 9)),
    st.builds("=={}+{}".format, VERSIONS, st.sampled_from(["cu121", "cpu", "abc.1"])),
)
ATOMS = st.builds(
    "{} {} {}".format,
    st.sampled_from(["python_version", "sys_platform", "platform_machine", "extra"]),
    st.sampled_from(["==", "!=", "<", ">="]),
    st.sampled_from(["'3.9'", '"linux"', "'x86_64'"]),
)
MARKERS = st.one_of(
    ATOMS,
    st.builds("{} {} {}".format, ATOMS, st.sampled_from(["and", "or"]), ATOMS),
    st.builds("({} or {}) and {}".format, ATOMS, ATOMS, ATOMS),
)
LINES = st.builds(
    lambda name, extras, space, clauses, brackets, marker: (
        name
        + (f"[{', '.join(extras)}]" if extras else "")
        + space
        + (f"({','.join(clauses)})" if brackets and clauses else " , ".join(clauses))
        + (f" ; {marker}" if marker else "")
    ),
    NAMES,
    st.lists(NAMES, max_size=2),
    st.sampled_from(["", " "]),
    st.lists(CLAUSES, max_size=3),
    st.booleans(),
    st.one_of(st.just(""), MARKERS),
)


@settings(max_examples=150, deadline=None)
@given(LINES)
def test_valid_requirements_are_read_as_packaging_reads_them(line):
    expected = Requirement(line)
    found = parse_requirement(line)
    assert found.name == canonicalize_name(expected.name)
    assert SpecifierSet(found.specifier) == expected.specifier
    assert found.extras == tuple(sorted({canonicalize_name(extra) for extra in expected.extras}))
    assert str(Marker(found.marker) if found.marker else None) == str(expected.marker)
    assert not found.dynamic


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="aZ09.-_ []()<>=!~,;*'\"\\@#+/", max_size=25))
def test_what_packaging_refuses_is_refused_or_one_of_pips_own_spellings(line):
    try:
        found = parse_requirement(line)
    except RequirementError:
        return
    try:
        Requirement(line.strip())
    except InvalidRequirement:
        assert found.url or found.dynamic or not found.name


@settings(max_examples=100, deadline=None)
@given(
    st.lists(LINES, min_size=1, max_size=5),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["", " # note", "  --hash=x:y"]),
)
def test_spans_cover_exactly_the_requirement(lines, newline, tail):
    text = newline.join(line + tail for line in lines)
    assert [source for _, _, source in pins(text)] == [line.strip() for line in lines]


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_read_without_a_crash(text):
    index = LineIndex(text)
    for pin in read_requirements(text, "r.txt").pins:
        assert 1 <= pin.span.line <= pin.span.end_line <= index.line_count
