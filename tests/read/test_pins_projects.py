from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distlint.model.span import LineIndex
from distlint.read.pins import read_inline_metadata, read_pipfile, read_pyproject, read_setup_cfg, read_setup_py
from distlint.read.pins.poetry import version_specifier
from distlint.read.pins.reading import PinReading
from distlint.read.pins.requirement import RequirementError


def table(reading: PinReading) -> list[tuple[str, str, str, bool]]:
    """(name, specifier, group, optional) of every pin."""
    return [(pin.name, pin.specifier, pin.environment.partition("#")[2], pin.optional) for pin in reading.pins]


def sources(reading: PinReading, text: str) -> list[str]:
    """The text under every span."""
    index = LineIndex(text)
    return [index.slice(pin.span) for pin in reading.pins]


def test_the_standard_tables_of_a_pyproject():
    text = """\
[build-system]
requires = ["setuptools>=61"]
[project]
requires-python = ">= 3.10"
dependencies = [
  "torch>=2.1,<2.4",  # a comment
  'Flash_Attn ; sys_platform == "linux"',
]
[project.optional-dependencies]
train = ["deepspeed==0.14.0"]
[dependency-groups]
dev = ["pytest", {include-group = "train"}]
"""
    reading = read_pyproject(text, "a/pyproject.toml")
    assert table(reading) == [
        ("torch", ">=2.1,<2.4", "", False),
        ("flash-attn", "", "", False),
        ("deepspeed", "==0.14.0", "train", True),
        ("pytest", "", "dev", True),
        ("setuptools", ">=61", "build", True),
        ("python", ">=3.10", "", False),
    ]
    assert sources(reading, text)[:2] == ["torch>=2.1,<2.4", 'Flash_Attn ; sys_platform == "linux"']
    assert reading.pins[0].environment == "a"


def test_poetry_tables():
    text = """\
[tool.poetry.dependencies]
python = "^3.9"
torch = "^2.1"
numpy = "*"
peft = { version = "~0.10.0", extras = ["All_Of"], optional = true, python = "<3.12", markers = "os_name == 'nt'" }
deepspeed = { git = "https://example.org/microsoft/DeepSpeed.git", tag = "v0.14.0" }
trl = "^0.8 || ^0.11"
triton = [{ version = "2.1.0", python = "<3.11" }, { version = "3.0.0", python = ">=3.11" }]
[tool.poetry.group.dev.dependencies]
pytest = "8.*"
[tool.poetry.dev-dependencies]
black = ">=23, <24"
"""
    reading = read_pyproject(text, "pyproject.toml")
    assert table(reading) == [
        ("python", ">=3.9,<4", "", False),
        ("torch", ">=2.1,<3", "", False),
        ("numpy", "", "", False),
        ("peft", ">=0.10.0,<0.11", "", True),
        ("deepspeed", "", "", False),
        ("trl", "", "", False),
        ("triton", "==2.1.0", "", False),
        ("triton", "==3.0.0", "", False),
        ("black", ">=23,<24", "dev", True),
        ("pytest", "==8.*", "dev", True),
    ]
    by_name = {pin.name: pin for pin in reading.pins}
    assert by_name["peft"].extras == ("all-of",)
    assert by_name["peft"].marker == "(os_name == 'nt') and python_version < \"3.12\""
    assert by_name["deepspeed"].url == "git+https://example.org/microsoft/DeepSpeed.git@v0.14.0"
    assert by_name["trl"].dynamic
    assert sources(reading, text)[1] == "^2.1"


def test_pdm_uv_hatch_and_setuptools_tables():
    text = """\
[project]
dependencies = ["torch", "megatron-core>=0.8"]
[tool.pdm.dev-dependencies]
test = ["pytest"]
[tool.uv]
dev-dependencies = ["ruff"]
constraint-dependencies = ["torch<2.3"]
[tool.uv.sources]
megatron_core = { git = "https://example.org/NVIDIA/Megatron-LM" }
torch = { index = "cu121" }
[tool.hatch.envs.gpu]
dependencies = ["trl==0.9.6"]
[tool.setuptools.dynamic]
dependencies = { file = ["requirements.txt", "more.txt"] }
"""
    reading = read_pyproject(text, "pyproject.toml")
    assert [(pin.name, pin.origin, pin.dynamic) for pin in reading.pins] == [
        ("torch", "pyproject", False),
        ("megatron-core", "pyproject", True),
        ("pytest", "pyproject", False),
        ("ruff", "pyproject", False),
        ("torch", "constraints", False),
        ("trl", "pyproject", False),
    ]
    assert [include.path for include in reading.includes] == ["requirements.txt", "more.txt"]


