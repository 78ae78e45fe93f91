"""The launchers' descriptions against the options that their releases have."""

from __future__ import annotations

import pytest

from distlint.checks.launcher_release import LauncherOptions
from distlint.frameworks import specs
from distlint.knowledge.release_tables import section
from distlint.model.framework import LauncherSpec

PROGRAMS: dict[str, int] = section("launcher_options", 0)["programs"]
LAUNCHERS = {launcher.name: launcher for spec in specs() for launcher in spec.launchers if launcher.name in PROGRAMS}


@pytest.mark.parametrize("launcher", LAUNCHERS.values(), ids=LAUNCHERS.keys())
def test_every_option_of_any_release_is_described(launcher: LauncherSpec) -> None:
    described = {flag.replace("_", "-") for option in launcher.options for flag in option.flags}
    table = section("launcher_options", PROGRAMS[launcher.name])["names"]
    assert {flag.replace("_", "-") for flag in table} - {""} <= described


@pytest.mark.parametrize(
    ("program", "flag", "without", "with_it"),
    [
        ("torchrun", "", "1.9.1", "1.10.0"),
        ("torchrun", "--nproc-per-node", "1.13.1", "2.0.0"),
        ("torchrun", "--local-ranks", "2.2.2", "2.3.0"),
        ("torch.distributed.launch", "--logdir", "1.9.0", "1.8.1"),
        ("accelerate", "--num-processes", "0.27.2", "0.28.0"),
        ("accelerate", "--fp16", "0.16.0", "0.15.0"),
        ("accelerate", "--use_tp", "1.7.0", "1.4.0"),
        ("deepspeed", "--venv_script", "0.17.0", "0.17.1"),
        ("colossalai", "-m", "0.4.6", "0.4.7"),
    ],
)
def test_releases_differ(program: str, flag: str, without: str, with_it: str) -> None:
    options = LauncherOptions(section("launcher_options", PROGRAMS[program]))
    assert not options.takes(flag, without, abbreviations=True)
    assert options.takes(flag, with_it, abbreviations=True)


def test_a_build_between_two_releases_has_what_either_has() -> None:
    options = LauncherOptions(section("launcher_options", PROGRAMS["torchrun"]))
    assert options.takes("--local-ranks-filter", "2.3.0a0", abbreviations=False)
    assert not options.takes("--local-ranks-filter", "2.2.0a0", abbreviations=False)
