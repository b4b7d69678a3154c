"""A run that was interrupted goes on from its folder, and a folder belongs to one run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tallystick.errors import InputError
from tallystick.evals.takeover.invoice import InvoiceDesk
from tallystick.evals.takeover.kept import ROWS
from tallystick.evals.takeover.run import Plan, run

PLAN = Plan(episodes=3, seed="tests", stages=("direct", "full"))


def test_what_a_folder_holds_is_not_played_again(tmp_path: Path) -> None:
    """Rows come back as they were kept, wall clock and all."""
    first = run(PLAN, InvoiceDesk(), tmp_path / "run")
    size = (tmp_path / "run" / ROWS).stat().st_size
    assert run(PLAN, InvoiceDesk(), tmp_path / "run").rows == first.rows
    assert (tmp_path / "run" / ROWS).stat().st_size == size


def test_a_row_that_was_cut_off_is_played_again(tmp_path: Path) -> None:
    """The process was killed while it wrote."""
    folder = tmp_path / "run"
    first = run(PLAN, InvoiceDesk(), folder)
    data = (folder / ROWS).read_bytes()
    (folder / ROWS).write_bytes(data[:-20])
    again = run(PLAN, InvoiceDesk(), folder)
    assert [(r.frontier, r.stage, r.correct) for r in again.rows] == [
        (r.frontier, r.stage, r.correct) for r in first.rows
    ]
    assert (folder / ROWS).read_bytes().count(b"\n") == len(first.rows)


def test_a_folder_of_another_run_is_refused(tmp_path: Path) -> None:
    """With what differs."""
    run(PLAN, InvoiceDesk(), tmp_path / "run")
    with pytest.raises(InputError, match="other settings: seed"):
        run(Plan(episodes=3, seed="other", stages=("direct", "full")), InvoiceDesk(), tmp_path / "run")


@pytest.mark.parametrize("plan", [Plan(episodes=0), Plan(runs=0), Plan(mend=1.5), Plan(stages=("x",))])  # type: ignore[arg-type]
def test_a_plan_that_cannot_be_run_is_one_clear_error(plan: Plan) -> None:
    """Before anything is opened."""
    with pytest.raises(InputError):
        run(plan, InvoiceDesk())
