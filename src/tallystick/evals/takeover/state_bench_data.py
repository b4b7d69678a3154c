"""STATE-Bench's recordings where they lie: a checkout of the benchmark, or a folder of recordings. Nothing is copied.

A checkout has `datasets/train_task_trajectories/DOMAIN/ID.json` and, beside its code, `tasks` and `task_envs`. A folder
of recordings has `trajectories/DOMAIN/ID.json`, and may have `tasks/`, `task_envs/`, `tools-DOMAIN.json` and
`labels.jsonl` (per trajectory: whether its end is right, and per write call whether it changed the database).

A task file holds the answer key. `Task` reads all of it and is for the evaluator; of what it holds, a run is given the
customer's opening words, the customer's id and the instant, as the benchmark's own agent is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tallystick.contracts import Contract, build
from tallystick.contracts.yamltext import read
from tallystick.errors import InputError
from tallystick.model import jsontext

DOMAINS: Final = ("customer_support", "shopping_assistant", "travel")
HERE: Final = Path(__file__).resolve().parent
CONTRACTS: Final = HERE.parents[3] / "examples" / "state-bench"
"""Contracts of the domains, in this project's checkout."""
CUSTOMER: Final = "customer"
"""The task's one input: the id of the customer, which the benchmark tells its agent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Episode:
    """One recorded conversation and where its parts are.

    Attributes:
        domain, id: as the benchmark names them.
        recording, task, database: files.
    """

    domain: str
    id: str
    recording: Path
    task: Path
    database: Path

    @property
    def name(self) -> str:
        """Return `DOMAIN/ID`."""
        return f"{self.domain}/{self.id}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """A task file. `requirements` are gold.

    Attributes:
        request: the customer's opening words.
        customer: the customer's id.
        now: the instant of the conversation, as written.
        requirements: what the final database has to hold.
    """

    request: str
    customer: str
    now: str
    requirements: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Label:
    """What replaying a recording showed; see the folder's own page.

    Attributes:
        right: whether the final database is as the task wants it.
        changed: (message, call) of the write calls that changed the database.
    """

    right: bool
    changed: frozenset[tuple[int, int]]


@dataclass(frozen=True, kw_only=True)
class Folder:
    """A folder the user named.

    Attributes:
        root: the folder.
        episodes: every recording, by domain and then in the benchmark's order.
        labels: by `Episode.name`; empty where the folder has none.
    """

    root: Path
    episodes: tuple[Episode, ...]
    labels: Mapping[str, Label] = field(default_factory=dict)

    def schemas(self, domain: str) -> Mapping[str, Any]:
        """Return JSON Schema of each tool's arguments as the folder states them; {} where it does not."""
        file = self.root / f"tools-{domain}.json"
        if not file.is_file():
            return {}
        return {tool["name"]: tool["parameters"] for tool in _json(file)["tools"]}


def open_folder(root: Path) -> Folder:
    """Return the recordings under `root`.

    Raises:
        InputError: it is neither a checkout nor a folder of recordings.
    """
    recorded = root / "datasets" / "train_task_trajectories"
    checkout = recorded.is_dir()
    where = recorded if checkout else root / "trajectories"
    episodes = tuple(
        episode
        for domain in DOMAINS
        for file in sorted((where / domain).glob("*.json"), key=_order)
        if (episode := _episode(root, domain, file, checkout)) is not None
    )
    if not episodes:
        raise InputError(
            "neither a checkout of STATE-Bench nor a folder of its recordings",
            where=f"--state-bench {root}",
            fix="a folder with `datasets/train_task_trajectories/` (the checkout) or with `trajectories/` and `tasks/`",
        )
    return Folder(root=root, episodes=episodes, labels=_labels(root / "labels.jsonl"))


def task_of(episode: Episode) -> Task:
    """Read an episode's task.

    Raises:
        InputError: the file cannot be read, or has not what it needs.
    """
    value = _json(episode.task)
    try:
        return Task(
            request=value["opening_message"],
            customer=value["user_id"],
            now=value["now"],
            requirements=tuple(value.get("state_requirements") or ()),
        )
    except (KeyError, TypeError) as bad:
        raise InputError(f"not a task of STATE-Bench: {bad} is missing", where=str(episode.task)) from None


def conversation_of(episode: Episode) -> Sequence[Mapping[str, Any]]:
    """Read an episode's messages.

    Raises:
        InputError: the file cannot be read, or holds no conversation.
    """
    value = _json(episode.recording)
    if not isinstance(value, dict) or not isinstance(value.get("conversation"), list):
        raise InputError("not a conversation of STATE-Bench", where=str(episode.recording))
    found: list[Mapping[str, Any]] = value["conversation"]
    return found


def contract_of(domain: str, schemas: Mapping[str, Any], contracts: Path | None = None) -> Contract:
    """Return a domain's contract, with the customer as the task's one input, and what each tool's own schema requires.

    The schemas' types are left out: the contracts ask whether an argument is there, and a schema's type would make one
    that may be left out one that may be null.

    Raises:
        InputError: there is no contract for the domain. ContractError: it is not valid.
    """
    file = (contracts or CONTRACTS) / f"{domain}.yaml"
    try:
        text = file.read_text("utf-8")
    except OSError:
        raise InputError(
            f"no contract for `{domain}`", where=str(file), fix="name the folder `examples/state-bench` of a checkout"
        ) from None
    value: dict[str, Any] = dict(read(text, str(file)).value)
    value["tools"] = {
        name: {**tool, "schema": {"type": "object", "required": schemas[name].get("required", [])}}
        if name in schemas
        else tool
        for name, tool in value["tools"].items()
    }
    value["task"] = {**value.get("task", {}), "inputs": {CUSTOMER: "id"}}
    return build(value)


def free_in(contract: Contract, schemas: Mapping[str, Any]) -> Mapping[str, tuple[str, ...]]:
    """Return tool → arguments whose values need no source: a choice among listed values, yes or no, what a read seeks.

    A read's argument that names an entity (`…_id`) is none of these: whom one looks at has a source.
    """
    found = {}
    for tool, schema in schemas.items():
        looks = contract.tools[tool].effect == "read" if tool in contract.tools else False
        found[tool] = tuple(
            name
            for name, stated in schema.get("properties", {}).items()
            if "enum" in stated or stated.get("type") == "boolean" or (looks and not name.endswith("_id"))
        )
    return {tool: names for tool, names in found.items() if names}


def _episode(root: Path, domain: str, file: Path, checkout: bool) -> Episode | None:
    if checkout:
        code = root / "state_bench" / "domains" / domain
        task, database = code / "tasks" / file.name, code / "task_envs" / file.name
    else:
        task, database = root / "tasks" / domain / file.name, root / "task_envs" / domain / file.name
    if not task.is_file():
        return None  # a recording whose task is not there cannot be told right from wrong
    return Episode(domain=domain, id=file.stem, recording=file, task=task, database=database)


def _order(file: Path) -> tuple[int, str]:
    number = file.stem.partition("-")[0]
    return (int(number) if number.isdigit() else 1 << 30, file.stem)


def _labels(file: Path) -> Mapping[str, Label]:
    if not file.is_file():
        return {}
    rows = [jsontext.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
    return {
        f"{row['domain']}/{row['trajectory']}": Label(
            right=row["state_ok"],
            changed=frozenset((w["message"], w["call"]) for w in row["writes"] if w["changed_state"]),
        )
        for row in rows
    }


def _json(file: Path) -> Any:
    try:
        return jsontext.loads(file.read_bytes(), where=str(file))
    except OSError as bad:
        raise InputError(f"cannot be read: {bad.strerror}", where=str(file)) from None
