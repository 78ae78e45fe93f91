"""Releases that fit together, and what to change where none do: by the requirements that the releases declare."""

from __future__ import annotations

import pytest

from distlint.knowledge.release_order import ReleaseLine, witnesses
from distlint.knowledge.requirements import PYTHONS, requirements
from distlint.link.release_picks import Wish, contradicts, is_met_by_newest
from distlint.link.release_sets import Problem
from distlint.link.set_conflicts import Conflict, Judge, moved
from distlint.read.pins.requirement import parse_requirement


def wishes(*texts: str) -> list[Wish]:
    parsed = [parse_requirement(text) for text in texts]
    return [Wish(one.name, one.specifier, one.extras) for one in parsed]


def conflict(*texts: str, pythons: tuple[str, ...] = PYTHONS) -> Conflict | None:
    return Judge(wishes(*texts), pythons).conflict()


def chosen(*texts: str, python: str) -> dict[str, str] | None:
    return Problem(wishes(*texts), 1 << PYTHONS.index(python)).solve()


@pytest.mark.parametrize(
    ("specifier", "expected"),
    [
        ("", "1.0 1.0.post1 1.1 1.2 2.0"),
        ("==1.0", "1.0"),
        ("==1.0.0+cu118", "1.0"),
        (">1.0", "1.1 1.2 2.0"),
        ("<1.0.post1", "1.0"),
        ("~=1.1", "1.1 1.2"),
        ("~=1.1.0", "1.1"),
        ("!=1.*,>=1", "2.0"),
        ("==1.*", "1.0 1.0.post1 1.1 1.2"),
        (">=1.1,<2", "1.1 1.2"),
        (">=1.2rc1", "1.2 2.0"),
        (">1.2.dev0", "1.2 2.0"),
        ("<=1.1b2", "1.0 1.0.post1"),
        ("!=1.1.dev3,<2", "1.0 1.0.post1 1.1 1.2"),
        ("===1.1", "1.1"),
    ],
)
def test_a_specifier_admits_what_packaging_says(specifier: str, expected: str) -> None:
    line = ReleaseLine(["2.0", "1.0", "1.1", "1.0.post1", "1.2"])
    admitted = line.admitted(specifier)
    assert admitted is not None
    assert " ".join(text for at, text in enumerate(line.releases) if admitted >> at & 1) == expected


def test_a_broken_specifier_admits_nothing_that_is_known() -> None:
    assert ReleaseLine(["1.0"]).admitted("=>1") is None
    assert ReleaseLine(["1.0"]).admitted("~=1") is None


def test_witnesses_lie_at_above_and_below_every_bound() -> None:
    assert contradicts(["<4.5", ">=4.8"])
    assert contradicts(["==1.2.*", ">=1.3"])
    assert not contradicts([">1.2", "<1.3"])
    assert not contradicts(["==1.2.*", ">1.2.7"])
    assert witnesses([]).all


def test_the_newest_releases_that_fit_are_chosen() -> None:
    found = chosen("torch==2.1.0", "transformers", "peft", "deepspeed==0.14.0", python="3.10")
    assert found is not None
    assert (found["triton"], found["transformers"], found["numpy"]) == ("2.1.0", "5.20.2", "2.2.6")


def test_what_is_brought_along_is_narrowed_too() -> None:
    found = chosen("vllm==0.6.3", "xformers", python="3.10")
    assert found is not None
    assert (found["torch"], found["torchvision"]) == ("2.4.0", "0.19.0")


def test_fewest_requirements_and_the_nearest_release_that_fits() -> None:
    found = conflict("accelerate", "torch==2.1.0", "numpy<2", "torchvision==0.17.0")
    assert found is not None
    assert (found.core, found.facts) == ((1, 3), ("torchvision 0.17.0 asks for `torch==2.2.0`",))
    assert [(one.position, one.specifier) for one in found.repairs] == [(3, "==0.16.0"), (1, "==2.2.0")]


