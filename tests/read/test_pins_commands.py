from __future__ import annotations

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distlint.model.span import LineIndex, Span
from distlint.read.pins import pins_from_words, read_dockerfile

HERE = Span("run.sh", 1, 1, 1, 1)


def installed(command: str) -> list[str]:
    """What a command installs, as ``name`` and specifier; a word ``?`` is not known."""
    words = [(None if word == "?" else word, HERE) for word in shlex.split(command)]
    return [pin.name + pin.specifier for pin in pins_from_words(words, "shell", "run.sh").pins]


@pytest.mark.parametrize(
    "command",
    [
        "pip install torch==2.1.0",
        "pip3 install -U torch==2.1.0",
        "pip3.10 install --quiet torch==2.1.0",
        "/opt/venv/bin/pip install torch==2.1.0 -i https://example.org/simple",
        "sudo -H pip install --no-cache-dir torch==2.1.0",
        "MAX_JOBS=4 CUDA=1 pip install torch==2.1.0 --no-build-isolation",
        "env A=1 python -m pip install torch==2.1.0",
        "python3.11 -u -m pip --quiet install torch==2.1.0",
        "uv pip install --system torch==2.1.0",
        "uv --quiet pip install --python 3.11 torch==2.1.0",
        "uv add torch==2.1.0",
        "%pip install torch==2.1.0",
        "pip --proxy x install --extra-index-url https://example.org torch==2.1.0",
        "conda install -y -c pytorch pytorch==2.1.0",
        "mamba create -n env pytorch::pytorch==2.1.0",
    ],
)
def test_commands_that_install(command):
    assert installed(command) == ["torch==2.1.0"]


@pytest.mark.parametrize(
    "command",
    [
        "pip uninstall torch==2.1.0",
        "pip download torch==2.1.0",
        "pip",
        "python -m pip",
        "python train.py pip install torch==2.1.0",
        "echo pip install torch==2.1.0",
        "pip install -t torch",
        "pip install ? .",
        "? install torch",
        "conda activate torch",
        "uv run torch",
        "",
    ],
)
def test_commands_that_do_not(command):
    assert installed(command) == []


def test_unknown_words_and_values_are_passed_over():
    assert installed("pip install ? 'torch>=2.1' --find-links ? numpy") == ["torch>=2.1", "numpy"]


def test_includes_of_a_command():
    words = [
        (word, HERE) for word in shlex.split("pip install -r a.txt --requirement=b.txt -c limits.txt -rc.txt -e .")
    ]
    includes = pins_from_words(words, "shell", "run.sh").includes
    assert [(i.path, i.constraint) for i in includes] == [
        ("a.txt", False),
        ("b.txt", False),
        ("limits.txt", True),
        ("c.txt", False),
    ]


def docker(text: str) -> list[tuple[str, str, str]]:
    index = LineIndex(text)
    return [(pin.name, pin.specifier, index.slice(pin.span)) for pin in read_dockerfile(text, "Dockerfile").pins]


def test_run_lines_with_continuations_comments_and_quotes():
    text = (
        "RUN apt-get update && \\\n    # the framework\n    pip install torch==2.1.0 \\\n\n"
        "      'deepspeed>=0.14' \"numpy<2\" && rm -rf x\n"
    )
    assert docker(text) == [
        ("torch", "==2.1.0", "torch==2.1.0"),
        ("deepspeed", ">=0.14", "deepspeed>=0.14"),
        ("numpy", "<2", "numpy<2"),
    ]


@pytest.mark.parametrize(
    ("image", "pin"),
    [
        ("pytorch/pytorch:2.2.0-cuda12.1-cudnn8-devel", ("torch", "==2.2.0")),
        ("docker.io/pytorch/pytorch:2.2-cuda12.1", ("torch", "==2.2.*")),
        ("nvcr.io/nvidia/pytorch:24.02-py3", ("torch", "==2.3.0a0+ebedce2")),
        ("--platform=linux/amd64 python:3.10-slim AS base", ("python", "==3.10.*")),
    ],
)
def test_images_that_bring_a_package(image, pin):
    name, specifier, _ = docker(f"FROM {image}\n")[0]
    assert (name, specifier) == pin


