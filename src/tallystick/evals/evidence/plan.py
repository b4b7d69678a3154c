"""The plan of the suite: which case stands in which slot. 656 slots; what is in them is drawn by `build`.

The paper gives 656 cases, 570 outside Legacy, six domains in every protocol, and for V3 501 action nodes, 439
edges, 103 cases with forks and 96 with joins (B.1, B.2). The split 144/162/132/132 and the shapes below are ours: the
shapes are chosen so that those four numbers come out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from tallystick.evals.common.draw import Draw
from tallystick.evals.evidence.case import Protocol
from tallystick.evals.evidence.world import DOMAINS, World, world

SEED: Final = "tallystick-evidence-1"
"""Seed of the frozen suite. Another seed gives a parallel suite that no manifest knows."""
Turn = Literal["", "violated", "withheld"]
Node = tuple[str, tuple[str, ...]]
"""An action's tool, and the tools whose results it cites."""

_LEGACY: Final = (15, 15, 14, 14, 14, 14)
_V0: Final = 24
_V1: Final = 27
_V2: Final = (2, 3, 4, 3, 2, 5, 3, 4, 2, 3, 4, 3, 5, 2, 3, 4, 3, 4, 2, 5, 3, 4)
"""Lengths of the chains of one domain."""

_V2_ROOTS: Final = "hslmsl"
_V3_ROOTS: Final = "sslsms"
"""Sizes of the roots of workflows, small ones more often: what follows adds reads of its own."""