def test_a_conflict_through_a_package_that_nobody_pins() -> None:
    found = conflict("vllm==0.6.3", "nvidia-nccl-cu12==2.21.5")
    assert found is not None
    assert found.facts == ("vllm 0.6.3 asks for `torch==2.4.0`", "torch 2.4.0 asks for `nvidia-nccl-cu12==2.20.5`")
    assert found.repairs[0].specifier == "==2.20.5"


def test_an_extra_asks_for_more() -> None:
    assert conflict("transformers==4.57.0", "accelerate==0.20.0") is None
    found = conflict("transformers[torch]==4.57.0", "accelerate==0.20.0")
    assert found is not None
    assert found.facts == ("transformers[torch] 4.57.0 asks for `accelerate>=0.26.0`",)


@pytest.mark.parametrize(
    "texts",
    [
        ("torch==2.99.0", "torchvision==0.17.0"),
        ("torch==2.4.0.dev20240601", "torchvision==0.17.0"),
        ("transformers==4.57.0", "not-a-known-package==1.0"),
        ("torch>=2.0", "torchvision==0.17.0"),
        ("tokenizers==0.13.3", "transformers", "trl"),
        ("not-a-known-package==1.0b5", "vllm>=0.19.1", "torch"),
        ("not-a-known-package===1.0rc2", "not-a-known-package>=0.9", "timm"),
    ],
)
def test_what_is_not_known_or_leaves_a_way_out_is_no_conflict(texts: tuple[str, ...]) -> None:
    assert conflict(*texts) is None


def test_packages_of_unknown_state_say_nothing() -> None:
    asked = wishes("torch==2.1.0", "torchvision==0.17.0")
    assert Judge(asked, PYTHONS, free=["torch"]).conflict() is None
    assert Judge(asked, PYTHONS, free=["torchvision"]).conflict() is None


def test_no_python_has_both_releases() -> None:
    found = conflict("torch==1.10.0", "transformers==5.0.0")
    assert found is not None
    assert found.pythons == ()
    assert conflict("torch==1.13.1", "transformers==4.57.0") is None


def test_a_withdrawn_release_is_taken_only_where_it_is_named() -> None:
    known = requirements("transformers")
    assert known is not None
    yanked = [text for at, text in enumerate(known.line.releases) if known.yanked >> at & 1]
    assert "4.46.0" in yanked
    found = chosen("transformers<4.46.1,>=4.46", python="3.10")
    assert found is None or found.get("transformers") != "4.46.0"
    named = chosen("transformers==4.46.0", python="3.10")
    assert named is not None
    assert named["transformers"] == "4.46.0"


@pytest.mark.parametrize(
    ("specifier", "version", "expected"),
    [
        ("==2.1.0", "2.2.0", "==2.2.0"),
        (">=2.3,<3", "2.1.0", ">=2.1.0,<3"),
        ("<2", "2.0", "<=2.0"),
        ("~=1.4", "1.2", "~=1.2"),
        (">=1,!=1.5", "1.5", ">=1"),
    ],
)
def test_only_the_bound_that_refuses_a_version_is_moved(specifier: str, version: str, expected: str) -> None:
    assert moved(specifier, version) == expected


def test_hundreds_of_requirements_end_in_time() -> None:
    texts = [f"package-{number}>={number}" for number in range(300)]
    assert conflict("torch==2.1.0", *texts) is None


@pytest.mark.parametrize(
    ("texts", "fits"),
    [
        (("torch==2.1.0", "deepspeed==0.14.2", "transformers==4.40.0"), True),
        (("transformers[torch,sentencepiece]==4.57.0", "accelerate"), True),
        (("torch==2.1.0", "torchvision==0.17.0"), False),
        (("transformers[torch]==4.57.0", "accelerate==0.20.0"), False),
        (("not-a-known-package<1", "not-a-known-package>2"), False),
    ],
)
def test_sets_that_fit_are_found_without_a_search(texts: tuple[str, ...], fits: bool) -> None:
    assert is_met_by_newest(wishes(*texts), 1 << PYTHONS.index("3.10"), ()) == fits