def test_odd_pyprojects_are_read_as_far_as_they_go():
    text = (
        '[project]\ndependencies = ["torch>>2", 5, ["x"], "peft==0.10.0"]\n'
        '[tool.poetry.dependencies]\na = 5\nb = "zz!"\n'
    )
    reading = read_pyproject(text, "pyproject.toml")
    assert [pin.name for pin in reading.pins] == ["peft"]
    assert [error.span.line for error in reading.errors] == [2, 4, 5]
    assert read_pyproject("[project\nx", "pyproject.toml").pins == ()
    assert read_pyproject("project = 3\ntool = []", "pyproject.toml").pins == ()


@pytest.mark.parametrize(
    ("written", "specifier"),
    [
        ("^1.2.3", ">=1.2.3,<2"),
        ("^0.2.3", ">=0.2.3,<0.3"),
        ("^0.0.3", ">=0.0.3,<0.0.4"),
        ("^0.0", ">=0.0,<0.1"),
        ("^0", ">=0,<1"),
        ("~1.2.3", ">=1.2.3,<1.3"),
        ("~1", ">=1,<2"),
        ("~=1.4", "~=1.4"),
        ("1.2.*", "==1.2.*"),
        ("1.2.3", "==1.2.3"),
        ("== 1.2", "==1.2"),
        ("!=1.3.*", "!=1.3.*"),
        (">= 1.2 , < 1.5", ">=1.2,<1.5"),
        (">=1.2 <1.5", ">=1.2,<1.5"),
        ("*", ""),
        ("2.1.0+cu121", "==2.1.0+cu121"),
    ],
)
def test_poetrys_constraints(written, specifier):
    assert version_specifier(written) == specifier


@pytest.mark.parametrize("written", ["two", "^", "1..2", "=>1", "^1.2!"])
def test_what_is_no_constraint(written):
    with pytest.raises(RequirementError):
        version_specifier(written)


def test_setup_cfg():
    text = """\
[metadata]
name = x
[options]
python_requires = >=3.9
install_requires =
    torch>=2.1  # for compile
    # peft
    deepspeed==0.14.0; sys_platform == "linux"
setup_requires = wheel; setuptools
[options.extras_require]
dev = pytest
    ruff
bad =
    ==
"""
    reading = read_setup_cfg(text, "setup.cfg")
    assert table(reading) == [
        ("python", ">=3.9", "", False),
        ("torch", ">=2.1", "", False),
        ("deepspeed", "==0.14.0", "", False),
        ("wheel", "", "build", True),
        ("setuptools", "", "build", True),
        ("pytest", "", "dev", True),
        ("ruff", "", "dev", True),
    ]
    assert sources(reading, text)[1:5] == [
        "torch>=2.1",
        'deepspeed==0.14.0; sys_platform == "linux"',
        "wheel",
        "setuptools",
    ]
    assert [error.span.line for error in reading.errors] == [14]


def test_setup_cfg_that_reads_files():
    reading = read_setup_cfg("[options]\ninstall_requires = file: requirements.txt, more.txt\n", "setup.cfg")
    assert [include.path for include in reading.includes] == ["requirements.txt", "more.txt"]


def test_setup_py_follows_names_sums_and_additions():
    text = """\
import setuptools
base = ["torch>=2.1"]
base += ["numpy"]
if os.environ.get("GPU"):
    base.append("triton==2.1.0")
else:
    base.extend(["openvino"])
extras = {"dev": ["pytest"]}
extras["all"] = extras["dev"] + ["ruff"]
setuptools.setup(
    install_requires=base + list(("peft==0.10.0", *["trl"])) + (["a"] if x else ["b"]),
    extras_require=extras,
    python_requires=">=3.9",
)
"""
    reading = read_setup_py(text, "setup.py")
    assert table(reading) == [
        ("torch", ">=2.1", "", False),
        ("numpy", "", "", False),
        ("triton", "==2.1.0", "", True),
        ("openvino", "", "", True),
        ("peft", "==0.10.0", "", False),
        ("trl", "", "", False),
        ("a", "", "", True),
        ("b", "", "", True),
        ("pytest", "", "dev", True),
        ("pytest", "", "all", True),
        ("ruff", "", "all", True),
        ("python", ">=3.9", "", False),
    ]
    assert sources(reading, text)[0] == "torch>=2.1"


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        ("setup(install_requires=open('requirements.txt').read().split())", ["requirements.txt"]),
        ("with open('reqs.txt') as f:\n    r = f.read().splitlines()\nsetup(install_requires=r)", ["reqs.txt"]),
        ("r = [l for l in open(os.path.join(here, 'a', 'b.txt'))]\nsetup(install_requires=r)", ["a/b.txt"]),
        ("r = (Path(__file__).parent / 'a' / 'b.txt').read_text()\nsetup(install_requires=r)", ["a/b.txt"]),
        ("def f(p):\n    return open(p).read()\nsetup(install_requires=f('x.txt'))", ["x.txt"]),
        ("def f(p, d='req'):\n    return open(os.path.join(d, p))\nsetup(install_requires=f('x.txt'))", ["req/x.txt"]),
        ("def f(p='x.txt'):\n    return [l for l in open(p)]\nsetup(install_requires=f())", ["x.txt"]),
        ("a, b = parse('x.txt')\nsetup(install_requires=a)", ["x.txt"]),
        ("r = r\nsetup(install_requires=r)", []),
        ("setup(install_requires=unknown())", []),
        ("setup(long_description=open('README.txt').read())", []),
    ],
)
def test_setup_py_that_reads_files(body, paths):
    assert [include.path for include in read_setup_py(body, "setup.py").includes] == paths


