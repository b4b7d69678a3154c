"""What the suite consists of, counted from the rendered items, and frozen by digests."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import msgspec
import pytest

from tallystick.errors import InputError
from tallystick.evals.evidence import contract, manifest
from tallystick.evals.evidence.case import PROTOCOLS, Case, edges, item_digest
from tallystick.evals.evidence.plan import SEED
from tallystick.evals.evidence.world import DOMAINS, world


def test_the_composition_is_that_of_the_specification() -> None:
    """656 cases, 501 nodes, 439 edges, 103 with forks, 96 with joins; every number is counted from distinct items."""
    found = manifest.list_composition()
    assert found.keys() == {"protocols", "domains", "v3", "reads", "manifest_ok"}
    assert found["protocols"] == {"Legacy": 86, "V0": 144, "V1": 162, "V2": 132, "V3": 132}
    assert found["v3"] == {"nodes": 501, "edges": 439, "forks": 103, "joins": 96}
    assert set(found["domains"]) == set(DOMAINS)
    assert sum(found["domains"].values()) == 656
    assert all(5.6 <= mean <= 7.1 for mean in found["reads"]["mean_by_protocol"].values())
    assert found["reads"]["mean_by_protocol"].keys() == set(PROTOCOLS)
    assert found["reads"]["max"] == 17
    assert found["manifest_ok"] is True


def test_every_domain_has_cases_in_every_protocol() -> None:
    """No cell of domain and protocol is empty."""
    assert all(n > 0 for row in manifest.by_domain().values() for n in row.values())


def test_one_changed_letter_of_a_case_breaks_the_manifest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The digests cover what is rendered, and what is private."""
    whole = manifest.suite()
    first = whole[100]
    text = msgspec.structs.replace(first.public, text=first.public.text + ".")
    private = msgspec.structs.replace(first.private, label="DEFER" if first.private.label != "DEFER" else "BLOCK")
    for changed in (msgspec.structs.replace(first, public=text), msgspec.structs.replace(first, private=private)):
        assert manifest.digests([changed])[first.id] != manifest.stored()["cases"][first.id]
        assert sum(a != b for a, b in zip(manifest.digests([changed])[first.id],
                                          manifest.stored()["cases"][first.id], strict=True)) == 1  # fmt: skip
    monkeypatch.setattr(manifest, "suite", lambda seed=SEED: whole[:-1])
    assert manifest.manifest_ok() is False


def test_cases_are_distinct_beyond_their_ids(cases: tuple[Case, ...]) -> None:
    """With every id and number masked, most items still differ: other values of names, tools, layouts, statements."""
    masked = {re.sub(r"[A-Z]{2}-\d{4}|\d+", "#", msgspec.json.encode(c.public).decode()) for c in cases}
    assert len({item_digest(c.public) for c in cases}) == 656
    assert len(masked) > 450
    private = {
        re.sub(r"[A-Z]{2}-\d{4}", "#", msgspec.json.encode([c.private.evidence, c.records]).decode()) for c in cases
    }
    assert len(private) == 656


def test_whether_to_act_is_not_in_the_text(cases: tuple[Case, ...]) -> None:
    """V0 and V1 read alike: no line of a V0 task, with names masked, is one that V1 tasks do not have too."""

    def lines(protocol: str) -> set[str]:
        return {
            re.sub(r"[A-Z]{2}-\d{4}", "#", line)
            for c in cases if c.protocol == protocol for line in c.public.text.splitlines()
        }  # fmt: skip

    assert len(lines("V0") - lines("V1")) <= len(lines("V0")) // 3
    wanted = {line for line in lines("V0") if line.startswith("What is wanted")}
    assert wanted == {line for line in lines("V1") if line.startswith("What is wanted")}


def test_chains_are_linear_and_graphs_are_not(cases: tuple[Case, ...]) -> None:
    """V2 is one chain each; every V3 graph is acyclic, connected, and forks or joins."""
    for case in cases:
        if case.protocol not in ("V2", "V3"):
            continue
        nodes = [a.node for a in case.private.actions]
        pairs = edges(case.private.actions)
        assert all(nodes.index(a) < nodes.index(b) for a, b in pairs)
        assert len({a.tool for a in case.private.actions}) == len(nodes)
        if case.protocol == "V2":
            assert pairs == list(itertools.pairwise(nodes))
            assert len(nodes) >= 2
        else:
            assert len(pairs) >= len(nodes) - 1
            starts, ends = [a for a, _ in pairs], [b for _, b in pairs]
            assert len(set(starts)) < len(starts) or len(set(ends)) < len(ends)


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_contract_files_are_what_the_worlds_say(domain: str) -> None:
    """`python -m tallystick.evals.evidence contracts` would change nothing, and the contract is valid."""
    path = Path(contract.__file__).parent / "contracts" / f"{domain}.yaml"
    assert path.read_text(encoding="utf-8") == contract.text(domain)
    compiled = contract.contract(domain)
    place = world(domain)
    assert set(compiled.tools) == {*place.reads, *place.actions, "submit"}
    assert all(compiled.tools[a].requires for a in place.actions)


def test_another_seed_is_another_suite_of_the_same_composition() -> None:
    """A parallel suite has the same plan and shares no item with the frozen one."""
    from tallystick.evals.evidence.build import build
    from tallystick.evals.evidence.plan import slots

    other = [build(slot, "held-out") for slot in slots("held-out")[::13]]
    frozen = {digests[0] for digests in manifest.stored()["cases"].values()}
    assert not frozen & {item_digest(c.public) for c in other}


def test_unknown_names_are_one_clear_error() -> None:
    """Cases and domains that do not exist are bad input."""
    with pytest.raises(InputError, match="there is no case `x`"):
        manifest.case("x")
    with pytest.raises(InputError, match="there is no domain `x`"):
        world("x")
