from __future__ import annotations

import posixpath

import pytest

from distlint.knowledge.releases import packages, releases, requires_python, yanked
from distlint.link.environments import Environments, VersionView
from distlint.model.facts import FileFacts
from distlint.model.pin import Pin
from distlint.model.source import SourceKind
from distlint.model.span import Span
from distlint.read import pins as readers

READERS = {
    "pyproject.toml": readers.read_pyproject,
    "setup.cfg": readers.read_setup_cfg,
    "setup.py": readers.read_setup_py,
    "Pipfile": readers.read_pipfile,
    "environment.yml": readers.read_conda,
    "Dockerfile": readers.read_dockerfile,
    "uv.lock": readers.read_lock,
    "train.py": readers.read_inline_metadata,
}


def facts(path: str, text: str) -> FileFacts:
    if path.endswith(".sh"):
        words = [(word, Span(path, 1, 1, 1, 1)) for word in text.split()]
        reading = readers.pins_from_words(words, "shell", path)
    else:
        reading = READERS.get(posixpath.basename(path), readers.read_requirements)(text, path)
    return FileFacts(path, SourceKind.REQUIREMENTS, pins=reading.pins, includes=reading.includes)


def view(files: dict[str, str], path: str = "train.py", **overrides: str) -> VersionView:
    read = {name: facts(name, text) for name, text in files.items()}
    return Environments.build(read, overrides).for_file(path)


def lock(version: str) -> str:
    return f'version = 1\n\n[[package]]\nname = "torch"\nversion = "{version}"\n'


def test_without_a_pin_every_release_is_possible_and_the_newest_comes_last():
    versions = view({})
    assert versions.allowed("torch") == releases("torch")
    assert versions.newest("torch") == releases("torch")[-1]
    assert versions.test("torch", ">=2.0") is None
    assert versions.test("torch", ">=0.1") is True
    assert not versions.is_pinned("torch")
    assert versions.span("torch") is None


def test_an_unknown_package_has_no_versions():
    versions = view({})
    assert (versions.allowed("no-such-thing"), versions.newest("no-such-thing")) == ((), "")
    assert versions.test("no-such-thing", ">=1") is None


def test_a_range_is_judged_over_all_releases_in_it():
    versions = view({"requirements.txt": "torch>=2.1,<2.3\n"})
    assert versions.allowed("torch") == ("2.1.0", "2.1.1", "2.1.2", "2.2.0", "2.2.1", "2.2.2")
    assert (versions.oldest("torch"), versions.newest("torch")) == ("2.1.0", "2.2.2")
    assert versions.test("torch", ">=2.1") is True
    assert versions.test("torch", "<2.1") is False
    assert versions.test("torch", ">=2.2") is None
    assert versions.span("torch") == Span("requirements.txt", 1, 1, 1, 16)


def test_names_are_compared_normalised():
    versions = view({"requirements.txt": "Flash_Attn==2.5.6\n"})
    assert versions.newest("flash-attn") == versions.newest("flash_attn") == "2.5.6"


@pytest.mark.parametrize(
    ("written", "version"),
    [("2.1.0+cu121", "2.1.0"), ("2.1", "2.1.0"), ("99.1.2", "99.1.2"), ("2.6.0.dev20241112", "2.6.0.dev20241112")],
)
def test_an_exact_pin_counts_even_where_it_is_not_in_the_list(written, version):
    versions = view({"requirements.txt": f"torch=={written}\n"})
    assert versions.allowed("torch") == (version,)


def test_a_local_part_does_not_matter():
    versions = view({"requirements.txt": "torch==2.1.0+cu121\n"})
    assert versions.test("torch", "==2.1.0") is True
    assert versions.test("torch", ">2.1.0") is False


def test_a_build_between_two_releases_decides_only_what_both_agree_on():
    versions = view({"requirements.txt": "torch==2.3.0a0+ebedce2\n"})
    assert versions.test("torch", ">=2.2") is True
    assert versions.test("torch", "<2.2") is False
    assert versions.test("torch", ">=2.3") is None


def test_a_range_that_no_release_fits_is_unknown():
    versions = view({"requirements.txt": "torch>=99\n"})
    assert versions.allowed("torch") == ()
    assert versions.test("torch", ">=2") is None
    assert versions.is_pinned("torch")


def test_two_pins_of_one_file_that_contradict_each_other_are_unknown():
    assert view({"requirements.txt": "torch==2.1.0\ntorch==2.2.0\n"}).allowed("torch") == ()


