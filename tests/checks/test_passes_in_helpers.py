"""Backward passes, steps and clips that helpers make, and tests of the pass in a variable, in a function or as an early way out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.fixture_cases import check

HEAD = """
import torch
from accelerate import Accelerator
from torch.nn.functional import mse_loss
from torch.utils.data import DataLoader, TensorDataset

PASSES = 2


def main():
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=PASSES)
    loader = DataLoader(TensorDataset(torch.randn(32, 4), torch.randn(32, 1)), batch_size=4)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
HELPERS = re.split(
    r"^def ",
    """
def do_backward(accelerator, loss):
    accelerator.backward(loss)
def do_plain(loss):
    loss.backward()
def do_step(optimizer):
    optimizer.step()
def do_both(accelerator, loss, optimizer):
    do_backward(accelerator, loss)
    do_step(optimizer)
def do_clip(accelerator, model):
    accelerator.clip_grad_norm_(model.parameters(), 0.5)
def do_clip_last(accelerator, model, last):
    if not last:
        return
    accelerator.clip_grad_norm_(model.parameters(), 0.5)
def is_last(accelerator):
    return accelerator.sync_gradients
def mean_of(loss, n):
    return loss / n
def share_of(model, x, y):
    return mse_loss(model(x), y) * (1.0 / PASSES)
def share_of_model(model, x, y):
    return share_of(model, x, y)
""",
    flags=re.MULTILINE,
)[1:]
PREPARED = "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)"
OWN = "model, loader = accelerator.prepare(model, loader)"
LOOP = """
for x, y in loader:
    {block}:
        loss = {loss}
        {passes}
        optimizer.zero_grad()
"""
COUNTED = "with accelerator.accumulate(model)"
BARE = "if True"
LOSS = "mse_loss(model(x), y)"
LAST = "last = accelerator.sync_gradients\n        "
CLIP = "accelerator.clip_grad_norm_(model.parameters(), 0.5)"
BACK, STEP = "do_backward(accelerator, loss)\n        ", "do_step(optimizer)"
PROGRAMS = [
    ("clip in a helper", PREPARED, COUNTED, LOSS, f"{BACK}do_clip(accelerator, model)\n        {STEP}", "HF214"),
    ("clip by a flag", PREPARED, COUNTED, LOSS, f"{LAST}{BACK}if last:\n            {CLIP}\n        {STEP}", ""),
    (
        "clip by a function",
        PREPARED,
        COUNTED,
        LOSS,
        f"{BACK}if is_last(accelerator):\n            {CLIP}\n        {STEP}",
        "",
    ),
    (
        "clip by a flag that a helper gets",
        PREPARED,
        COUNTED,
        LOSS,
        f"{BACK}do_clip_last(accelerator, model, accelerator.sync_gradients)\n        {STEP}",
        "",
    ),
    ("step of the program's own in a helper", OWN, COUNTED, LOSS, f"{BACK}{STEP}", "HF210"),
    ("step behind a flag", OWN, COUNTED, LOSS, f"{LAST}{BACK}if last:\n            {STEP}", ""),
    ("steps that nobody counts", PREPARED, BARE, LOSS, "do_both(accelerator, loss, optimizer)", "HF212"),
    ("steps multiplied", PREPARED, BARE, f"{LOSS} * PASSES", "do_both(accelerator, loss, optimizer)", ""),
    ("divided before the helper", PREPARED, COUNTED, f"{LOSS} / PASSES", f"{BACK}{STEP}", "HF213"),
    ("divided by a helper", PREPARED, COUNTED, f"mean_of({LOSS}, PASSES)", f"{BACK}{STEP}", "HF213"),
    ("divided by something else", PREPARED, COUNTED, f"mean_of({LOSS}, 7)", f"{BACK}{STEP}", ""),
    ("backward in a helper", PREPARED, COUNTED, LOSS, f"do_plain(loss)\n        {STEP}", "HF204"),
    (
        "scaled before the helper",
        PREPARED,
        COUNTED,
        "share_of_model(model, x, y)",
        f"do_plain(loss)\n        {STEP}",
        "",
    ),
]


@pytest.mark.parametrize(
    ("what", "prepared", "block", "loss", "passes", "code"), PROGRAMS, ids=[one[0] for one in PROGRAMS]
)
def test_what_is_said(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    what: str,
    prepared: str,
    block: str,
    loss: str,
    passes: str,
    code: str,
) -> None:
    body = prepared + LOOP.format(block=block, loss=loss, passes=passes)
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    named = lines
    for helper in reversed(HELPERS):
        if helper.partition("(")[0] in named:
            named += helper
    defined = "".join(f"def {one}" for one in HELPERS if one in named)
    (tmp_path / "train.py").write_text(
        defined + HEAD + lines + '\n\nif __name__ == "__main__":\n    main()\n', encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    found = {finding["code"] for finding in check()["findings"]}
    assert found == ({code} if code else set()), what