@pytest.mark.parametrize(
    "image",
    [
        "pytorch/pytorch:latest",
        "pytorch/pytorch",
        "someone/pytorch:2.2.0-x",
        "nvidia/pytorch:99.01-py3",
        "base",
        "$IMAGE",
        "a@sha256:0",
    ],
)
def test_images_that_tell_nothing(image):
    assert docker(f"FROM {image}\n") == []


def test_arguments_and_environment_are_filled_in():
    text = (
        "ARG TORCH=2.1.0\nARG OPEN\nFROM pytorch/pytorch:${TORCH}-cuda12.1\nENV PEFT 0.10.0\n"
        'ENV A=1 EXTRA="trl==0.9.6 numpy"\n'
        "RUN pip install torch==${TORCH} peft==$PEFT deepspeed==${DS:-0.14.0} accelerate==$OPEN $EXTRA $UNSET\n"
    )
    pins = read_dockerfile(text, "Dockerfile").pins
    assert [(pin.name, pin.specifier, pin.dynamic) for pin in pins if "cuda" not in pin.name] == [
        ("torch", "==2.1.0", False),
        ("torch", "==2.1.0", False),
        ("peft", "==0.10.0", False),
        ("deepspeed", "==0.14.0", False),
        ("accelerate", "", True),
        ("trl", "==0.9.6", False),
        ("numpy", "", False),
    ]
    assert not read_dockerfile(text, "Dockerfile").errors


def test_exec_form_here_documents_and_mounts():
    text = (
        'RUN ["pip", "install", "torch==2.1.0"]\n'
        "RUN --mount=type=cache,target=/var/cache/pip pip install peft==0.10.0\n"
        "RUN <<EOF\nset -e\npip install trl==0.9.6\n# pip install no\nEOF\n"
        "COPY <<-'X' /etc/pip.conf\npip install never\nX\n"
        "RUN pip install numpy\n"
    )
    assert [name for name, _, _ in docker(text)] == ["torch", "peft", "trl", "numpy"]


def test_an_unquoted_bracket_is_a_redirection():
    assert docker("RUN pip install torch>=2.0 numpy\n") == [("torch", "", "torch"), ("numpy", "", "numpy")]


def test_conditions_substitutions_and_windows_line_ends():
    text = (
        'RUN if [ "$GPU" = 1 ]; then pip install torch==2.1.0; else pip install torch==2.2.0; fi\r\n'
        "RUN V=$(pip install never) ; pip install peft==0.10.0 \\\r\n  trl && echo `pip install never`\r\n"
    )
    assert [name + specifier for name, specifier, _ in docker(text)] == [
        "torch==2.1.0",
        "torch==2.2.0",
        "peft==0.10.0",
        "trl",
    ]


def test_backquote_as_escape():
    assert docker("# escape=`\nRUN pip install `\n  torch==2.1.0\n") == [("torch", "==2.1.0", "torch==2.1.0")]


def test_commented_out_instructions_are_no_pins():
    assert docker('# RUN pip install torch==2.1.0\nLABEL x="pip install torch"\n') == []


def test_growing_variables_stay_bounded():
    text = (
        "ENV A=aaaaaaaaaa\n"
        + "ENV A=$A$A$A$A$A$A$A$A$A$A\n" * 50
        + "RUN pip install "
        + "$A" * 2000
        + " torch==2.1.0\n"
    )
    assert docker(text)[-1][0] == "torch"


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="RUN pip install torch=2.1\\\n'\"$({`)}<>EOF&|;#[],ARG", max_size=120))
def test_any_dockerfile_is_read_without_a_crash(text):
    read_dockerfile("RUN pip install " + text, "Dockerfile")