def test_the_nearest_folder_that_names_the_package_decides():
    files = {
        "requirements.txt": "torch==2.1.0\ndeepspeed==0.14.0\n",
        "examples/a/requirements.txt": "torch==2.4.0\n",
        "examples/b/requirements.txt": "numpy\n",
    }
    assert view(files, "examples/a/train.py").newest("torch") == "2.4.0"
    assert view(files, "examples/a/sub/train.py").newest("torch") == "2.4.0"
    assert view(files, "examples/a/train.py").newest("deepspeed") == "0.14.0"
    assert view(files, "examples/b/train.py").newest("torch") == "2.1.0"
    assert view(files, "examples.py").newest("torch") == "2.1.0"


def test_a_lock_wins_over_exact_pins_and_those_over_ranges():
    ranged = {"pyproject.toml": '[project]\ndependencies = ["torch>=2.0"]\n'}
    exact = {**ranged, "requirements.txt": "torch==2.2.0\n"}
    assert view(ranged).oldest("torch") == "2.0.0"
    assert view(exact).allowed("torch") == ("2.2.0",)
    assert view({**exact, "uv.lock": lock("2.3.1")}).allowed("torch") == ("2.3.1",)


def test_a_lock_with_two_versions_allows_both():
    text = lock("2.3.1") + '\n[[package]]\nname = "torch"\nversion = "2.4.0"\n'
    assert view({"uv.lock": text}).allowed("torch") == ("2.3.1", "2.4.0")


def test_ranges_of_two_main_files_are_alternatives():
    files = {"requirements.txt": "torch>=2.4,<2.5\n", "setup.py": "setup(install_requires=['torch>=2.1,<2.2'])\n"}
    assert view(files).allowed("torch") == ("2.1.0", "2.1.1", "2.1.2", "2.4.0", "2.4.1")


def test_a_bare_name_gives_way_to_a_file_that_says_more():
    files = {"requirements.txt": "torch\n", "setup.py": "setup(install_requires=['torch==2.1.2'])\n"}
    assert view(files).allowed("torch") == ("2.1.2",)


def test_side_files_count_only_where_the_main_ones_are_silent():
    files = {"requirements.txt": "torch==2.1.0\n", "requirements-dev.txt": "torch==2.4.0\npeft==0.10.0\n"}
    assert view(files).newest("torch") == "2.1.0"
    assert view(files).newest("peft") == "0.10.0"


def test_two_side_files_are_alternative_environments():
    files = {"requirements_npu.txt": "torch==2.1.0\n", "requirements_gpu.txt": "torch==2.4.0\n"}
    assert view(files).allowed("torch") == ("2.1.0", "2.4.0")


def test_extras_and_groups_count_only_where_the_dependencies_are_silent():
    text = (
        '[project]\ndependencies = ["torch==2.1.0"]\n'
        '[project.optional-dependencies]\ntrain = ["torch==2.4.0", "deepspeed==0.14.0"]\n'
        '[build-system]\nrequires = ["peft==0.10.0"]\n'
    )
    versions = view({"pyproject.toml": text})
    assert versions.allowed("torch") == ("2.1.0",)
    assert versions.allowed("deepspeed") == ("0.14.0",)
    assert not versions.is_pinned("peft")


def test_constraints_narrow_the_pins_of_their_folder():
    files = {"requirements.txt": "torch>=2.1\n", "constraints.txt": "torch<2.2\ntrl==0.9.6\n"}
    assert view(files).allowed("torch") == ("2.1.0", "2.1.1", "2.1.2")
    assert view(files).allowed("trl") == ("0.9.6",)


def test_includes_are_followed_and_cycles_end():
    files = {
        "a/requirements.txt": "-r ../shared/base.txt\n-c ../shared/limits.txt\n-r ../../outside.txt\n-r /etc/passwd\n",
        "shared/base.txt": "-r ../a/requirements.txt\ntorch>=2.1\n",
        "shared/limits.txt": "torch<2.1.2\n",
    }
    assert view(files, "a/train.py").allowed("torch") == ("2.1.0", "2.1.1")


def test_setup_py_brings_the_pins_of_the_file_that_it_reads():
    files = {
        "lib/setup.py": "setup(install_requires=open('reqs/core.txt').read().splitlines())\n",
        "lib/reqs/core.txt": "torch==2.1.0\n",
    }
    assert view(files, "lib/pkg/train.py").newest("torch") == "2.1.0"