Shape = tuple[tuple[str, str], ...]
"""Nodes in an order in which they can run: (role, roles it cites). Roles: r root, f follow, c close."""
SHAPES: Final[dict[str, Shape]] = {
    "fork3": (("r0", ""), ("f0", "r0"), ("f1", "r0")),
    "fork4": (("r0", ""), ("f0", "r0"), ("f1", "r0"), ("f2", "r0")),
    "late-fork": (("r0", ""), ("f0", "r0"), ("f1", "f0"), ("f2", "f0")),
    "join3": (("r0", ""), ("r1", ""), ("f0", "r0,r1")),
    "join4": (("r0", ""), ("r1", ""), ("r2", ""), ("c", "r0,r1,r2")),
    "early-join": (("r0", ""), ("r1", ""), ("f0", "r0,r1"), ("c", "f0")),
    "diamond": (("r0", ""), ("f0", "r0"), ("f1", "r0"), ("c", "f0,f1")),
    "late-diamond": (("r0", ""), ("f0", "r0"), ("f1", "f0"), ("f2", "f0"), ("c", "f1,f2")),
    "tailed-diamond": (("r0", ""), ("f0", "r0"), ("f1", "r0"), ("f2", "f0,f1"), ("c", "f2")),
    "broad-diamond": (("r0", ""), ("f0", "r0"), ("f1", "r0"), ("f2", "r0"), ("c", "f0,f1,f2")),
    "cross": (("r0", ""), ("r1", ""), ("f0", "r0,r1"), ("f1", "f0"), ("f2", "f0")),
}
V3_SHAPES: Final = {
    "fork4": 2, "join4": 2, "late-fork": 5, "fork3": 29, "join3": 23, "early-join": 4, "diamond": 42,
    "late-diamond": 5, "tailed-diamond": 5, "broad-diamond": 9, "cross": 6,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Slot:
    """Where a case stands and what it is to be.

    Attributes:
        id: the case's name.
        nodes: its actions in an order in which they can run.
        named: whether the request names its subjects by id; else they must be found by their names.
        turn: what makes acting wrong, if anything: a violated condition, a withheld record.
        pick: which condition or record that is.
        shape: for V3, the shape of the graph.
    """

    id: str
    domain: str
    protocol: Protocol
    nodes: tuple[Node, ...]
    named: bool
    turn: Turn = ""
    pick: int = 0
    shape: str = ""


def slots(seed: str = SEED) -> tuple[Slot, ...]:
    """Return every slot of the suite, in the order of protocols and domains."""
    return _slots(seed)


@cache
def _slots(seed: str) -> tuple[Slot, ...]:
    found: list[Slot] = []
    for number, domain in enumerate(DOMAINS):
        found += _single(seed, domain, "Legacy", _LEGACY[number], number)
    for number, domain in enumerate(DOMAINS):
        found += _single(seed, domain, "V0", _V0, number)
    for number, domain in enumerate(DOMAINS):
        found += _single(seed, domain, "V1", _V1, number)
    for domain in DOMAINS:
        found += _chains(seed, domain)
    return (*found, *_graphs(seed))


def _name(domain: str, protocol: str, number: int) -> str:
    return f"{domain}-{protocol.lower()}-{number + 1:03d}"


def _single(seed: str, domain: str, protocol: Protocol, count: int, shift: int) -> Iterator[Slot]:
    """One action, the roots in turn; in Legacy a third each way, in V0 two violations to one missing record."""
    roots = [a.name for a in world(domain).roots]
    for i in range(count):
        name = _name(domain, protocol, i)
        draw = Draw(seed, "slot", name)
        turn: Turn = ""
        if protocol == "Legacy":
            turn = ("", "violated", "withheld")[(i + shift) % 3]
        elif protocol == "V0":
            turn = "withheld" if i % 3 == 2 else "violated"
        # A root meets each of its conditions in turn: `pick` goes on by one each time it comes round.
        root = roots[(i // 3 + i) % len(roots)]
        yield Slot(
            id=name, domain=domain, protocol=protocol, nodes=((root, ()),), named=draw.chance(0.5), turn=turn,
            pick=i // 3 * 2 + i % 3,
        )  # fmt: skip


def _chains(seed: str, domain: str) -> Iterator[Slot]:
    place = world(domain)
    for i, length in enumerate(_V2):
        name = _name(domain, "V2", i)
        draw = Draw(seed, "slot", name)
        tools = [_root(place, _V2_ROOTS, i)]
        follows = draw.shuffled([a.name for a in place.follows])
        closed = length >= 3 and (length == 5 or draw.chance(0.6))
        tools += follows[: length - 1 - closed]
        if closed:
            tools.append(place.closing.name)
        nodes = tuple((tool, (tools[j - 1],) if j else ()) for j, tool in enumerate(tools))
        yield Slot(id=name, domain=domain, protocol="V2", nodes=nodes, named=draw.chance(0.5))


def _root(place: World, cycle: str, number: int) -> str:
    """Return a root for a workflow by a cycle of sizes: h, m, l (heavy, middle, light), s small."""
    size = cycle[number % len(cycle)]
    return place.small.name if size == "s" else place.roots["hml".index(size)].name


def _graphs(seed: str) -> Iterator[Slot]:
    """Deal the shapes out to the domains in turn, 22 to each."""
    names = [shape for shape, count in V3_SHAPES.items() for _ in range(count)]
    for number, domain in enumerate(DOMAINS):
        place = world(domain)
        dealt = Draw(seed, "shapes", domain).shuffled(names[number :: len(DOMAINS)])
        for i, shape in enumerate(dealt):
            name = _name(domain, "V3", i)
            draw = Draw(seed, "slot", name)
            yield Slot(
                id=name, domain=domain, protocol="V3", nodes=_filled(place, shape, draw, i),
                named=draw.chance(0.5), shape=shape,
            )  # fmt: skip


def _filled(place: World, shape: str, draw: Draw, number: int) -> tuple[Node, ...]:
    roles = [role for role, _ in SHAPES[shape]]
    many = sum(role.startswith("r") for role in roles)
    if many > 2:
        roots = draw.shuffled([a.name for a in place.roots])
    elif many > 1:
        roots = draw.shuffled([place.small.name, _root(place, "llm", number)])
    else:
        roots = [_root(place, _V3_ROOTS, number)]
    follows = draw.shuffled([a.name for a in place.follows])
    tools = {}
    for role in roles:
        pool = roots if role.startswith("r") else follows
        tools[role] = place.closing.name if role == "c" else pool[int(role[1:])]
    return tuple((tools[role], tuple(tools[b] for b in before.split(",") if b)) for role, before in SHAPES[shape])
