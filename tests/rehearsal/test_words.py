"""Words of each rank's own texts: how many different ones there are is each rank's own as well."""

from __future__ import annotations

import pytest

from distlint.checks.meeting_shapes import different_models
from distlint.rehearsal.performance import Rehearsal
from tests.conftest import MakeProject

BASE = """
import itertools, math, re
from collections import Counter
import torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
rows = [tuple(line.split("\\t")) for line in open("all.tsv")]
own = rows[rank::world]
texts = [text for text, mark in own]
"""
TAIL = "\nDistributedDataParallel(nn.Embedding(SIZE, 8))\n"

APART = {
    "set": "words = set(word for text in texts for word in text.split())",
    "set display": "words = {word.lower() for text in texts for word in text.split(' ')}",
    "sorted": "words = sorted(set(itertools.chain.from_iterable(text.split() for text in texts)))",
    "counted": "words = Counter(word for text in texts for word in text.split())",
    "counted on": "words = Counter()\nfor text in texts:\n    words.update(text.split())",
    "often enough": "c = Counter(w for text in texts for w in text.split())\nwords = [w for w, n in c.items() if n > 1]",
    "numbered": "words = {}\nfor text in texts:\n    for word in text.split():\n        words.setdefault(word, len(words))",
    "numbered once": "words = {}\nfor text in texts:\n    for word in text.split():\n        if word not in words:\n"
    "            words[word] = len(words)",
    "added": "words = set()\nfor text in texts:\n    for word in text.split():\n        words.add(word)",
    "found": "words = {word for text in texts for word in re.findall(r'[a-z]+', text)}",
    "parted early": "own = [(text.split(), mark) for text, mark in rows][rank::world]\nwords = {w for text, _ in own for w in text}",
    "own file": "words = set(open(f'part{rank}.txt').read().split())",
}
ALIKE = {
    "words of all texts": "words = {word for text, mark in rows for word in text.split()}",
    "marks": "words = sorted({mark for text, mark in own})",
    "first words": "words = {text.split()[0] for text in texts}",
    "one of two words": "words = set()\nfor text in texts:\n    name, kind = text.split()\n    words.add(kind)",
    "kinds": "words = {kind for text in texts for kind in text.split('|')}",
    "the most frequent": "words = Counter(w for text in texts for w in text.split()).most_common(500)",
    "at most": "met = {word for text in texts for word in text.split()}\nwords = range(min(len(met), 500))",
    "rounded": "met = {word for text in texts for word in text.split()}\nwords = range(math.ceil(len(met) / 64) * 64)",
    "gathered": "every = [None] * world\ndist.all_gather_object(every, {w for text in texts for w in text.split()})\n"
    "words = set().union(*every)",
    "sent": "box = [sorted({w for text in texts for w in text.split()})]\ndist.broadcast_object_list(box)\nwords = box[0]",
    "the same file": "words = set(open('all.txt').read().split())",
}


def _found(make_project: MakeProject, code: str) -> list[str]:
    project = make_project({"train.py": BASE + code + TAIL.replace("SIZE", "len(words) + 1")})
    (performance,) = Rehearsal.of(project).performances()
    return [one.message for one in different_models(performance)]


@pytest.mark.parametrize("code", APART.values(), ids=APART)
def test_words_of_own_texts_are_as_many_as_each_rank_has(make_project: MakeProject, code: str) -> None:
    (message,) = _found(make_project, code)
    assert message.startswith("how large the parameters")


@pytest.mark.parametrize("code", ALIKE.values(), ids=ALIKE)
def test_nothing_shows_that_there_are_others_on_each_rank(make_project: MakeProject, code: str) -> None:
    assert _found(make_project, code) == []
