"""Drawing a case's records from its world: the true ones, their look-alikes, and what the overnight index shows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from tallystick.evals.common.draw import Draw
from tallystick.evals.evidence.case import Table
from tallystick.evals.evidence.world import Action, Alias, Kind, Need, World
from tallystick.model.values import decimal_of

_MONTHS: Final = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October")
LABEL: Final = "label"


class Cast:
    """The records of one case while they are drawn: alias → (kind, id, fields).

    Args:
        world: the domain.
        actions: what the case is about.
        draw: the stream everything is drawn from.
        named: whether the request names its subjects by id; else by label, and the id must be found.
    """

    def __init__(self, world: World, actions: tuple[Action, ...], draw: Draw, *, named: bool) -> None:
        self.world = world
        self.actions = actions
        self.draw = draw
        self.named = named
        self.ids: dict[str, str] = {}
        self.fields: dict[str, dict[str, Any]] = {}
        self.live: Table = {}
        self.index: Table = {}
        self.lookalikes: dict[str, tuple[str, ...]] = {}
        self._used: set[str] = set()
        self._draw_all()

    # ------------------------------------------------------------------ the true records

    def _draw_all(self) -> None:
        wanted = self._closure(a for action in self.actions for a in self.world.entities(action))
        for alias in wanted:
            self.ids[alias] = self._id(alias)
        for alias in wanted:
            self.fields[alias] = {
                name: self.value(how)
                for name, how in self._specs(alias).items()
                if not how.startswith(("ref ", "same "))
            }
        for alias in wanted:
            for name, how in self._specs(alias).items():
                if how.startswith("ref "):
                    self.fields[alias][name] = self.ids[how[4:]]
        for alias in wanted:
            for name, how in self._specs(alias).items():
                if how.startswith("same "):
                    self.fields[alias][name] = self.at(how[5:])

    def _closure(self, aliases: Iterable[str]) -> list[str]:
        """Return the aliases and everything their records refer to, in the world's order."""
        todo, seen = list(aliases), set()
        while todo:
            alias = todo.pop()
            if alias in seen:
                continue
            seen.add(alias)
            todo += [how[4:] for how in self._specs(alias).values() if how.startswith("ref ")]
            if self.world.kind_of(alias).of:
                todo.append(self.world.kind_of(alias).of)
        # Every policy of the domain is on file, whether or not the case needs it.
        fixed = {a.name for a in self.world.aliases.values() if a.fixed}
        return [name for name in self.world.aliases if name in seen | fixed]

    def _specs(self, alias: str) -> dict[str, str]:
        kind = self.world.kind_of(alias)
        specs = {**kind.fields, **self.world.aliases[alias].fields}
        if kind.name == "request":
            for action in self.actions:
                specs.update(action.asks)
                if action.subject:
                    subject = self.world.kind_of(action.subject)
                    if self.named:
                        specs[subject.id] = f"ref {action.subject}"
                    else:
                        specs[f"{action.subject}_{LABEL}"] = f"same {action.subject}.{LABEL}"
        return specs

    def _id(self, alias: str) -> str:
        entry = self.world.aliases[alias]
        kind = self.world.kind_of(alias)
        if entry.fixed:
            return entry.fixed
        if kind.of:
            return self._id(kind.of) if kind.of not in self.ids else self.ids[kind.of]
        return self.ids.get(alias) or self.fresh(kind)

    def fresh(self, kind: Kind) -> str:
        """Return an id of `kind` that no record of this case has."""
        while True:
            found = f"{kind.prefix}-{self.draw.between(1000, 9999)}"
            if found not in self._used:
                self._used.add(found)
                return found

    def value(self, how: str) -> Any:
        """Return a value drawn as `how` says.

        `text T`, `yes`, `no`, `pick a|b`, `pool NAME`, `label POOL`, `date`, `int LO HI` or `money LO HI`.
        """
        word, _, rest = how.partition(" ")
        if word == "text":
            return rest
        if word in ("yes", "no"):
            return word == "yes"
        if word == "pick":
            return self.draw.pick(rest.split("|"))
        if word == "pool":
            return self._from_pool(rest)
        if word == "label":
            return f"{self._from_pool(rest)} of {self.day()}"
        if word == "date":
            return f"2026-{self.draw.between(1, 10):02d}-{self.draw.between(1, 28):02d}"
        low, high = map(int, rest.split())
        if word == "int":
            return self.draw.between(low, high)
        cents = self.draw.between(low * 100, high * 100 - 1)
        return f"{cents // 100}.{cents % 100:02d}"

    def day(self) -> str:
        """Return a day in words."""
        return f"{self.draw.between(1, 28)} {self.draw.pick(_MONTHS)}"

    def _from_pool(self, name: str) -> str:
        left = [w for w in self.world.pools[name] if w not in self._used]
        found = self.draw.pick(left or self.world.pools[name])
        self._used.add(found)
        return found

    # ------------------------------------------------------------------ reading and changing them

    def at(self, path: str) -> Any:
        """Return the value of `alias.field`; the id field of a record counts as one of its fields."""
        alias, _, name = path.partition(".")
        return self.ids[alias] if name == self.world.kind_of(alias).id else self.fields[alias][name]

    def holds(self, need: Need, args: dict[str, str]) -> bool:
        """Return whether the records meet a need; `args` maps arguments to `alias.field`."""
        fact = self.at(f"{need.alias}.{need.field}")
        if need.test == "is":
            return bool(fact == need.operand)
        if need.test == "same":
            return bool(fact == self.at(need.operand))
        wanted = self.at(args[need.operand])
        return bool(fact == wanted if need.test == "arg" else decimal_of(fact) >= decimal_of(wanted))

    def violate(self, need: Need, args: dict[str, str]) -> None:
        """Change the records so that exactly this condition is not met."""
        if need.test == "is":
            self.fields[need.alias][need.field] = self.draw.pick(need.otherwise)
        elif need.test == "same":
            self.fields[need.alias][need.field] = self.other(need)
        elif need.test == "covers":
            wanted = self.at(args[need.operand])
            self.fields[need.alias][need.field] = self.less(wanted)
        else:
            raise ValueError(f"`{need.id}` cannot be violated: the argument follows the record")

    def other(self, need: Need) -> Any:
        """Return a value of a `same` need's field that differs: another record's id, or another amount."""
        now = self.at(f"{need.alias}.{need.field}")
        for alias, own in self.ids.items():
            if own == now and not self.world.kind_of(alias).of:
                return self.fresh(self.world.kind_of(alias))
        return self.more(now)

    def less(self, value: Any) -> Any:
        """Return an amount or number clearly below `value`, and above nothing."""
        if isinstance(value, int):
            return max(value - self.draw.between(1, max(1, value // 3)), 0)
        cents = int(decimal_of(value) * 100)
        cents = cents * self.draw.between(35, 90) // 100
        return f"{cents // 100}.{cents % 100:02d}"

    def more(self, value: Any) -> Any:
        """Return an amount or number above `value`."""
        if isinstance(value, int):
            return value + self.draw.between(1, 9)
        cents = int(decimal_of(value) * 100) + self.draw.between(150, 9000)
        return f"{cents // 100}.{cents % 100:02d}"

    # ------------------------------------------------------------------ everything around them

    def publish(self, withheld: frozenset[str]) -> None:
        """Lay out the tables: the true records but the withheld ones, look-alikes, and the index of last night."""
        for alias in self.ids:
            if alias not in withheld:
                self._put(self.world.kind_of(alias), self.ids[alias], self.fields[alias])
        for action in self.actions:
            if action.subject:
                self._double(action)
        read_whole = {r.kind for r in self.world.reads.values() if r.every and not r.index}
        for alias, entry in list(self.world.aliases.items()):
            if alias in self.ids and entry.kind in read_whole and not entry.fixed:
                self._crowd(alias, entry)
        self._index()

    def _put(self, kind: Kind, id_: str, fields: dict[str, Any]) -> None:
        self.live.setdefault(kind.name, {})[id_] = {kind.id: id_, **fields}

    def _double(self, action: Action) -> None:
        """Add a look-alike of the subject: same owner, same name but for the day, same amounts, in another state."""
        kind = self.world.kind_of(action.subject)
        twin = dict(self.fields[action.subject])
        thing, _, day = twin[LABEL].rpartition(" of ")
        other = self.day()
        while other == day:
            other = self.day()
        twin[LABEL] = f"{thing} of {other}"
        state = next(n for n in action.needs if n.alias == action.subject and n.test == "is")
        twin[state.field] = self.draw.pick(state.otherwise)
        twin_id = self.fresh(kind)
        names = {action.subject: twin_id}
        for alias in self.ids:  # its own details, with the same values
            detail = self.world.kind_of(alias)
            back = [f for f, how in detail.fields.items() if how == f"ref {action.subject}"]
            if (back or detail.of == action.subject) and detail.name != "request":
                names[alias] = twin_id if detail.of else self.fresh(detail)
                copy = {**self.fields[alias], **dict.fromkeys(back, twin_id)}
                self._put(detail, names[alias], copy)
                if not detail.of:
                    self.lookalikes[self.ids[alias]] = (names[alias],)
        for name, how in kind.fields.items():
            if how.startswith("ref ") and how[4:] in names:
                twin[name] = names[how[4:]]
        self._put(kind, twin_id, twin)
        self.lookalikes[self.ids[action.subject]] = (twin_id,)

    def _crowd(self, alias: str, entry: Alias) -> None:
        """Add records beside one that is found in a list, which do not meet what is needed of it."""
        kind = self.world.kinds[entry.kind]
        needs = [n for a in self.actions for n in a.needs if n.alias == alias and n.test == "is"]
        found = []
        for _ in range(2):
            copy = dict(self.fields[alias])
            for need in needs:
                copy[need.field] = self.draw.pick(need.otherwise)
            other = self.fresh(kind)
            self._put(kind, other, copy)
            found.append(other)
        self.lookalikes.setdefault(self.ids[alias], tuple(found))
        # A list must not give the right one away by its place.
        table = self.live.get(kind.name, {})
        self.live[kind.name] = {k: table[k] for k in self.draw.shuffled(list(table))}

    def _index(self) -> None:
        for tool in self.world.reads.values():
            if not tool.index:
                continue
            for id_, record in self.live.get(tool.kind, {}).items():
                old = {name: self._old(tool.kind, name, record[name]) for name in tool.index if name in record}
                self.index.setdefault(tool.kind, {})[id_] = old

    def _old(self, kind: str, name: str, now: Any) -> Any:
        """Return what a field said last night: for states and limits, something else."""
        if name == LABEL:
            return now
        states = [n for a in self.world.actions.values() for n in a.needs
                  if n.field == name and n.test == "is" and self.world.aliases[n.alias].kind == kind]  # fmt: skip
        if states and not isinstance(now, bool):
            values = [states[0].operand, *states[0].otherwise]
            return self.draw.pick([v for v in values if v != now])
        if isinstance(now, bool):
            return not now
        return self.more(now)