def test_images_and_commands_count_only_where_nothing_else_does():
    files = {
        "docker/gpu/Dockerfile": "FROM pytorch/pytorch:2.2.0-cuda12.1-cudnn8-devel\nRUN pip install deepspeed==0.14.0\n"
    }
    assert view(files, "src/train.py").newest("torch") == "2.2.0"
    assert view(files, "src/train.py").newest("deepspeed") == "0.14.0"
    assert view({**files, "requirements.txt": "torch>=2.4,<2.5\n"}, "src/train.py").newest("torch") == "2.4.1"


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        ("pip install torch==2.3.0", ("2.3.0",)),
        ("pip install 'torch>=2.0'", ("2.2.0",)),
        ("pip install torch", ("2.2.0",)),
        ("pip install torch==2.3.0 && pip install torch==2.3.1", ("2.3.0", "2.3.1")),
        ("pip install torch==$VERSION", ()),
    ],
)
def test_what_is_installed_on_top_of_an_image_wins_unless_the_image_satisfies_it(command, allowed):
    text = f"FROM pytorch/pytorch:2.2.0-cuda12.1-cudnn8-devel\nRUN {command}\n"
    assert view({"Dockerfile": text}).allowed("torch") == allowed


def test_shell_scripts_are_alternatives():
    files = {"scripts/a.sh": "pip install trl==0.9.6", "scripts/b.sh": "pip install trl==0.11.0"}
    assert view(files).allowed("trl") == ("0.9.6", "0.11.0")


def test_a_scripts_own_block_holds_for_that_script_alone():
    files = {
        "requirements.txt": "torch==2.1.0\n",
        "train.py": '# /// script\n# dependencies = ["torch==2.4.0"]\n# ///\n',
    }
    assert view(files, "train.py").newest("torch") == "2.4.0"
    assert view(files, "other.py").newest("torch") == "2.1.0"


def test_an_override_wins_over_everything():
    files = {"uv.lock": lock("2.3.1")}
    assert view(files, torch="==2.4.0").allowed("torch") == ("2.4.0",)
    assert view(files, torch="2.4").allowed("torch") == ("2.4.0",)
    assert view(files, torch=">=2.4,<2.5").allowed("torch") == ("2.4.0", "2.4.1")
    assert view(files, torch="2.4").is_pinned("torch")
    assert view(files, torch="2.4").span("torch") is None


def test_an_override_that_is_no_version_is_refused():
    with pytest.raises(ValueError, match="nonsense"):
        view({}, torch="nonsense")


def test_markers_that_split_the_world_give_both_versions():
    text = 'torch==2.1.0; python_version < "3.10"\ntorch==2.4.0; python_version >= "3.10"\n'
    assert view({"requirements.txt": text}).allowed("torch") == ("2.1.0", "2.4.0")


def test_the_projects_python_decides_a_marker():
    text = 'torch==2.1.0; python_version < "3.10"\ntorch==2.4.0; python_version >= "3.10"\n'
    files = {"requirements.txt": text, "pyproject.toml": '[project]\nrequires-python = ">=3.11"\n'}
    assert view(files).allowed("torch") == ("2.4.0",)


def test_a_pin_whose_marker_may_not_hold_is_optional():
    versions = view({"requirements.txt": 'torch==2.1.0; platform_machine == "aarch64"\n'})
    assert versions.test("torch", "==2.1.0") is None
    assert versions.newest("torch") == releases("torch")[-1]


def test_a_marker_that_never_holds_is_as_if_it_were_not_there():
    versions = view({"requirements.txt": 'torch==1.13.0; python_version < "3"\ntorch==2.1.0\n'})
    assert versions.allowed("torch") == ("2.1.0",)


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("git+https://example.org/microsoft/DeepSpeed.git@v0.14.2", "0.14.2"),
        ("deepspeed @ https://example.org/deepspeed-0.14.2.tar.gz", "0.14.2"),
        ("https://example.org/deepspeed-0.14.2%2Bcu1-py3-none-any.whl", "0.14.2"),
        ("git+https://example.org/microsoft/DeepSpeed.git@master", ""),
        ("git+https://example.org/microsoft/DeepSpeed.git", ""),
    ],
)
def test_an_address_is_a_version_only_where_it_names_one(line, version):
    versions = view({"requirements.txt": line + "\n"})
    assert versions.newest("deepspeed") == version
    assert versions.is_pinned("deepspeed")


def test_conditional_additions_are_alternatives():
    text = (
        "deps = []\nif gpu:\n    deps.append('torch==2.1.0')\nelse:\n    deps.append('torch==2.4.0')\n"
        "setup(install_requires=deps)\n"
    )
    assert view({"setup.py": text}).allowed("torch") == ("2.1.0", "2.4.0")


def test_a_pin_with_a_version_that_is_no_version_is_unknown():
    broken = FileFacts(
        "requirements.txt",
        SourceKind.REQUIREMENTS,
        pins=(Pin("torch", "==2021-a!b", Span("requirements.txt", 1, 1, 1, 9), "requirements"),),
    )
    versions = Environments.build({"requirements.txt": broken}, {}).for_file("train.py")
    assert versions.test("torch", ">=2") is None


def test_a_rule_with_a_broken_specifier_is_told_so():
    with pytest.raises(ValueError, match="what"):
        view({"requirements.txt": "torch==2.1.0\n"}).test("torch", "what")


