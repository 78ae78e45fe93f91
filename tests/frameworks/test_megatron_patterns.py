"""Lists of layers written as expressions: what Megatron's ``eval`` makes of them, or that it stops."""

import pytest

from distlint.frameworks.megatron.patterns import pattern_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("([0]*3+[1])*2", [0, 0, 0, 1, 0, 0, 0, 1]),
        ("[1,0,1]", [1, 0, 1]),
        ("2*([0]+[1])", [0, 1, 0, 1]),
        ("[1]*2**3", [1] * 8),
        ("[1]*(1+1)", [1, 1]),
        ("[1][0]", 1),
        ("[]", []),
        ("[(1,)][0]", (1,)),
        ("[+1]", [1]),
    ],
)
def test_what_an_expression_makes(text: str, value: object) -> None:
    assert pattern_value(text) == value


@pytest.mark.parametrize(
    "text",
    ["([0]*2", "[1]*8+", "[1, 0]", "[1]*8.0", "[True]", "[1]**2", "[1]()", "[1][3]", "[1]+1", "[1](2)", "1[0]", "[01]"],
)
def test_what_megatron_stops_at(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        pattern_value(text)


@pytest.mark.parametrize(
    "text",
    [
        "[1]*99999999999",
        "[9**9**9]",
        "[[1]*9999]*9999*9999",
        "[" * 500 + "]" * 500,
        "[" + "+" * 900 + "1]",
        "[1]+" * 900,
    ],
)
def test_what_is_too_large_stays_a_text(text: str) -> None:
    assert pattern_value(text) == text
