"""Calls that come to functions and classes by a table."""

from __future__ import annotations

from pathlib import Path

from distlint.engine import Request, analyse
from distlint.settings import load_settings

PLUGIN = "from colossalai.booster.plugin import GeminiPlugin, HybridParallelPlugin\n"


def codes(folder: Path, text: str, options: str = "") -> set[tuple[str, int]]:
    (folder / ".git").mkdir()
    (folder / "requirements.txt").write_text("colossalai==0.5.0\n")
    (folder / "train.py").write_text("import argparse\n\nimport colossalai\n" + PLUGIN + text)
    (folder / "run.sh").write_text(f"torchrun --nproc_per_node 4 train.py {options}\n")
    report = analyse(Request((folder,), load_settings(folder), jobs=1, use_cache=False))
    return {(finding.code, finding.span.line) for finding in report.findings}


MAKERS = """
def small(**more):
    return HybridParallelPlugin(pp_size=1, **more)


def deep(**more):
    return small(tp_size=%s, **more)


MAKERS = {"small": small, "deep": deep}
parser = argparse.ArgumentParser()
parser.add_argument("--plugin", default="small")
args = parser.parse_args()
colossalai.launch_from_torch()
plugin = MAKERS[args.plugin](precision="bf16")
"""


def test_what_a_table_calls_gets_the_arguments_of_the_call(tmp_path: Path) -> None:
    assert codes(tmp_path, MAKERS % 3, "--plugin deep") == {("CAI101", 11)}


def test_what_a_run_does_not_look_up_is_not_called_in_it(tmp_path: Path) -> None:
    assert ("CAI101", 11) not in codes(tmp_path, MAKERS % 3, "--plugin small")


OPTIMIZERS = """from colossalai.nn.optimizer import CAME, HybridAdam

OPTIMIZERS = {"came": (CAME, {"weight_decay": 0.1}), "adam": (HybridAdam, {})}
parser = argparse.ArgumentParser()
parser.add_argument("--optimizer", default="adam")
args = parser.parse_args()
kind, options = OPTIMIZERS[args.optimizer]
colossalai.launch_from_torch()
optimizer = kind([], **options)
"""


def test_a_class_and_its_options_may_stand_side_by_side(tmp_path: Path) -> None:
    assert {code for code, _ in codes(tmp_path, OPTIMIZERS, "--optimizer came")} == {"CAI151"}


def test_another_class_of_the_table_is_not_meant(tmp_path: Path) -> None:
    assert not codes(tmp_path, OPTIMIZERS)


def test_what_is_asked_of_a_large_table_is_seen_in_the_run(tmp_path: Path) -> None:
    more = "".join(f'MAKERS["m{number}"] = small\n' for number in range(3))
    entries = ", ".join(f'"n{number}": small' for number in range(80))
    text = (MAKERS % 3).replace('"deep": deep}', f'"deep": deep, {entries}}}\n{more}')
    assert ("CAI101", 11) in codes(tmp_path, text, "--plugin deep")


ASKED = """import colossalai.nn.lr_scheduler as schedulers

parser = argparse.ArgumentParser()
parser.add_argument("--schedule", default="CosineAnnealingLR")
args = parser.parse_args()
colossalai.launch_from_torch()
kind = getattr(schedulers, args.schedule)
schedule = kind(None, total_steps=10)
"""


def test_a_class_may_be_asked_of_its_module_by_its_name(tmp_path: Path) -> None:
    assert ("CAI154", 12) in codes(tmp_path, ASKED, "--schedule MultiStepWarmupLR")


def test_another_class_of_the_module_is_another_call(tmp_path: Path) -> None:
    assert ("CAI154", 12) not in codes(tmp_path, ASKED)


KEYWORDS = """from colossalai.nn.lr_scheduler import CosineAnnealingWarmupLR, LinearWarmupLR

SCHEDULES = {"cosine": CosineAnnealingWarmupLR, "linear": LinearWarmupLR}


def make(name, **options):
    return SCHEDULES[name](None, 10, **options)


parser = argparse.ArgumentParser()
parser.add_argument("--schedule", default="linear")
args = parser.parse_args()
colossalai.launch_from_torch()
schedule = make(args.schedule, warmup_ratio=0.1)
"""


def test_an_argument_that_what_is_looked_up_does_not_take_is_found(tmp_path: Path) -> None:
    assert ("CAI226", 18) in codes(tmp_path, KEYWORDS, "--schedule cosine")


def test_what_swallows_all_keywords_takes_it(tmp_path: Path) -> None:
    assert ("CAI226", 18) not in codes(tmp_path, KEYWORDS)
