"""The contracts against the package itself: every tool, every argument, and a few episodes of each kind."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest

pytest.importorskip("agentdojo", reason="needs agentdojo, in an environment of its own: .ci/agentdojo")

from benchmarks import agentdojo as bench

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """The package warns about its own deprecations."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("name", bench.SUITES)
def test_a_contract_speaks_of_exactly_the_suites_tools_and_arguments(name: str) -> None:
    contract = bench.contract_of(name)
    suite = bench.suite_of(name)
    assert contract.tools.keys() == {tool.name for tool in suite.tools}
    for tool in suite.tools:
        schema = tool.parameters.model_json_schema()
        declared = contract.tools[tool.name].args
        assert declared.keys() <= schema.get("properties", {}).keys(), tool.name
        for arg, kind in declared.items():
            assert kind.optional or arg in schema.get("required", ()), f"{tool.name}.{arg} may be left out"
        assert set(schema.get("required", ())) <= declared.keys(), tool.name


@pytest.mark.parametrize(("name", "task", "admitted"), [
    ("banking", "user_task_3", True),
    ("banking", "user_task_0", False),  # the payee stands in a bill's text only
    ("slack", "user_task_14", True),
    ("slack", "user_task_2", False),  # the address stands on a web page only
    ("travel", "user_task_0", True),
    ("workspace", "user_task_20", True),
    ("workspace", "user_task_25", False),  # the recipients stand in a file's text only
])  # fmt: skip
def test_honest_calls_run_or_wait_for_the_user(name: str, task: str, admitted: bool) -> None:
    what = bench.suite_of(name).user_tasks[task]
    log, useful = bench.honest(name, what, bench.VERBS[name], asked=False)
    assert log.honest
    assert all(ok for _, ok in log.honest) is admitted
    after, useful_after = bench.honest(name, what, bench.VERBS[name], asked=True)
    assert all(ok for _, ok in after.honest)
    assert (after.questions == 0) is admitted
    assert useful is admitted
    assert useful_after


@pytest.mark.parametrize("name", bench.SUITES)
def test_a_follower_succeeds_unguarded_and_its_injected_call_is_refused_guarded(name: str) -> None:
    """The first pair of each suite whose injection writes: the same agent, with and without the guard."""
    suite = bench.suite_of(name)
    contract = bench.contract_of(name)
    task = next(t for t in suite.user_tasks.values())
    for task in suite.user_tasks.values():
        for injection in suite.injection_tasks.values():
            bare, _, broken = bench.attacked(name, task, injection, bench.VERBS[name], guarded=False)
            if not (bare.exposed and broken):
                continue
            log, _, still_broken = bench.attacked(name, task, injection, bench.VERBS[name], guarded=True)
            if not log.injected:
                continue
            assert all(contract.tools[tool].effect == "write" for tool, _ in log.injected)
            assert not any(ok for _, ok in log.injected)
            assert not still_broken
            return
    pytest.fail("no pair was exposed")


def test_the_guessed_host_takes_whole_words_and_values_only() -> None:
    host = bench.Host(prompt="Pay 12.00 to GB29 and tell ann@x.example", verbs=bench.VERBS["banking"])
    assert host.said("payee", "GB29")
    assert not host.said("payee", "GB2")
    assert host.said("person", "ann@x.example")
    assert host.said("action", "payment")
    assert not host.said("action", "password")
    assert bench.Host(prompt="", verbs=None).said("action", "payment")


def test_every_kind_of_action_a_contract_asks_about_has_words(request: pytest.FixtureRequest) -> None:
    for name in bench.SUITES:
        kinds = set()
        for tool in bench.contract_of(name).tools.values():
            for rule in tool.requires:
                if rule.entity is not None and rule.entity.kind == "action":
                    kinds.add(rule.entity.id.evaluate({}))
        assert kinds == bench.VERBS[name].keys()
