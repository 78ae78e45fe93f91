"""For which releases a place is reached: version tests, caught failures, callers and importers."""

from __future__ import annotations

import pytest

from distlint.link.version_guards import Reach
from tests.conftest import MakeProject

HEAD = "import torch\nimport torch.distributed\nfrom packaging import version\n"
IMPORT = frozenset({"ImportError", "ModuleNotFoundError"})


def reached(make_project: MakeProject, body: str, release: str, **others: str) -> bool | None:
    """Whether a release of torch gets to the call of ``probe`` in a file with this text."""
    project = make_project({"main.py": HEAD + body, **{f"{name}.py": HEAD + text for name, text in others.items()}})
    (found,) = project.sites("probe")
    return Reach(project, "torch").reached(found.file, found.site.call.at, release, IMPORT)


@pytest.mark.parametrize(
    "test",
    [
        "torch.__version__ < '2'",
        "version.parse(torch.__version__) < version.parse('2.0')",
        "not version.parse(torch.__version__) >= version.Version('2.0.0')",
        "int(torch.__version__.split('.')[0]) < 2",
        "tuple(map(int, torch.__version__.split('.')[:2])) < (2, 0)",
        "[int(x) for x in torch.__version__.split('+')[0].split('.')][0] == 1",
        "torch.__version__.startswith('1.')",
        "version.parse(torch.__version__).release < (2,)",
        "version.parse(torch.__version__).major == 1",
        "is_torch_version('<', '2.0')",
        "not is_torch_greater_or_equal('2.0')",
        "not is_torch_greater_or_equal_than_2_0",
    ],
)
def test_a_version_test_is_evaluated_for_the_release(make_project: MakeProject, test: str) -> None:
    body = f"if {test}:\n    probe()\n"
    assert reached(make_project, body, "1.13.1") is True
    assert reached(make_project, body, "2.1.0") is False


def test_the_other_arm_is_reached_by_the_other_releases(make_project: MakeProject) -> None:
    body = "if torch.__version__ < '2':\n    pass\nelse:\n    probe()\n"
    assert reached(make_project, body, "1.13.1") is False
    assert reached(make_project, body, "2.1.0") is True


@pytest.mark.parametrize(
    "test",
    [
        "hasattr(torch, 'frobnicate')",
        "importlib.util.find_spec('torch.nowhere')",
        "torch.version.cuda == '11.8'",
    ],
)
def test_a_test_that_asks_for_a_feature_makes_it_unknown(make_project: MakeProject, test: str) -> None:
    assert reached(make_project, f"if {test}:\n    probe()\n", "2.1.0") is None


def test_a_test_about_something_else_changes_nothing(make_project: MakeProject) -> None:
    assert reached(make_project, "if options.verbose:\n    probe()\n", "2.1.0") is True


def test_variables_and_functions_are_followed_across_files(make_project: MakeProject) -> None:
    body = "from compat import IS_OLD, is_new\nif IS_OLD and not is_new():\n    probe()\n"
    compat = "IS_OLD = torch.__version__ < '2'\n\n\ndef is_new():\n    return torch.__version__ >= '2'\n"
    assert reached(make_project, body, "2.1.0", compat=compat) is False
    assert reached(make_project, body, "1.13.1", compat=compat) is True


def test_a_flag_set_by_a_failing_import_is_unknown(make_project: MakeProject) -> None:
    body = "try:\n    import torch.nowhere\n    FLAG = True\nexcept ImportError:\n    FLAG = False\nif FLAG:\n    probe()\n"
    assert reached(make_project, body, "2.1.0") is None


def test_an_early_return_ends_the_way_of_its_releases(make_project: MakeProject) -> None:
    body = "def f():\n    if torch.__version__ >= '2':\n        return\n    probe()\n"
    assert reached(make_project, body, "2.1.0") is False


@pytest.mark.parametrize(
    ("handler", "expected"),
    [
        ("except ImportError:\n    pass", False),
        ("except (KeyError, ModuleNotFoundError):\n    pass", False),
        ("except Exception:\n    pass", False),
        ("except:\n    pass", False),
        ("except OurErrors:\n    pass", False),
        ("except KeyError:\n    pass", True),
        ("except ImportError as error:\n    raise RuntimeError from error", True),
    ],
)
def test_a_failure_that_is_caught_does_not_count(make_project: MakeProject, handler: str, expected: bool) -> None:
    assert reached(make_project, f"try:\n    probe()\n{handler}\n", "2.1.0") is expected


def test_what_stands_in_the_handler_of_an_unknown_import_is_unknown(make_project: MakeProject) -> None:
    body = "try:\n    from torch.nowhere import x\nexcept ImportError:\n    probe()\n"
    assert reached(make_project, body, "2.1.0") is None


def test_a_function_is_reached_as_its_callers_are(make_project: MakeProject) -> None:
    guarded = "def f():\n    probe()\n\n\nif torch.__version__ < '2':\n    f()\n"
    assert reached(make_project, guarded, "2.1.0") is False
    assert reached(make_project, guarded + "f()\n", "2.1.0") is True


def test_a_module_is_reached_as_its_imports_are(make_project: MakeProject) -> None:
    main = "if torch.__version__ < '2':\n    import old\n"
    project = make_project({"old.py": HEAD + "probe()\n", "main.py": HEAD + main})
    (found,) = project.sites("probe")
    assert Reach(project, "torch").reached("old.py", found.site.call.at, "2.1.0", IMPORT) is False


def test_a_function_that_calls_itself_ends(make_project: MakeProject) -> None:
    assert reached(make_project, "def f(n):\n    probe()\n    f(n - 1)\n", "2.1.0") is True
