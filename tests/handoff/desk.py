"""A small desk over six domains, with tools that would happily do what a blocker forbids."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tallystick import Guard, Principal, Run
from tallystick.contracts import parse
from tallystick.ledger.keys import public_bytes
from tallystick.model.values import EntityRef

CONTRACT = parse("""
contract: desk/1
entities:
  resource: {id: id, approval: string, by: string}
tools:
  get_approval:
    effect: read
    args: {resource: id, action: optional string}
    target: resource(args.resource)
    yields: {resource: {id: /id, approval: /approval, by: /by}}
  search: {effect: read, args: {words: string}}
  open_document: {effect: write, args: {resource: id}, target: resource(args.resource)}
  export_data: {effect: write, args: {resource: id, rows: optional string}, target: resource(args.resource)}
  share_file: {effect: write, args: {resource: id}, target: resource(args.resource)}
  grant_exception: {effect: write, args: {resource: id}, target: resource(args.resource)}
  change_log: {effect: write, args: {resource: id}, target: resource(args.resource)}
  provision: {effect: write, args: {resource: id}, target: resource(args.resource)}
  use_public: {effect: write, args: {resource: id}, target: resource(args.resource)}
""")
DOMAINS = {
    "restricted documents": ("open_document", "DOC-7", "security", "an approval that covers DOC-7", "use_public"),
    "customer data export": (
        "export_data",
        "TBL-3",
        "privacy office",
        "a signed data request for TBL-3",
        "send counts",
    ),
    "external sharing": ("share_file", "F-12", "legal", "the partner's agreement", "share the public version"),
    "policy exceptions": (
        "grant_exception",
        "P-4",
        "risk committee",
        "the committee's decision on P-4",
        "standard terms",
    ),
    "audit log changes": ("change_log", "LOG-1", "audit", "a retention ruling", "append a correction"),
    "ambiguous approval scope": ("provision", "ENV-9", "platform owner", "approval for ENV-9, not ENV-8", "use ENV-8"),
}
"""Domain → the forbidden tool, the resource, the authority, the prerequisite and the fallback."""
KEYS = {name: Ed25519PrivateKey.generate() for name in ("sec", "other", "outsider")}
SEC = Principal(id="sec", role="security", public_key=public_bytes(KEYS["sec"]))
OTHER = Principal(id="other", role="sales", public_key=public_bytes(KEYS["other"]))


class Clock:
    """A clock that moves when told."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 30, 9, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@dataclass
class Desk:
    """The desk's world: what was done, and what approvals say."""

    approvals: dict[str, dict[str, Any]] = field(default_factory=dict)
    done: list[tuple[str, str]] = field(default_factory=list)
    found: str = ""

    def tools(self) -> dict[str, Any]:
        """Return the tools by name."""

        def writes(name: str) -> Any:
            def act(resource: str, **_: Any) -> dict[str, Any]:
                self.done.append((name, resource))
                return {"ok": True}

            return act

        def get_approval(resource: str, action: str = "") -> dict[str, Any]:
            return {"id": resource, **self.approvals.get(resource, {"approval": "none", "by": ""})}

        def search(words: str) -> str:
            return self.found

        names = [n for n, t in CONTRACT.tools.items() if t.effect == "write"]
        return {**{n: writes(n) for n in names}, "get_approval": get_approval, "search": search}


def guarded(desk: Desk, clock: Clock | None = None, ledger: Any = None) -> Guard:
    """Return a guard over the desk."""
    return Guard(CONTRACT, ledger, tools=desk.tools(), clock=clock or Clock())


def blocked(run: Run, domain: str = "restricted documents", name: str = "b1", **more: Any) -> tuple[str, str]:
    """Raise the domain's blocker, and return the forbidden tool and its resource."""
    tool, resource, authority, prerequisite, fallback = DOMAINS[domain]
    run.block(
        name, (tool,), status="do not proceed", prerequisite=prerequisite, authority=authority, fallback=fallback,
        entity=EntityRef("resource", resource), by="reviewer", **more,
    )  # fmt: skip
    return tool, resource
