"""Keeps the leases of live runs from expiring while a tool works, a model thinks or a person is asked."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import warnings
import weakref
from typing import Final

from tallystick.errors import LedgerError
from tallystick.ledger.memory import MemoryStore
from tallystick.runtime.journal import Journal

_ALL: Final[weakref.WeakSet[Heartbeat]] = weakref.WeakSet()


class Heartbeat:
    """One daemon thread for all runs of a guard; it ends when there is none left.

    A run whose process is killed is beaten no more, so its lease expires and another process may take over.
    """

    def __init__(self, ttl_seconds: float) -> None:
        self._ttl = ttl_seconds
        self._lock = threading.Lock()
        self._journals: weakref.WeakSet[Journal] = weakref.WeakSet()
        self._stop: threading.Event | None = None
        self._process = os.getpid()
        _ALL.add(self)

    def add(self, journal: Journal) -> None:
        """Beat for this run from now on."""
        with self._lock:
            self._journals.add(journal)
            if self._stop is None:
                self._stop = threading.Event()
                threading.Thread(target=self._beat, args=(self._stop,), name="tallystick-lease", daemon=True).start()

    def remove(self, journal: Journal) -> None:
        """Beat no more for this run."""
        with self._lock:
            self._journals.discard(journal)
            if not self._journals and self._stop is not None:
                self._stop.set()
                self._stop = None

    def _beat(self, stop: threading.Event) -> None:
        while not stop.wait(self._ttl / 3):
            with self._lock:
                journals = list(self._journals)
            for journal in journals:
                if not journal.broken:
                    journal.renew(self._ttl)

    def leave_all(self) -> None:
        """Give back the leases of runs that nobody left; the program ends, and must not keep them from a successor.

        They stay open: nothing is decided for whoever forgot to. A call that is still without a receipt is in doubt in
        the next tenure.
        """
        if os.getpid() != self._process:
            return  # a fork's copy: the runs are the parent's
        with self._lock:
            journals = [journal for journal in self._journals if not journal.broken]
        for journal in journals:
            with journal.lock:
                journal.broken = "run.left"
                with contextlib.suppress(LedgerError):  # it expires by itself
                    journal.store.release(journal.lease)
            if journal.view.ended is None and not isinstance(journal.store, MemoryStore):
                warnings.warn(
                    f"tallystick: the program ended and left run `{journal.run}` open: no `finish`, `close` or "
                    "`suspend`; `Guard.resume` takes it up",
                    RuntimeWarning,
                    stacklevel=1,
                )


@atexit.register
def _leave_all() -> None:
    for heartbeat in list(_ALL):
        heartbeat.leave_all()
