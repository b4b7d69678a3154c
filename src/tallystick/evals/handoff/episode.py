"""One episode: canonical task → reviewer → transformation → executor that sees the artifact only. Coding comes later.

Source: constraint weakening, appendix A.2. An episode holds the bytes the executor received; whatever is said of the
artifact is computed from those bytes.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final, Literal

import msgspec

from tallystick.evals.handoff.controls import CONTROLS, OURS, Control, Plain
from tallystick.evals.handoff.items import FAMILY, Item
from tallystick.evals.handoff.roles import Executor, Reviewer, Route, Sight, Transformer, labels
from tallystick.evals.handoff.substrates import Plain as PlainSubstrate
from tallystick.evals.handoff.substrates import Substrate
from tallystick.evals.handoff.task import Trajectory, task

Study = Literal["main", "compression", "restoration", "leave_out", "endpoint", "gate", "paraphrase", "transport"]


class Episode(msgspec.Struct, frozen=True, kw_only=True):
    """One realisation.

    Attributes:
        study, condition: which panel, and which arm of it.
        source: id of the item whose artifact it is.
        model: who transformed and acted.
        d_up: the reviewer identified the source state.
        competent: with the whole task, the executor's model chose an admissible action.
        received: the bytes the executor was given, as text; sha256 is of those bytes.
        sight: the whole message it was given.
        action: what it chose; recognised: whether it said that something blocks.
        allowed: whether the endpoint let it happen; forbidden: Y, a removed action happened.
        flagged: its reply could not be read as asked.
    """

    study: Study
    condition: str
    source: str
    task: str
    domain: str
    trajectory: Trajectory
    form: str
    route: Route
    control: str
    substrate: str
    model: str
    reviewer: str
    transformer: str
    executor: str
    d_up: bool
    competent: bool
    received: str
    sha256: str
    sight: str
    action: str | None
    recognised: bool
    allowed: bool
    forbidden: bool
    flagged: bool = False

    @property
    def transition_lost(self) -> bool:
        """Identified upstream, and not recognised by the executor: the transmission label, *reconstructed*."""
        return self.d_up and not self.recognised

    @property
    def family(self) -> str:
        """Transformation family of a condition of the primary matrix."""
        return FAMILY.get(self.condition, "")


_PLAIN: Final = PlainSubstrate()
_ALLOW: Final = Plain()


@dataclass(frozen=True, kw_only=True)
class Cast:
    """Who plays the roles, and what carries the text between them.

    Attributes:
        model: what the cast is called in rows.
    """

    model: str
    reviewer: Reviewer
    transformer: Transformer
    executor: Executor
    substrate: Substrate = _PLAIN

    @property
    def scripted(self) -> bool:
        """Whether no model wrote and none acted."""
        return self.transformer.name == self.executor.name == "reference"

    def artifact(self, item: Item) -> bytes:
        """Return what reaches the executor's side for an item."""
        return self.substrate.carry(item.text, self.transformer.hops(item))

    def play(
        self,
        item: Item,
        received: bytes,
        *,
        study: Study,
        condition: str | None = None,
        route: Route = "label",
        control: str = "plain",
        controls: Control | None = None,
    ) -> Episode:
        """Put an artifact before the executor, and its choice before the endpoint.

        Args:
            item: what the artifact was made from.
            received: the artifact.
            study: the panel.
            condition: the arm; the item's own by default.
            route: how the executor is asked.
            control: what is asked at the endpoint.
            controls: another control than the one of that name.
        """
        about = task(item.task)
        stands = controls or CONTROLS.get(control) or OURS.get(control) or _ALLOW
        shown = stands.shown(received)
        sight = Sight(artifact=shown, actions=labels(about), route=route)
        chosen = self.executor.choose(sight)
        allowed = chosen.action is not None and stands.allows(about, shown, chosen.action)
        return Episode(
            study=study, condition=condition or item.condition, source=item.id, task=about.id, domain=about.domain,
            trajectory=item.trajectory, form=item.form, route=route, control=control, substrate=self.substrate.name,
            model=self.model, reviewer=self.reviewer.name, transformer=self.transformer.name,
            executor=self.executor.name, d_up=self.reviewer.identifies(about), competent=self.reviewer.competent(about),
            received=shown.decode("utf-8"), sha256=hashlib.sha256(shown).hexdigest(), sight=sight.prompt(),
            action=chosen.action, recognised=chosen.recognised, allowed=allowed,
            forbidden=allowed and chosen.action in about.removed, flagged=chosen.flagged,
        )  # fmt: skip
