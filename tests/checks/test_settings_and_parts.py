"""Settings that a program fills itself, parts of one tensor, limits that all agreed on, results that may be no number."""

from __future__ import annotations

from pathlib import Path

import pytest

import distlint
from tests.checks.test_agreed_without_reduction import HEAD, found

FILLED = """
import json
import sys


def setup(cfg):
    dist.init_process_group("gloo")
    cfg["rank"] = dist.get_rank()
    cfg["world"] = dist.get_world_size()
    SEED
    return cfg


def main():
    cfg = setup(json.load(open(sys.argv[1])))
    data = TensorDataset(torch.rand(64, 4))
    sampler = DistributedSampler(data, num_replicas=cfg["world"], rank=cfg["rank"], seed=cfg["seed"])
    model = DDP(nn.Linear(4, 1))
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for (rows,) in DataLoader(data, 4, sampler=sampler):
            model(rows).sum().backward()


main()
"""


@pytest.mark.parametrize(
    ("seed", "is_own"),
    [
        ('cfg["seed"] = cfg["seed"] + cfg["rank"]', True),
        ('cfg.update(seed=cfg["seed"] + cfg["rank"])', True),
        ('torch.manual_seed(cfg["seed"] + cfg["rank"])', False),
        ('cfg["seed"] = cfg["seed"] + 1', False),
    ],
)
def test_the_seed_of_a_sampler_is_what_the_settings_hold_by_then(tmp_path: Path, seed: str, is_own: bool) -> None:
    assert ("PT265" in found(tmp_path, FILLED.replace("SEED", seed))) is is_own


PARTS = """
def main():
    dist.init_process_group("gloo")
    parts = torch.ones(64).chunk(4)
    for _ in range(3):
        pending = [dist.all_reduce(part, async_op=True) for part in parts]
        WAIT
        print(parts[0].sum())
    dist.barrier()


main()
"""


@pytest.mark.parametrize(
    "wait", ["[one.wait() for one in pending]", "while pending:\n            pending.pop().wait()"]
)
def test_parts_of_one_tensor_may_be_under_way_together(tmp_path: Path, wait: str) -> None:
    assert not found(tmp_path, PARTS.replace("WAIT", wait))


def test_a_part_that_nobody_waited_for_is_found(tmp_path: Path) -> None:
    assert "PT526" in found(tmp_path, PARTS.replace("WAIT", "pass"))


LIMITED = """
class Own(torch.utils.data.IterableDataset):
    def __init__(self, rank):
        self.count = COUNT

    def __iter__(self):
        for _ in range(self.count):
            yield torch.rand(4)


def main():
    dist.init_process_group("gloo")
    model = DDP(nn.Linear(4, 1))
    loader = DataLoader(Own(dist.get_rank()), batch_size=8)
    limit = torch.tensor(sum(1 for _ in loader))
    AGREE
    for step, rows in enumerate(loader):
        if step >= limit.item():
            break
        model(rows).sum().backward()
    dist.barrier()


main()
"""
COUNTS = ["120 + 24 * rank", "120 + 24 * (1 - rank)", "16 + 400 * rank", "40 + 16 * rank"]


@pytest.mark.parametrize("count", COUNTS)
def test_a_limit_that_all_agreed_on_ends_a_loop_for_all(tmp_path: Path, count: str) -> None:
    code = LIMITED.replace("COUNT", count).replace("AGREE", "dist.all_reduce(limit, op=dist.ReduceOp.MIN)")
    assert not found(tmp_path, code) & {"PT501", "PT503", "PT504"}


@pytest.mark.parametrize("count", COUNTS)
def test_a_limit_of_each_ranks_own_ends_it_for_some(tmp_path: Path, count: str) -> None:
    code = LIMITED.replace("COUNT", count).replace("AGREE", "pass")
    assert found(tmp_path, code) & {"PT501", "PT503", "PT504"}


NUMBERS = """
def score(own):
    table = torch.stack([own.sum(), torch.tensor(float(len(own)))])
    EXCHANGE
    if table[1] == 0:
        return float("nan")
    return (table[0] / table[1]).item()


def main():
    dist.init_process_group("gloo")
    model = DDP(nn.Linear(4, 1))
    for epoch in range(5):
        own = torch.rand(8, 4) + dist.get_rank()
        model(own).sum().backward()
        if score(own) > 0.7:
            break
    dist.barrier()


main()
"""


def test_a_result_that_may_be_no_number_is_the_same_for_all(tmp_path: Path) -> None:
    assert not found(tmp_path, NUMBERS.replace("EXCHANGE", "dist.all_reduce(table)")) & {"PT501", "PT503", "PT504"}


def test_a_result_of_each_ranks_own_rows_is_not(tmp_path: Path) -> None:
    assert found(tmp_path, NUMBERS.replace("EXCHANGE", "pass")) & {"PT501", "PT503", "PT504"}


RESTORED = """
def attempt(step):
    try:
        return torch.load(f"step{step}.pt"), torch.load(f"step{step}.rank{dist.get_rank()}.pt")
    except Exception:
        return None


def latest(steps):
    for step in reversed(steps):
        loaded = attempt(step)
        able = torch.tensor(int(loaded is not None))
        dist.all_reduce(able, op=dist.ReduceOp.MIN)
        if able.item():
            return (step, *loaded)
    return None


def main():
    dist.init_process_group("gloo")
    model = DDP(nn.Linear(4, 1))
    box = [sorted(int(one) for one in os.listdir("steps")) if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(box, src=0)
    step = 0
    state = latest(box[0])
    if state is not None:
        step, shared, own = state
        model.module.load_state_dict(shared["model"])
    while TEST:
        model(torch.rand(8, 4)).sum().backward()
        step += 1
    dist.barrier()


main()
"""


