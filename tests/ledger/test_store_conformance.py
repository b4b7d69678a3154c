"""What every store promises; run against each driver."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tallystick.errors import InputError, LeaseHeldError, LedgerError, StaleWriterError
from tallystick.ledger.memory import MemoryStore
from tallystick.ledger.sqlite import SQLiteStore
from tallystick.ledger.store import MAX_LETTER_BYTES, Head, Letter, RunRow, Store
from tallystick.model.events import GENESIS, Ended, Said, Sealed, seal
from tests.ledger.samples import AT, BODIES, NOW, chain, filled, started, words


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "ledger.sqlite")
    yield made
    made.close()


@pytest.mark.parametrize("durable", [True, False])
@pytest.mark.parametrize("at_once", [True, False])
def test_what_is_appended_is_read_back_byte_for_byte(store: Store, durable: bool, at_once: bool) -> None:
    lease = store.acquire("r", "test", NOW, 60)
    events = chain("r")
    if at_once:
        store.append_many(lease, events, durable)
    else:
        for event in events:
            store.append(lease, event, durable)
    assert list(store.events("r")) == events
    assert [e.raw for e in store.events("r", 2)] == [e.raw for e in events[2:]]
    assert store.head("r") == Head(seq=5, digest=events[-1].digest)


def test_an_unknown_run_is_empty(store: Store) -> None:
    assert list(store.events("nobody")) == []
    assert store.head("nobody") == Head(seq=0, digest=GENESIS)
    assert store.runs() == ()


def test_reading_after_the_head_yields_nothing(store: Store) -> None:
    filled(store)
    assert list(store.events("r", 5)) == []
    assert list(store.events("r", 99)) == []


def test_many_events_are_read_in_order(store: Store) -> None:
    lease, events = filled(store)
    more = chain("r", tuple(Said(role="user", text=str(n)) for n in range(200)), after=events[-1])
    store.append_many(lease, more, durable=False)
    assert [e.event.seq for e in store.events("r")] == list(range(1, 206))
    assert [e.event.seq for e in store.events("r", 63)] == list(range(64, 206))


def test_events_appended_while_reading_are_seen_or_not_but_never_broken(store: Store) -> None:
    lease, events = filled(store)
    seen = 0
    last = events[-1]
    for item in store.events("r"):
        seen += 1
        assert item.event.seq == seen
        if seen <= 40:
            [last] = chain("r", (Said(role="user", text="more"),), after=last)
            store.append(lease, last, durable=False)
    assert 5 <= seen <= 45


def test_runs_are_listed_with_start_length_status_and_parent(store: Store) -> None:
    filled(store, "first")
    filled(store, "child", (started(parent="first"), Said(role="user", text="hi")))
    lease, events = filled(store, "late", (started(), Ended(status="BLOCKED")))
    store.append_many(lease, chain("late", (Said(role="tool", text="late"),), after=events[-1]), durable=False)
    store.acquire("leased only", "test", NOW, 60)
    assert store.runs() == (
        RunRow(run="first", started_at=AT, events=5, status="CERTIFIED", parent=None),
        RunRow(run="child", started_at=AT, events=2, status=None, parent="first"),
        RunRow(run="late", started_at=AT, events=3, status="BLOCKED", parent=None),
    )


def test_the_last_run_ended_gives_the_status(store: Store) -> None:
    filled(store, "r", (started(), Ended(status="IN_DOUBT"), Ended(status="CERTIFIED")))
    assert store.runs()[0].status == "CERTIFIED"


def test_a_live_lease_refuses_newcomers_and_says_who_and_until_when(store: Store) -> None:
    store.acquire("r", "worker-1", NOW, 60)
    with pytest.raises(LeaseHeldError, match=r"worker-1.*2026-03-11T09:01:00") as refused:
        store.acquire("r", "worker-2", NOW + timedelta(seconds=59.9), 60)
    assert refused.value.fix
    with pytest.raises(LeaseHeldError):
        store.acquire("r", "worker-1", NOW, 60)  # the same name is another writer all the same
    store.acquire("other run", "worker-2", NOW, 60)


@pytest.mark.parametrize("way", ["expiry", "force", "release"])
def test_a_takeover_raises_the_epoch_and_fences_the_old_writer(store: Store, way: str) -> None:
    old, events = filled(store)
    if way == "release":
        store.release(old)
    now = NOW + timedelta(seconds=60) if way == "expiry" else NOW
    new = store.acquire("r", "successor", now, 60, way == "force")
    assert new.epoch > old.epoch
    [follows] = chain("r", (Said(role="user", text="x"),), after=events[-1])
    with pytest.raises(StaleWriterError, match="epoch"):
        store.append(old, follows, durable=True)
    with pytest.raises(StaleWriterError):
        store.append_many(old, [follows], durable=True)
    with pytest.raises(StaleWriterError):
        store.renew(old, now, 60)
    store.release(old)  # nothing to give back; the successor keeps its lease
    assert store.head("r").seq == 5
    store.append(new, follows, durable=True)
    assert store.head("r").seq == 6


def test_a_released_lease_writes_nothing_more(store: Store) -> None:
    lease, events = filled(store)
    store.release(lease)
    store.release(lease)
    [follows] = chain("r", (Said(role="user", text="x"),), after=events[-1])
    with pytest.raises(StaleWriterError, match="nobody holds"):
        store.append(lease, follows, durable=False)


def test_an_expired_lease_writes_and_renews_until_somebody_takes_over(store: Store) -> None:
    lease, events = filled(store)
    late = NOW + timedelta(hours=1)
    renewed = store.renew(lease, late, 60)
    assert (renewed.epoch, renewed.expires) == (lease.epoch, late + timedelta(seconds=60))
    with pytest.raises(LeaseHeldError):
        store.acquire("r", "b", late, 60)
    store.append(renewed, chain("r", (Said(role="user", text="x"),), after=events[-1])[0], durable=False)


def test_two_acquisitions_at_the_same_instant_cannot_both_win(store: Store) -> None:
    won: list[int] = []
    barrier = threading.Barrier(8)

    def contend(n: int) -> None:
        barrier.wait()
        with contextlib.suppress(LeaseHeldError):
            won.append(store.acquire("r", f"w{n}", NOW, 60).epoch)

    threads = [threading.Thread(target=contend, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert won == [1]


def test_threads_writing_different_runs_do_not_disturb_each_other(store: Store) -> None:
    def write(run: str) -> None:
        lease = store.acquire(run, run, NOW, 60)
        for event in words(run, 50):
            store.append(lease, event, durable=False)

    threads = [threading.Thread(target=write, args=(f"run-{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n in range(4):
        assert list(store.events(f"run-{n}")) == words(f"run-{n}", 50)


def test_two_threads_sharing_one_lease_cannot_both_append_the_same_seq(store: Store) -> None:
    lease, events = filled(store)
    options = [chain("r", (Said(role="user", text=f"{n}"),), after=events[-1])[0] for n in range(8)]
    outcomes: list[str] = []

    def write(event: Sealed) -> None:
        try:
            store.append(lease, event, durable=False)
            outcomes.append("ok")
        except LedgerError:
            outcomes.append("refused")

    threads = [threading.Thread(target=write, args=(event,)) for event in options]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["ok", *["refused"] * 7]
    assert len(list(store.events("r"))) == 6


WRONG = {
    "gap": lambda e: chain("r", (Said(role="user", text="a"), Said(role="user", text="b")), after=e[-1])[1:],
    "again": lambda e: [e[-1]],
    "other run": lambda e: chain("s"),
    "restart": lambda e: chain("r")[:1],
    "broken link": lambda e: [seal(msgspec.structs.replace(e[-1].event, seq=6))],
    "second start": lambda e: chain("r", (started(),), after=e[-1]),
    "bytes of another event": lambda e: [
        msgspec.structs.replace(chain("r", (Said(role="user", text="a"),), after=e[-1])[0], raw=e[0].raw)
    ],
    "second of two broken": lambda e: [*chain("r", (Said(role="user", text="a"),), after=e[-1]), e[-1]],
}


@pytest.mark.parametrize("name", WRONG)
def test_an_event_that_does_not_continue_the_chain_is_refused_and_nothing_is_written(store: Store, name: str) -> None:
    lease, events = filled(store)
    with pytest.raises(LedgerError):
        store.append_many(lease, WRONG[name](events), durable=False)
    if len(WRONG[name](events)) == 1:
        for _ in range(2):  # the path taken right after a good append, and the one after a refusal
            with pytest.raises(LedgerError):
                store.append(lease, WRONG[name](events)[0], durable=False)
    assert list(store.events("r")) == events
    [good] = chain("r", (Said(role="user", text="ok"),), after=events[-1])
    store.append(lease, good, durable=True)
    assert list(store.events("r")) == [*events, good]


def test_a_run_begins_with_run_started_and_with_genesis(store: Store) -> None:
    lease = store.acquire("r", "test", NOW, 60)
    with pytest.raises(LedgerError, match=r"run\.started"):
        store.append(lease, chain("r", (Said(role="user", text="hi"),))[0], durable=False)
    first = chain("r")[0]
    with pytest.raises(LedgerError, match="prev"):
        store.append(lease, seal(msgspec.structs.replace(first.event, prev="a" * 64)), durable=False)
    assert store.runs() == ()


def test_a_lease_of_an_unknown_run_is_stale(store: Store) -> None:
    lease = store.acquire("r", "test", NOW, 60)
    with pytest.raises(StaleWriterError):
        store.append(replace(lease, run="s"), chain("s")[0], durable=False)


@pytest.mark.parametrize(
    "bad",
    [
        {"run": ""},
        {"run": "a\nb"},
        {"run": "x" * 501},
        {"holder": ""},
        {"ttl_seconds": 0},
        {"ttl_seconds": -1},
        {"ttl_seconds": float("nan")},
        {"ttl_seconds": 1e300},
        {"now": datetime(2026, 1, 1)},  # noqa: DTZ001 - the point
    ],
    ids=str,
)
def test_a_lease_asked_for_badly_is_one_clear_error(store: Store, bad: dict[str, object]) -> None:
    with pytest.raises(InputError):
        store.acquire(**{"run": "r", "holder": "h", "now": NOW, "ttl_seconds": 60, **bad})  # type: ignore[arg-type]


def test_an_empty_batch_changes_nothing(store: Store) -> None:
    lease, events = filled(store)
    store.append_many(lease, [], durable=True)
    assert list(store.events("r")) == events


# --- the inbox, and who holds a run


def test_the_lease_somebody_holds_can_be_looked_up(store: Store) -> None:
    assert store.lease("r") is None
    lease = store.acquire("r", "a", NOW, 60)
    assert store.lease("r") == lease
    renewed = store.renew(lease, NOW + timedelta(seconds=90), 60)
    assert store.lease("r") == renewed  # also after it expired: it is the last one that may write
    store.release(renewed)
    assert store.lease("r") is None


def test_letters_are_kept_in_order_until_the_writer_drops_them(store: Store) -> None:
    lease, _ = filled(store)
    filled(store, "s")
    one, two = store.post("r", b"one"), store.post("r", b"\xff\x00")
    other = store.post("s", b"elsewhere")
    assert one < two
    assert store.posted("r") == (Letter(number=one, raw=b"one"), Letter(number=two, raw=b"\xff\x00"))
    store.drop(lease, one)
    assert store.posted("r") == (Letter(number=two, raw=b"\xff\x00"),)
    store.drop(lease, two)
    assert store.posted("r") == ()
    assert store.posted("s") == (Letter(number=other, raw=b"elsewhere"),)
    assert store.post("r", b"three") > two  # a number never comes back, so dropping it twice loses nothing
    assert len(list(store.events("r"))) == 5


def test_a_letter_needs_no_lease_but_a_run_and_dropping_needs_the_newest_epoch(store: Store) -> None:
    with pytest.raises(LedgerError, match="no such run"):
        store.post("r", b"x")
    old, _ = filled(store)
    with pytest.raises(LedgerError, match=r"letter of .* more than"):
        store.post("r", b"x" * (MAX_LETTER_BYTES + 1))
    new = store.acquire("r", "b", NOW, 60, True)
    number = store.post("r", b"x")
    with pytest.raises(StaleWriterError):
        store.drop(old, number)
    assert len(store.posted("r")) == 1
    store.drop(new, number)
    assert store.posted("r") == ()


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.sampled_from(["acquire", "force", "release", "append", "append_old", "tick"]), max_size=25))
def test_only_the_newest_epoch_ever_appends(tmp_path_factory: pytest.TempPathFactory, steps: list[str]) -> None:
    """Both drivers and a three-line model agree on every sequence of steps."""
    stores: list[Store] = [MemoryStore(), SQLiteStore(tmp_path_factory.mktemp("s") / "l.sqlite")]
    for store in stores:
        now, live, leases, last = NOW, None, [], None
        written = 0
        for step in steps:
            if step == "tick":
                now += timedelta(seconds=31)
            elif step in ("acquire", "force"):
                free = live is None or live.expires <= now
                if free or step == "force":
                    live = store.acquire("r", "h", now, 60, step == "force")
                    assert all(live.epoch > old.epoch for old in leases)
                    leases.append(live)
                else:
                    with pytest.raises(LeaseHeldError):
                        store.acquire("r", "h", now, 60)
            elif step == "release" and live is not None:
                store.release(live)
                live = None
            elif step in ("append", "append_old") and leases:
                lease = leases[-1] if step == "append" else leases[0]
                bodies = BODIES[:1] if last is None else BODIES[1:2]
                [event] = chain("r", bodies, after=last)
                if live is not None and lease.epoch == live.epoch:
                    store.append(lease, event, durable=False)
                    last, written = event, written + 1
                else:
                    with pytest.raises(StaleWriterError):
                        store.append(lease, event, durable=False)
        assert store.head("r").seq == written
        assert len(list(store.events("r"))) == written
        store.close()


def test_a_letter_is_posted_without_the_lease_and_kept_until_its_writer_drops_it(store: Store) -> None:
    lease, _ = filled(store)
    first, second = store.post("r", b"one"), store.post("r", b"two")
    assert [(x.number, x.raw) for x in store.posted("r")] == [(first, b"one"), (second, b"two")]
    store.drop(lease, first)
    assert [x.raw for x in store.posted("r")] == [b"two"]
    store.drop(lease, second)
    assert store.posted("r") == ()
    assert store.post("r", b"three") > second  # a number is never given twice
    assert store.head("r").seq == len(BODIES)


def test_inboxes_of_two_runs_are_apart(store: Store) -> None:
    lease, _ = filled(store, "r")
    filled(store, "s")
    store.post("s", b"for s")
    store.drop(lease, 99)
    assert store.posted("r") == ()
    assert [x.raw for x in store.posted("s")] == [b"for s"]


def test_only_the_writer_of_the_newest_epoch_empties_the_inbox(store: Store) -> None:
    lease, _ = filled(store)
    number = store.post("r", b"one")
    store.acquire("r", "newer", NOW, 60, force=True)
    with pytest.raises(StaleWriterError):
        store.drop(lease, number)
    assert [x.raw for x in store.posted("r")] == [b"one"]


def test_a_letter_nobody_will_read_is_refused(store: Store) -> None:
    with pytest.raises(LedgerError):
        store.post("nobody", b"hello")
    filled(store)
    with pytest.raises(LedgerError):
        store.post("r", b"x" * (MAX_LETTER_BYTES + 1))
    assert store.posted("nobody") == ()
    assert store.posted("r") == ()


def test_who_holds_a_run_can_be_asked(store: Store) -> None:
    assert store.lease("r") is None
    lease, _ = filled(store)
    assert store.lease("r") == lease
    store.release(lease)
    assert store.lease("r") is None


def test_after_a_fork_only_the_process_that_opened_it_writes(store: Store) -> None:
    lease, events = filled(store)
    child = os.fork()
    if child == 0:  # pragma: no cover - the child
        try:
            store.append(lease, chain("r", (Said(role="user", text="more"),), after=events[-1])[0], durable=False)
        except LedgerError:
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert store.head("r").seq == len(events)
