"""Right programs that deal out work by owner, role and team, beside ones that only look like them."""

from __future__ import annotations

from pathlib import Path

from tests.checks.test_agreed_without_reduction import found

OWNERS = """
import glob
import zlib


def owner(name, world):
    return zlib.crc32(name.encode()) % world


def encode(path, folder):
    rows = torch.zeros(4)
    torch.save(rows, os.path.join(folder, os.path.basename(path)))
    return len(rows)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    mine = [path for path in sorted(glob.glob("raw/*.txt")) if TEST]
    counts = [encode(path, "out") for path in mine]
    everyone = [None] * world
    dist.all_gather_object(everyone, counts)


main()
"""


def test_files_that_a_function_gives_an_owner_are_written_by_that_one(tmp_path: Path) -> None:
    assert "PT271" not in found(tmp_path, OWNERS.replace("TEST", "owner(path, world) == rank"))


def test_files_that_all_may_own_are_written_by_every_rank(tmp_path: Path) -> None:
    assert "PT271" in found(tmp_path, OWNERS.replace("TEST", "owner(path, world) == 0"))


ROLES = """
class Learner:
    def __init__(self):
        self.net = nn.Linear(4, 2)

    def run(self):
        torch.save(self.net.state_dict(), "net.pt")
        return 1


class Actor:
    def run(self):
        return 2


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    worker = ROLE
    counts = [None] * dist.get_world_size()
    dist.all_gather_object(counts, worker.run())


main()
"""


def test_what_one_role_writes_is_written_by_the_rank_that_plays_it(tmp_path: Path) -> None:
    assert "PT271" not in found(tmp_path, ROLES.replace("ROLE", "Learner() if rank == 0 else Actor()"))


def test_a_role_that_all_play_is_written_by_all(tmp_path: Path) -> None:
    assert "PT271" in found(tmp_path, ROLES.replace("ROLE", "Learner()"))


TEAMS = """
class Teams:
    def __init__(self, size):
        world, rank = dist.get_world_size(), dist.get_rank()
        self.teams = [list(range(start, start + size)) for start in range(0, world, size)]
        self.groups = [dist.new_group(team) for team in self.teams]
        self.leaders = dist.new_group([team[0] for team in self.teams])
        self.index = rank // size
        self.team, self.group = self.teams[self.index], self.groups[self.index]

    def scores(self, score):
        table = torch.zeros(len(self.teams))
        table[self.index] = score
        EXCHANGE
        dist.broadcast(table, self.team[0], group=self.group)
        return table.tolist()


def main():
    dist.init_process_group("gloo")
    teams = Teams(1)
    data = TensorDataset(torch.rand(64, 4))
    sampler = DistributedSampler(data, num_replicas=COUNT, rank=dist.get_rank(teams.group), seed=teams.index)
    for epoch in range(6):
        sampler.set_epoch(epoch)
        dist.barrier()
        total = sum(float(rows.sum()) for rows, in DataLoader(data, 4, sampler=sampler))
        scores = teams.scores(total)
        if max(scores) > 40:
            break
    dist.barrier()


main()
"""
TOGETHER = "dist.all_reduce(table, group=self.leaders)"


def test_what_leaders_agree_on_and_pass_on_is_the_same_for_all(tmp_path: Path) -> None:
    assert not found(tmp_path, TEAMS.replace("EXCHANGE", TOGETHER).replace("COUNT", "len(teams.team)"))


def test_what_each_leader_passes_on_of_its_own_parts_the_teams(tmp_path: Path) -> None:
    code = TEAMS.replace("EXCHANGE", TOGETHER.replace("leaders", "group")).replace("COUNT", "len(teams.team)")
    assert found(tmp_path, code) & {"PT501", "PT503", "PT504"}


def test_a_seed_of_each_team_parts_what_is_dealt_out_to_all(tmp_path: Path) -> None:
    code = TEAMS.replace("EXCHANGE", TOGETHER).replace("COUNT", "dist.get_world_size()")
    assert "PT265" in found(tmp_path, code)


NORMS = """
def main():
    dist.init_process_group("gloo")
    net = DDP(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for number in range(4):
        net(torch.rand(8, 4) + dist.get_rank()).sum().backward()
        norm = torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        own = torch.rand(2) * (1 + dist.get_rank())
        if TEST:
            dist.all_reduce(norm)
        optimizer.step()


main()
"""


def test_what_a_tensor_can_do_is_the_same_on_all_ranks(tmp_path: Path) -> None:
    assert "PT501" not in found(tmp_path, NORMS.replace("TEST", 'hasattr(own, "full_tensor")'))


def test_what_is_in_a_tensor_is_not(tmp_path: Path) -> None:
    assert "PT501" in found(tmp_path, NORMS.replace("TEST", "own.sum() > 1"))


TOGGLED = """
def requires_grad(net, flag):
    for p in net.parameters():
        p.requires_grad_(flag)


def main():
    dist.init_process_group("gloo")
    maker, judge = nn.Linear(4, 4), nn.Linear(4, 1)
    makes, judges = DDP(maker), DDP(judge)
    optimizers = torch.optim.SGD(maker.parameters(), 0.1), torch.optim.SGD(judge.parameters(), 0.1)
    for _ in range(4):
        requires_grad(maker, False)
        optimizers[1].zero_grad()
        with CONTEXT:
            made = makes(torch.rand(8, 4))
        judges(made).sum().backward()
        optimizers[1].step()
        requires_grad(maker, True)


main()
"""


def test_a_frozen_model_may_be_asked_without_gradients(tmp_path: Path) -> None:
    assert "PT292" not in found(tmp_path, TOGGLED.replace("CONTEXT", "torch.no_grad()"))


def test_a_frozen_model_whose_gradients_are_waited_for_is_found(tmp_path: Path) -> None:
    assert "PT292" in found(tmp_path, TOGGLED.replace("CONTEXT", "torch.enable_grad()"))


CHOSEN = """
class Rows(torch.utils.data.Dataset):
    def __init__(self, count):
        self.rows = torch.rand(count, 4)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, place):
        return self.rows[place]

    def first(self, count):
        return torch.utils.data.Subset(self, range(count))


def evaluate(net, data):
    part = torch.utils.data.Subset(data, range(dist.get_rank(), len(data), dist.get_world_size()))
    total = torch.zeros(())
    for rows in DataLoader(part, 4):
        total += net(rows).sum()
    dist.all_reduce(total)
    return float(total)


def main():
    dist.init_process_group("gloo")
    net = DDP(nn.Linear(4, 1))
    held = Rows(16)
    limit, best = 0, 0.0
    for epoch in range(4):
        subset = DATA
        sampler = DistributedSampler(subset, seed=epoch)
        for rows in DataLoader(subset, 4, sampler=sampler):
            net(rows).sum().backward()
        score = evaluate(net.module, held)
        if score > best:
            best = score
            limit += 1


main()
"""


def test_how_much_is_trained_with_may_follow_from_parts_that_were_dealt_out(tmp_path: Path) -> None:
    assert "PT263" not in found(tmp_path, CHOSEN.replace("DATA", "Rows(64).first(8 + 8 * limit)"))


def test_what_is_dealt_out_itself_is_dealt_out_twice(tmp_path: Path) -> None:
    part = "range(dist.get_rank(), 64, dist.get_world_size())"
    assert "PT263" in found(tmp_path, CHOSEN.replace("DATA", f"torch.utils.data.Subset(Rows(64), {part})"))
