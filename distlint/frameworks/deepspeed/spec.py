"""How DeepSpeed is recognised, imported and launched."""

from __future__ import annotations

from distlint.frameworks.deepspeed.launchers import LAUNCHERS
from distlint.model.framework import FrameworkSpec

SPEC = FrameworkSpec(
    name="deepspeed",
    prefix="DS",
    packages=("deepspeed",),
    modules=("deepspeed",),
    literals=(b"deepspeed", b"zero_optimization"),
    config_keys=(b"zero_optimization", b"train_micro_batch_size_per_gpu", b"train_batch_size", b"deepspeed"),
    words=(r"backward\(", r"\.step\(", r"save_checkpoint", r"generate\("),
    launchers=LAUNCHERS,
)