def test_setup_py_that_works_a_version_out_says_nothing_of_it():
    text = (
        "def wanted():\n    found = ['numpy==1.26.0']\n    found.append(f'torch=={version(name)}')\n    return found\n"
        "print(f'built with {name}')\nsetup(install_requires=wanted() + ['numpy>=1'])\n"
    )
    pins = read_setup_py(text, "setup.py").pins
    assert [(pin.name, pin.specifier) for pin in pins if pin.dynamic] == [("torch", "")]


def test_setup_py_with_keywords_in_a_mapping():
    text = "args = dict(install_requires='''\\ntorch==2.1.0\\nnumpy''')\nsetup(**args)\n"
    assert table(read_setup_py(text, "setup.py")) == [("torch", "==2.1.0", "", False), ("numpy", "", "", False)]


@pytest.mark.parametrize(
    "text",
    [
        "def setup(",
        "a = a + a\nsetup(install_requires=a)",
        "a = b\nb = a\nsetup(install_requires=a, extras_require=a, **a)",
        "a0 = ['x']\n" + "".join(f"a{i + 1} = a{i} + a{i}\n" for i in range(60)) + "setup(install_requires=a60)",
        "d = {}\nd['x'] = d['x'] + d['x']\nsetup(extras_require=d)",
        "setup(install_requires=[f'torch{v}', f'{v}', 5, None, b'x'])",
    ],
)
def test_setup_py_that_makes_no_sense_ends_soon_and_says_nothing(text):
    assert all(pin.name == "x" for pin in read_setup_py(text, "setup.py").pins)


def test_columns_count_characters():
    text = 'setup(install_requires=["é", "torch==2.1.0"])'
    reading = read_setup_py(text.replace('"é", ', '"" + "é"[:0], '), "setup.py")
    assert [pin.span.column for pin in reading.pins] == [text.replace('"é", ', '"" + "é"[:0], ').index("torch") + 1]


def test_pipfile():
    text = """\
[[source]]
url = "https://example.org"
[packages]
torch = "==2.1.0"
numpy = "*"
deepspeed = {version = ">=0.14", extras = ["sparse"]}
[dev-packages]
pytest = "*"
[requires]
python_version = "3.10"
"""
    assert table(read_pipfile(text, "Pipfile")) == [
        ("torch", "==2.1.0", "", False),
        ("numpy", "", "", False),
        ("deepspeed", ">=0.14", "", False),
        ("pytest", "", "dev", True),
        ("python", "==3.10.*", "", False),
    ]


def test_the_block_of_a_script():
    text = (
        "#!/usr/bin/env python\n# /// script\n# requires-python = '>=3.11'\n# dependencies = [\n"
        '#   "torch==2.1.0",\n#\n#   "numpy",\n# ]\n# ///\nimport torch\n'
    )
    reading = read_inline_metadata(text, "run.py")
    assert [(pin.name, pin.specifier, pin.origin) for pin in reading.pins] == [
        ("python", ">=3.11", "script"),
        ("torch", "==2.1.0", "script"),
        ("numpy", "", "script"),
    ]
    assert sources(reading, text) == [">=3.11", "torch==2.1.0", "numpy"]


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        ("# /// script\n# dependencies = ['torch']\n", 0),
        ("x = '# /// script'\n# ///\n", 0),
        ("# /// script\n# dependencies = ['torch']\n# ///\n\n# /// script\n# ///\n", 1),
        ("# /// script\n# dependencies = [\n# ///\n", 1),
        ("# /// other\n# dependencies = ['torch']\n# ///\n", 0),
    ],
)
def test_blocks_that_are_none(text, errors):
    reading = read_inline_metadata(text, "run.py")
    assert reading.pins == ()
    assert len(reading.errors) == errors


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="[]{}=\"'\n.,project dependencies tool poetry#^*|1torch", max_size=80))
def test_any_text_is_read_without_a_crash(text):
    for reader, file in ((read_pyproject, "pyproject.toml"), (read_pipfile, "Pipfile"), (read_setup_cfg, "setup.cfg")):
        reader("[project]\ndependencies=" + text, file)
        reader("[options]\n" + text, file)
    read_setup_py("setup(install_requires=" + text, "setup.py")
    read_inline_metadata("# /// script\n# " + text + "\n# ///\n", "x.py")
