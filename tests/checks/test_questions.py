"""Questions that lead to questions: answered once, the same in any order, and bounded."""

from __future__ import annotations

from distlint.checks.questions import Questions

LEADS: dict[str, tuple[str, ...]] = {"a": ("b", "c"), "b": ("a", "d"), "c": ("d",), "d": ()}


class Asker:
    """Asks for all that can be reached, and counts how often each answer was worked out."""

    def __init__(self, leads: dict[str, tuple[str, ...]], most_steps: int = 1_000, most_open: int = 100) -> None:
        self.questions: Questions[frozenset[str]] = Questions(most_steps, most_open)
        self.leads = leads
        self.worked: list[str] = []

    def ask(self, name: str) -> frozenset[str]:
        self.questions.begin()
        return self.of(name)

    def of(self, name: str) -> frozenset[str]:
        return self.questions.guarded(name, lambda: self.work(name), frozenset(), frozenset({"?"}))

    def work(self, name: str) -> frozenset[str]:
        self.worked.append(name)
        return frozenset({name}).union(*(self.of(other) for other in self.leads[name]))


def test_answers_do_not_depend_on_the_order_of_questions() -> None:
    orders = ("abcd", "dcba", "bacd", "cabd")
    found = []
    for order in orders:
        asker = Asker(LEADS)
        answers = {name: asker.ask(name) for name in order}
        found.append([answers[name] for name in "abcd"])
    assert found[0] == [frozenset("abcd"), frozenset("abcd"), frozenset("cd"), frozenset("d")]
    assert all(one == found[0] for one in found)


def test_what_is_known_is_not_worked_out_again() -> None:
    asker = Asker({"a": ("b", "c"), "b": ("d",), "c": ("d",), "d": ()})
    asker.ask("a")
    asker.ask("b")
    assert sorted(asker.worked) == ["a", "b", "c", "d"]


def test_what_a_bound_cut_short_is_given_up_and_not_remembered() -> None:
    leads = {str(one): (str(one + 1),) for one in range(50)} | {"50": ()}
    asker = Asker(leads, most_open=10)
    assert "?" in asker.ask("0")
    assert not asker.questions.knows("0")
    assert asker.ask("45") == {str(one) for one in range(45, 51)}
    few = Asker(leads, most_steps=10)
    assert "?" in few.ask("0")
    assert not few.questions.knows("5")
