"""Live worlds for STATE-Bench: the benchmark's own simulator out of a checkout the user names, or recorded answers.

The simulator is plain Python without dependencies: an environment per domain over one JSON database, and a scorer that
compares the final database with a task's requirements. Its modules are imported from the checkout under their own names
and taken out of `sys.modules` again, so that two checkouts in one process do not mix. Naming a checkout runs its code.

Without one, a *recorded* world answers a call only as the recording answered that very call later on, and knows nothing
else: every figure from it is labelled "recorded answers".
"""

from __future__ import annotations

import copy
import importlib
import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Protocol

from tallystick.errors import InputError
from tallystick.evals.takeover.state_bench_data import Episode
from tallystick.evals.takeover.surface import Tools
from tallystick.model import jsontext

PACKAGE: Final = "state_bench"
_IMPORTING: Final = threading.Lock()
Snapshot = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Entity kind → key → record."""


class World(Protocol):
    """A world of one episode: tools that act on it, and for the evaluator whether it is as the task wants it."""

    label: str
    tools: Tools

    def right(self) -> bool: ...  # noqa: D102 - see the class

    @contextmanager
    def fork(self) -> Iterator[Tools]:
        """Yield the tools of a replica of the world as it is now."""


class Simulator:
    """The simulator of a checkout.

    Args:
        checkout: folder that holds the package `state_bench`.

    Raises:
        InputError: there is none, or it cannot be imported.
    """

    def __init__(self, checkout: Path) -> None:
        self.checkout = checkout
        if not (checkout / PACKAGE / "domains").is_dir():
            raise InputError(
                "this is no checkout of STATE-Bench: there is no simulator in it",
                where=str(checkout),
                fix=f"a folder with `{PACKAGE}/domains/`",
            )
        self._modules: dict[str, ModuleType] = {}

    def open(self, episode: Episode, now: str) -> Simulated:
        """Open a fresh world over an episode's database.

        Raises:
            InputError: the simulator does not have the domain, or cannot read the database.
        """
        environment = _only(self._module(f"domains.{episode.domain}.environment"), "tool_handlers")
        database = _only(self._module(f"domains.{episode.domain}.schemas"), "deep_copy")
        try:
            data = database.load(episode.database)
        except (OSError, ValueError, TypeError, KeyError) as bad:
            raise InputError(
                f"the simulator cannot read it: {type(bad).__name__}: {bad}", where=str(episode.database)
            ) from None
        return Simulated(self, episode, environment(data, now=now))

    def schemas(self, domain: str) -> Mapping[str, Any]:
        """Return JSON Schema of each tool's arguments."""
        listed = self._module(f"domains.{domain}.tools").TOOL_SCHEMAS
        return {tool["name"]: jsontext.loads(json.dumps(tool["parameters"])) for tool in listed}

    def score(self, episode: Episode, before: Any, after: Any) -> bool:
        """Return what the benchmark's own scorer says: every requirement met, and nothing else changed."""
        schemas, scoring = self._module("schemas"), self._module("scoring")
        task = json.loads(episode.task.read_bytes())
        # The file the episode was opened from, wherever the process runs.
        task["task_env_path"] = str(episode.database.resolve())
        score = scoring.evaluate_state_requirements(
            schemas.TaskDefinition.from_dict(task), schemas.StateDiff.compute(before, after)
        )
        return score is not None and score.score == 1

    def _module(self, name: str) -> ModuleType:
        full = f"{PACKAGE}.{name}"
        if full not in self._modules:
            with _IMPORTING, _imports_from(self.checkout, self._modules):
                try:
                    importlib.import_module(full)
                except Exception as bad:  # noqa: BLE001 - foreign code; the user is told what it raised
                    raise InputError(
                        f"its simulator cannot be imported: {type(bad).__name__}: {bad}", where=str(self.checkout)
                    ) from None
        return self._modules[full]


class Simulated:
    """A live world of the simulator. Its truth is the benchmark's own scorer."""

    label = "simulator"

    def __init__(self, simulator: Simulator, episode: Episode, environment: Any, before: Any = None) -> None:
        self._simulator = simulator
        self._episode = episode
        self._environment = environment
        self._before = before if before is not None else copy.deepcopy(environment.get_full_snapshot())
        self.tools: Tools = {name: _tool(name, fn) for name, fn in environment.tool_handlers.items()}

    def right(self) -> bool:
        """Return whether the database is as the task wants it, and nothing else was changed."""
        return self._simulator.score(self._episode, self._before, copy.deepcopy(self._environment.get_full_snapshot()))

    def snapshot(self) -> Any:
        """Return the database as it is now, as the simulator writes it."""
        return self._environment.get_full_snapshot()

    def fingerprint(self) -> str:
        """Return a text that is equal for equal databases."""
        return json.dumps(self.snapshot(), sort_keys=True)

    def copied(self) -> Simulated:
        """Return a world of its own in this state."""
        return Simulated(self._simulator, self._episode, copy.deepcopy(self._environment), self._before)

    @contextmanager
    def fork(self) -> Iterator[Tools]:
        """Yield the tools of a replica of the world as it is now."""
        yield self.copied().tools


