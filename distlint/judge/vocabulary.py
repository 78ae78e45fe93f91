"""The words that rule files may use, as the bug studies of this field coined them."""

from __future__ import annotations

CAUSES_BY_DIGIT = {
    "0": frozenset({"suppression"}),
    "1": frozenset({"configuration-error"}),
    "2": frozenset({"api-misuse"}),
    "3": frozenset({"missing-precondition"}),
    "4": frozenset({"version-incompatibility"}),
    "5": frozenset({"communication-error", "concurrency-error"}),
    "6": frozenset({"allocation-error"}),
    "7": frozenset({"tensor-error"}),
    "8": frozenset({"performance"}),
}
"""The first digit of a built-in code says the root cause; digit 0 is for findings about distlint's comments."""

ROOT_CAUSES = frozenset().union(*CAUSES_BY_DIGIT.values())

SYMPTOMS = frozenset(
    {
        "build-failure",
        "crash",
        "divergence",
        "hang",
        "import-failure",
        "incorrect-functionality",
        "install-failure",
        "out-of-memory",
        "poor-performance",
        "silent-ignore",
    }
)

STAGES = frozenset(
    {
        "installation",
        "import",
        "launch",
        "communication-setup",
        "initialization",
        "data-preparation",
        "model-preparation",
        "training",
        "evaluation",
        "checkpointing",
        "resuming",
        "inference",
        "shutdown",
    }
)

BITES = frozenset({"install", "import", "start-up", "first-step", "checkpoint", "resume", "end", "never"})

FIX_PATTERNS = frozenset(
    {
        "add",
        "api",
        "communication",
        "condition",
        "environment",
        "launch",
        "layout",
        "order",
        "parameter",
        "remove",
        "version",
    }
)

STATUSES = frozenset({"preview", "stable", "deprecated"})
SEVERITIES = frozenset({"error", "warning", "note"})
CONFIDENCES = frozenset({"certain", "likely", "possible"})
SAFETIES = frozenset({"safe", "unsafe", "suggestion"})

FIX_STEPS: dict[str, type | tuple[type, ...]] = {
    "set": dict,
    "remove": list,
    "rename": dict,
    "move": dict,
    "set-argument": dict,
    "remove-argument": list,
    "rename-argument": dict,
    "replace-callee": str,
    "replace-import": str,
    "set-environment": dict,
    "set-specifier": dict,
}
"""The steps of a ``[fix]`` table and the TOML type of each; ``judge.plans`` turns them into operations."""

PROVEN_SYMPTOMS: dict[str, frozenset[str]] = {
    "hang": frozenset({"hang"}),
    "exception": frozenset({"crash", "import-failure", "out-of-memory"}),
    "diverging-ranks": frozenset({"divergence", "incorrect-functionality"}),
    "wrong-number": frozenset({"divergence", "incorrect-functionality", "poor-performance", "silent-ignore"}),
}
"""What a run can show, and the symptoms of rules that it bears out."""

LAUNCHERS = frozenset({"torchrun", "spawn", "accelerate", "deepspeed"})
"""How the script of a ``[proof]`` is started; ``spawn``: it starts its processes itself."""

EVERYWHERE = frozenset({"run", "distlint"})
"""What a rule may name as its framework when it belongs to none: such rules apply to every project."""
