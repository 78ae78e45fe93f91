"""Environments on disk, in the layouts that tools make: what is read from them, without running anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from distlint.read.installed import NoEnvironmentError, read_installed


def put(root: Path, *names: str, **texts: str) -> None:
    """Makes empty files, or such with a text."""
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts.get(name, ""), encoding="utf-8")


def record(folder: Path, name: str, version: str, *, kind: str = "dist-info") -> None:
    """What an installer leaves of a project."""
    file = folder / f"{name.replace('-', '_')}-{version}.{kind}" / ("METADATA" if kind == "dist-info" else "PKG-INFO")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nName: no\n", encoding="utf-8")


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    root = tmp_path / "venv"
    site = root / "lib" / "python3.10" / "site-packages"
    record(site, "torch", "2.1.0+cu121")
    record(site, "Flash_Attn", "2.5.6")
    put(root, "bin/python", "bin/activate")
    (root / "pyvenv.cfg").write_text("home = /nowhere/bin\ninclude-system-site-packages = false\nversion = 3.10.12\n")
    return root


EXPECTED = {"cuda": "12.1", "flash-attn": "2.5.6", "python": "3.10.12", "torch": "2.1.0+cu121"}


def test_a_virtual_environment_by_folder_interpreter_or_packages(venv: Path) -> None:
    assert read_installed(venv) == EXPECTED
    assert read_installed(venv / "bin" / "python") == EXPECTED
    assert read_installed(venv / "lib/python3.10/site-packages") == {**EXPECTED, "python": "3.10"}


def test_a_link_to_the_interpreter_elsewhere_stays_the_environment(venv: Path, tmp_path: Path) -> None:
    put(tmp_path, "base/bin/python3.10")
    (venv / "bin" / "python").unlink()
    (venv / "bin" / "python").symlink_to(tmp_path / "base/bin/python3.10")
    assert read_installed(venv / "bin" / "python") == EXPECTED
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "python").symlink_to(venv / "bin" / "python3.10")
    (venv / "bin" / "python3.10").symlink_to("python")
    put(tmp_path, "base/lib/python3.10/x")
    record(tmp_path / "base/lib/python3.10/site-packages", "trl", "0.9.6")
    assert read_installed(tmp_path / "links" / "python") == {"python": "3.10", "trl": "0.9.6"}


def test_packages_of_the_system_lie_below_those_of_the_environment(venv: Path, tmp_path: Path) -> None:
    base = tmp_path / "base" / "lib" / "python3.10" / "site-packages"
    record(base, "torch", "1.13.1")
    record(base, "trl", "0.9.6")
    text = (venv / "pyvenv.cfg").read_text().replace("false", "true").replace("/nowhere", str(tmp_path / "base"))
    (venv / "pyvenv.cfg").write_text(text)
    found = read_installed(venv)
    assert (found["torch"], found["trl"]) == ("2.1.0+cu121", "0.9.6")


def test_conda(tmp_path: Path) -> None:
    names = [
        "pytorch-2.1.0-py3.10_cuda12.1_cudnn8.9.2_0",
        "python-3.10.13-h1",
        "cuda-toolkit-12.1.0-0",
        "numpy-1.26.4-py310",
    ]
    put(tmp_path, *(f"conda-meta/{name}.json" for name in names), "conda-meta/history", "bin/python3.10")
    record(tmp_path / "lib/python3.10/site-packages", "deepspeed", "0.14.0")
    assert read_installed(tmp_path) == {
        "cuda": "12.1",
        "cuda-toolkit": "12.1",
        "deepspeed": "0.14.0",
        "numpy": "1.26.4",
        "python": "3.10.13",
        "torch": "2.1.0",
    }


def test_debian(tmp_path: Path) -> None:
    record(tmp_path / "lib/python3/dist-packages", "numpy", "1.24.2", kind="egg-info")
    record(tmp_path / "local/lib/python3.11/dist-packages", "torch", "2.1.0")
    put(tmp_path, "bin/python3.11", "lib/python3.11/os.py")
    assert read_installed(tmp_path / "bin/python3.11") == {"numpy": "1.24.2", "python": "3.11", "torch": "2.1.0"}


def test_windows(tmp_path: Path) -> None:
    record(tmp_path / "Lib" / "site-packages", "torch", "2.1.0+cu118")
    put(tmp_path, "Scripts/python.exe")
    (tmp_path / "pyvenv.cfg").write_bytes(b"home = C:\\Python311\r\nversion_info = 3.11.4.final.0\r\n")
    expected = {"cuda": "11.8", "python": "3.11.4", "torch": "2.1.0+cu118"}
    assert read_installed(tmp_path / "Scripts" / "python.exe") == expected


def test_projects_that_are_installed_from_their_folder(tmp_path: Path) -> None:
    site = tmp_path / "lib/python3.10/site-packages"
    record(site, "torch", "2.1.0")
    put(site, "mine-0.1.dist-info/METADATA", "mine-0.1.dist-info/direct_url.json", "old.egg-link")
    put(tmp_path, "work/old.egg-info/PKG-INFO", "work/setup.py")
    (tmp_path / "work/old.egg-info/PKG-INFO").write_text("Name: old\nVersion: 3.2\n")
    (site / "old.egg-link").write_text(f"{tmp_path / 'work'}\n.")
    found = read_installed(tmp_path)
    assert (found["mine"], found["old"]) == ("0.1", "3.2")


def test_cuda_as_wheels(tmp_path: Path) -> None:
    site = tmp_path / "lib/python3.10/site-packages"
    record(site, "torch", "2.1.0")
    record(site, "nvidia-cuda-runtime-cu12", "12.1.105")
    assert read_installed(tmp_path)["cuda"] == "12.1"


def test_what_is_broken_is_passed_over(tmp_path: Path) -> None:
    site = tmp_path / "lib/python3.10/site-packages"
    record(site, "torch", "2.1.0")
    put(site, "~orch-2.0.0.dist-info/x", "noversion.dist-info/METADATA", "a.egg-link", "b-1.0.egg-info")
    (site / "loop-1.dist-info").symlink_to(site)
    (site / "gone-1.0.dist-info").symlink_to(tmp_path / "missing")
    found = read_installed(tmp_path)
    assert found["torch"] == "2.1.0"
    assert not any(name.startswith(("~", "-")) for name in found)


@pytest.mark.parametrize("name", ["missing", "empty", "file.txt", "empty/bin/python"])
def test_what_is_no_environment_is_refused(tmp_path: Path, name: str) -> None:
    put(tmp_path, "file.txt", "empty/bin/python")
    with pytest.raises(NoEnvironmentError, match=name.partition("/")[0]):
        read_installed(tmp_path / name)


def test_several_pythons_need_the_interpreter(tmp_path: Path) -> None:
    for python in ("3.10", "3.11"):
        record(tmp_path / f"lib/python{python}/site-packages", "torch", f"2.{python[-1]}.0")
        put(tmp_path, f"bin/python{python}")
    with pytest.raises(NoEnvironmentError, match=r"3\.10, 3\.11"):
        read_installed(tmp_path)
    assert read_installed(tmp_path / "bin/python3.11")["torch"] == "2.1.0"