def test_the_order_of_files_does_not_matter():
    files = {"requirements_b.txt": "torch==2.1.0\n", "requirements_a.txt": "torch==2.4.0\n"}
    backwards = dict(reversed(files.items()))
    assert view(files).pins("torch") == view(backwards).pins("torch")


def test_release_lists_are_sorted_and_without_withdrawn_or_early_ones():
    from packaging.version import Version

    for package in packages():
        versions = [Version(text) for text in releases(package)]
        assert versions == sorted(versions)
        assert not any(version.is_prerelease for version in versions)
        assert not set(yanked(package)) & set(releases(package))


def test_the_python_that_a_release_asks_for_is_known():
    assert requires_python("numpy", "2.0.0") == ">=3.9"
    assert requires_python("numpy", "0.0.0") == ""


@pytest.mark.parametrize(
    ("requirements", "package", "newest"),
    [
        # accelerate wants torch 1.10 since 0.20 and torch 2 since 1.3.
        ("torch==1.13.1\naccelerate\n", "accelerate", "1.2.1"),
        ("torch<2\naccelerate>=0.20\n", "accelerate", "1.2.1"),
        # The extra `torch` of transformers names releases of torch, the package itself does not.
        ("transformers[torch]<5\ntorch==1.13.1\n", "transformers", "4.47.1"),
        ("transformers<5\ntorch==1.13.1\n", "transformers", "4.57.6"),
        # Nobody holds anything back.
        ("torch>=1.13\naccelerate<2\n", "accelerate", "1.15.0"),
        # Requirements that contradict each other say nothing.
        ("torch==1.13.1\naccelerate==1.15.0\ntransformers<5\n", "transformers", "4.57.6"),
    ],
)
def test_releases_that_other_pins_leave_no_place_for_do_not_count(requirements, package, newest):
    assert view({"requirements.txt": requirements}).newest(package) == newest


def test_the_python_of_a_project_limits_the_releases():
    files = {"requirements.txt": "transformers\nnumpy\n", "environment.yml": "dependencies:\n  - python=3.8\n"}
    assert view(files).newest("transformers") == "4.46.3"
    assert view(files).newest("numpy") == "1.24.4"


def test_an_override_holds_other_packages_back():
    assert view({"requirements.txt": "torch\naccelerate\n"}, torch="1.13.1").newest("accelerate") == "1.2.1"


def test_packages_that_nobody_asks_for_are_not_held_back():
    assert view({"requirements.txt": "torch==1.13.1\n"}).newest("accelerate") == releases("accelerate")[-1]


def test_an_extra_holds_nothing_back():
    text = (
        "[project]\nname = 'a'\ndependencies = ['torch', 'accelerate']\n"
        "[project.optional-dependencies]\nserve = ['vllm==0.6.3']\n"
    )
    assert view({"pyproject.toml": text}).newest("torch") == releases("torch")[-1]


def test_a_set_of_pins_with_another_name_holds_back_where_it_is_the_only_one():
    files = {"requirements-train.txt": "torch==1.13.1\naccelerate\n"}
    assert view(files).newest("accelerate") == "1.2.1"
    files["requirements-eval.txt"] = "torch==2.4.0\naccelerate\n"
    assert view(files).newest("accelerate") == releases("accelerate")[-1]


def test_a_script_with_its_own_requirements_is_held_back_by_these_alone():
    script = '# /// script\n# dependencies = ["torch==1.13.1", "accelerate"]\n# ///\n'
    files = {"train.py": script, "requirements.txt": "torch==2.4.0\n"}
    assert view(files).newest("accelerate") == "1.2.1"


def test_the_release_that_fits_is_not_called_the_newest():
    files = {"requirements.txt": "torch==1.13.1\naccelerate\n"}
    assert view(files).standing("accelerate") == ", the newest release that fits the pins"
    assert view(files).standing("deepspeed") == ", the newest release"
    assert view(files).standing("torch") == ""


def test_a_workflow_that_takes_what_comes_is_tested_too():
    exact, bare = "pip install torch==1.13.1\n", "pip install torch\n"
    files = {".github/workflows/old.yml": exact, ".github/workflows/new.yml": bare}
    read = {name: facts(name.replace(".yml", ".sh"), text) for name, text in files.items()}
    renamed = {
        name: FileFacts(name, SourceKind.REQUIREMENTS, pins=one.pins, includes=one.includes)
        for name, one in read.items()
    }
    seen = Environments.build(renamed, {}).for_file("train.py")
    assert not seen.is_pinned("torch")
    only = Environments.build({".github/workflows/old.yml": renamed[".github/workflows/old.yml"]}, {})
    assert only.for_file("train.py").newest("torch") == "1.13.1"