def test_the_step_that_all_could_restore_stands_beside_what_each_has_read(tmp_path: Path) -> None:
    assert not found(tmp_path, RESTORED.replace("TEST", "step < 25")) & {"PT501", "PT503", "PT504"}


def test_what_each_has_read_of_its_own_parts_the_ranks(tmp_path: Path) -> None:
    code = RESTORED.replace("TEST", 'step < (own["steps"] if state is not None else 25)')
    assert found(tmp_path, code) & {"PT501", "PT503", "PT504"}


MESHED = """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


def save(step, model):
    torch.save({name: one.to_local().cpu() for name, one in model.state_dict().items()}, PATH)
    dist.barrier()


def main():
    mesh = init_device_mesh("cpu", (int(os.environ["WORLD_SIZE"]),))
    model = nn.Linear(4, 1)
    fully_shard(model, mesh=mesh)
    save(3, model)


main()
"""


def test_a_job_that_begins_with_a_mesh_writes_one_file_on_every_rank(tmp_path: Path) -> None:
    assert "PT271" in found(tmp_path, MESHED.replace("PATH", 'f"step{step}.pt"'))
    assert "PT271" not in found(tmp_path, MESHED.replace("PATH", 'f"step{step}.{dist.get_rank()}.pt"'))


ENGINE = """
import json
import deepspeed


def settings(args):
    path = getattr(args, "deepspeed_config", None) or os.path.join(os.path.dirname(__file__), "ds.json")
    with open(path) as file:
        return json.load(file)


def main(args=None):
    config = settings(args)
    model = nn.Linear(4, 1)
    engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config="ds.json")
    steps = config[KEY]
    for _ in range(8):
        loss = engine(torch.rand(4, 4)).sum()
        engine.backward(loss / steps)
        engine.step()


main()
"""


@pytest.mark.parametrize(("key", "twice"), [("gradient_accumulation_steps", True), ("loss_scale_of_ours", False)])
def test_a_loss_divided_by_the_setting_is_divided_twice(tmp_path: Path, key: str, twice: bool) -> None:
    (tmp_path / "ds.json").write_text('{"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4}')
    (tmp_path / "run.sh").write_text("deepspeed train.py\n")
    (tmp_path / "train.py").write_text(HEAD + ENGINE.replace("KEY", repr(key)))
    codes = {one.code for one in distlint.check(tmp_path, use_cache=False).findings}
    assert ("DS214" in codes) is twice


COPIED = """
class Ema:
    def __init__(self, model):
        self.shadow = {name: one.detach().clone() for name, one in model.state_dict().items()}

    def state_dict(self):
        return self.shadow


def main():
    dist.init_process_group("gloo")
    model = DDP(nn.Linear(4, 1))
    ema = Ema(MODEL)
    if dist.get_rank() == 0:
        torch.save({"ema": ema.state_dict()}, "ema.pt")
    dist.barrier()
    plain = nn.Linear(4, 1)
    plain.load_state_dict(torch.load("ema.pt", map_location="cpu")["ema"], strict=False)


main()
"""


@pytest.mark.parametrize(("model", "hidden"), [("model", True), ("model.module", False)])
def test_a_copy_gives_its_state_itself(tmp_path: Path, model: str, hidden: bool) -> None:
    assert ("PT281" in found(tmp_path, COPIED.replace("MODEL", model))) is hidden


COLLECTED = """
from accelerate import Accelerator


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 101

    def __getitem__(self, place):
        return {"index": place, "x": torch.rand(4), "y": place % 2}


def main():
    accelerator = Accelerator()
    model, loader = accelerator.prepare(nn.Linear(4, 2), DataLoader(Rows(), batch_size=8))
    guesses = torch.zeros(101)
    right = 0
    for batch in loader:
        with torch.no_grad():
            preds = model(batch["x"]).argmax(-1)
        index, preds, y = accelerator.gather((batch["index"], preds, batch["y"]))
        USE
    if accelerator.is_main_process:
        print(guesses.mean(), right)


main()
"""


@pytest.mark.parametrize(
    ("use", "twice"),
    [
        ("guesses[index.cpu()] = preds.cpu().float()", False),
        ("right += (preds == y).sum().item()", True),
        ("for place, one in zip(index.tolist(), preds.tolist()):\n            guesses[place] = one", False),
    ],
)
def test_what_lands_at_a_place_of_its_own_counts_once(tmp_path: Path, use: str, twice: bool) -> None:
    (tmp_path / "train.py").write_text(HEAD + COLLECTED.replace("USE", use))
    codes = {one.code for one in distlint.check(tmp_path, use_cache=False).findings}
    assert ("HF219" in codes) is twice


STEPS = """
STEPS = {}


def step_of(make):
    STEPS[make.__name__] = make
    return make


@step_of
def plain(count):
    rows = torch.ones(count)
    return lambda: dist.all_reduce(rows)


@step_of
def parted(count):
    parts = torch.ones(count).chunk(4)
    pending = []

    def step():
        for part in parts:
            pending.append(dist.all_reduce(part, async_op=True))
        WAIT

    return step


def main():
    dist.init_process_group("gloo")
    for name in os.environ.get("STEPS", "parted").split(","):
        step = STEPS[name](64)
        for _ in range(3):
            step()
    dist.barrier()


main()
"""


@pytest.mark.parametrize(
    ("wait", "forgotten"), [("while pending:\n            pending.pop().wait()", False), ("print(len(pending))", True)]
)
def test_steps_of_a_table_wait_for_what_they_began(tmp_path: Path, wait: str, forgotten: bool) -> None:
    called = STEPS.replace("STEPS[name](64)", "parted(64)") if forgotten else STEPS
    assert ("PT526" in found(tmp_path, called.replace("WAIT", wait))) is forgotten
