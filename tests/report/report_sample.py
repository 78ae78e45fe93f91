"""A report with everything that renderers must cope with, on files with odd names and odd contents."""

from __future__ import annotations

from distlint.model.facts import Suppression
from distlint.model.finding import (
    Edit,
    Finding,
    Fix,
    FixPlan,
    Note,
    Operation,
    ProjectError,
    Related,
    Safety,
    Severity,
)
from distlint.model.report import Report, Suppressed
from distlint.model.rule import CheckSpec, FixSpec, Rule
from distlint.model.span import LineIndex, Span
from distlint.model.value import Confidence

TEXTS = {
    "ds_config.json": '{\n  "zero_optimization": {\n    "stage": 2,\n    "offload_param": {"device": "cpu"}\n  }\n}\n',
    "train.py": (
        "import torch\n"
        "import deepspeed\n"
        "\n"
        "def main():\n"
        '\tmodel = build("größe 模型")  # wide\n'
        "\tengine, *_ = deepspeed.initialize(\n"
        "\t\tmodel=model,\n"
        "\t\tparameters=model.parameters(),\n"
        '\t\tconfig="ds_config.json",\n'
        "\t)\n"
        "\tif torch.distributed.get_rank() == 0:\n"
        "\t\ttorch.distributed.barrier()\n"
    ),
    "run me #1/ünï.sh": "#!/bin/sh\n" + "FLAGS='" + "a" * 300 + "' deepspeed --num_gpus 8 train.py " + "b" * 300 + "\n",
    "evil\x1b[2J.py": "x = 1  # \x1b[31mred \u202e reversed ##[error]boo\n::error::injected\n",
}


def span(file: str, text: str, occurrence: int = 0) -> Span:
    """The span of the given text in a sample file."""
    content = TEXTS[file]
    start = -1
    for _ in range(occurrence + 1):
        start = content.index(text, start + 1)
    return LineIndex(content).span(file, start, start + len(text))


def rule(code: str, name: str, severity: Severity = Severity.ERROR, fix: FixSpec | None = None, help: str = "") -> Rule:  # noqa: A002
    """A rule with all of its fields filled."""
    return Rule(
        code=code,
        name=name,
        framework="deepspeed",
        summary=f"Summary of {name}",
        explanation=f"What {name} sees.\n\nWhy | it matters.",
        silence="Where a value is unknown.",
        severity=severity,
        confidence=Confidence.CERTAIN,
        bites="start-up",
        root_cause="configuration-error",
        symptom="crash",
        stage="initialization",
        fix_pattern="change-setting",
        status="stable",
        since="0.1",
        versions={"deepspeed": ">=0.3.16"},
        evidence=("example/project#1", "example/project: file.py, function"),
        check=CheckSpec(subject="deepspeed", when="true"),
        help=help,
        fix=fix,
    )


RULES = {
    "DS103": rule("DS103", "param-offload-needs-zero3", fix=FixSpec(Safety.UNSAFE, "set the stage to 3")),
    "DS201": rule("DS201", "optimizer-missing", Severity.WARNING),
    "PT501": rule("PT501", "collective-on-some-ranks"),
    "RUN101": rule("RUN101", "too-many-processes", Severity.NOTE, FixSpec(Safety.SAFE)),
}

STAGE_PLAN = FixPlan(
    "set `stage` to 3",
    Safety.UNSAFE,
    (Operation("set-value", span("ds_config.json", "2"), {"value": 3}),),
)
STAGE_FIX = Fix("set `stage` to 3", Safety.UNSAFE, (Edit(span("ds_config.json", "2"), "3"),))

FINDINGS = (
    Finding(
        "DS103",
        "`offload_param` needs ZeRO stage 3, but `stage` is 2",
        span("ds_config.json", '"offload_param"'),
        Severity.ERROR,
        Confidence.CERTAIN,
        related=(
            Related(span("ds_config.json", "2"), "`stage` is 2"),
            Related(span("train.py", '"ds_config.json"'), "loaded here [1](2)"),
        ),
        help="the engine refuses to start: set `stage` to 3, or remove `offload_param`",
        plan=STAGE_PLAN,
        symbol="zero_optimization.offload_param",
        runs=("launch.sh:3", "slurm.sh:9"),
    ),
    Finding(
        "RUN101",
        "8 processes, but 4 GPUs",
        span("run me #1/ünï.sh", "--num_gpus 8"),
        Severity.NOTE,
        Confidence.POSSIBLE,
        plan=FixPlan("pass `--num_gpus 4`", Safety.SAFE, ()),
    ),
    Finding(
        "PT501",
        "`barrier` is reached by rank 0 only\nthe others: wait, for ever 100%",
        span("train.py", "torch.distributed.barrier()"),
        Severity.ERROR,
        Confidence.LIKELY,
        related=(Related(span("train.py", "torch.distributed.get_rank() == 0"), "differs between ranks"),),
        symbol="main",
        flow=True,
    ),
    Finding(
        "DS201",
        "no optimizer is given",
        Span("train.py", 6, 15, 10, 3),
        Severity.WARNING,
        Confidence.CERTAIN,
        related=(Related(span("train.py", '"größe 模型"'), "the model"),),
        symbol="main",
    ),
    Finding(
        "XX999",
        "a rule without a \x1b]0;title\x07 file",
        span("evil\x1b[2J.py", "1"),
        Severity.WARNING,
        Confidence.CERTAIN,
    ),
    Finding("DS201", "file is gone", Span("gone.py", 1, 1, 1, 1), Severity.WARNING, Confidence.CERTAIN),
)

SUPPRESSED = (
    Suppressed(
        Finding(
            "DS201",
            "known",
            span("train.py", "deepspeed.initialize"),
            Severity.WARNING,
            Confidence.CERTAIN,
            symbol="main",
        ),
        Suppression("ignore", ("DS201",), "we know", span("train.py", "# wide"), (5, 5)),
    ),
    Suppressed(
        Finding("DS103", "known too", span("ds_config.json", '"stage"'), Severity.ERROR, Confidence.CERTAIN),
        None,
        "agreed",
    ),
)

ERRORS = (
    ProjectError("broken one.yaml", "is not UTF-8 text: byte 3 does not decode", 7),
    ProjectError("", "the rule DS999 failed", internal=True),
)


def text_of(file: str) -> str:
    """The text of a sample file; ``KeyError`` for others, as from a project that lost a file."""
    return TEXTS[file]


def sample_report(root: str = "/project") -> Report:
    """The whole sample."""
    return Report(
        root=root,
        findings=FINDINGS,
        rules=RULES,
        text=text_of,
        suppressed=SUPPRESSED,
        errors=ERRORS,
        notes=(
            Note(span("train.py", '"ds_config.json"'), "value of `config` is not known: comes from a call"),
            Note(Span("big.json", 1, 1, 1, 1), "larger than 4 MiB"),
        ),
        statistics={"files": 5, "read": 4},
    )


def empty_report(root: str = "/project") -> Report:
    """A report of a project without faults."""
    return Report(root=root, findings=(), rules={}, text=text_of)