class UnrecordedError(LookupError):
    """A recorded world was asked what its recording never asked: nothing is known of what would have come of it."""


class Recorded:
    """A world that only knows the rest of one recording.

    Args:
        later: (tool, args, result) of the calls after the frontier, in order.
        wanted: indices in `later` of the calls that the recording shows to bring about its right end.
        names: every tool there is.
        writes: whether a call has effects, asked of calls the recording does not know.
    """

    label = "recorded answers"

    def __init__(
        self,
        later: Sequence[tuple[str, Mapping[str, Any], Any]],
        wanted: Sequence[int],
        names: Sequence[str],
        writes: Callable[[str, Mapping[str, Any]], bool],
    ) -> None:
        self._later = later
        self._wanted = frozenset(wanted)
        self._writes = writes
        self._made: list[int] = []
        self._astray = False
        self.tools: Tools = {name: self._answering(name) for name in names}

    def right(self) -> bool:
        """Return whether the calls that brought about the recording's end were made, each once, and no other write."""
        return not self._astray and sorted(self._made) == sorted(self._wanted)

    @contextmanager
    def fork(self) -> Iterator[Tools]:
        """Yield the tools of a replica: the same answers, counted apart."""
        other = Recorded(self._later, sorted(self._wanted), list(self.tools), self._writes)
        other._made, other._astray = list(self._made), self._astray
        yield other.tools

    def _answering(self, name: str) -> Callable[..., Any]:
        def call(**args: Any) -> Any:
            asked = stated(args)
            same = [at for at, (tool, given, _) in enumerate(self._later) if tool == name and stated(given) == asked]
            if not same:
                self._astray = self._astray or self._writes(name, args)
                raise UnrecordedError(f"the recording has no answer of `{name}` to these arguments")
            at = next((at for at in same if at not in self._made), same[-1])
            if at in self._wanted:
                self._made.append(at)
            return copy.deepcopy(self._later[at][2])

        call.__name__ = name
        return call


def stated(args: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments without those that say nothing: the tools take "" for an argument that is left out."""
    return {name: value for name, value in args.items() if value != ""}


def exact(value: Any) -> Any:
    """Return JSON values of the simulator, whose numbers are floats, as exact ones."""
    return jsontext.loads(json.dumps(value))


def plain(value: Any) -> Any:
    """Return arguments as the simulator takes them: its numbers are floats, and nothing of ours reads them."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def _tool(name: str, handler: Callable[[Any], Any]) -> Callable[..., Any]:
    def call(**args: Any) -> Any:
        return exact(handler(plain(args)))

    call.__name__ = name
    call.__doc__ = handler.__doc__
    return call


def _only(module: ModuleType, member: str) -> Any:
    """Return the one class defined in `module` that has `member`."""
    found = [
        item
        for item in vars(module).values()
        if isinstance(item, type) and item.__module__ == module.__name__ and hasattr(item, member)
    ]
    if len(found) != 1:
        raise InputError(
            f"`{module.__name__}` has {len(found)} classes with `{member}`; a version of STATE-Bench that is not known"
        )
    return found[0]


@contextmanager
def _imports_from(folder: Path, kept: dict[str, ModuleType]) -> Iterator[None]:
    """Import `state_bench` from `folder` alone; what is imported is moved from `sys.modules` to `kept`."""
    outside = {name: sys.modules.pop(name) for name in list(sys.modules) if _is_ours(name)}
    sys.modules.update(kept)
    sys.path.insert(0, str(folder))
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # the user's checkout stays as it is
    importlib.invalidate_caches()
    try:
        yield
        kept.update({name: module for name, module in sys.modules.items() if _is_ours(name)})
    finally:
        sys.dont_write_bytecode = written
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if _is_ours(name)]:
            del sys.modules[name]
        sys.modules.update(outside)


def _is_ours(name: str) -> bool:
    return name == PACKAGE or name.startswith(f"{PACKAGE}.")
