"""A stop that an open blocker bars says who decides over it, how it is lifted, and what would show its prerequisite."""

from __future__ import annotations

from tallystick.model import jsontext
from tallystick.runtime.blocking import Shown
from tests.handoff.desk import SEC, Desk, blocked, guarded


def test_the_deficit_of_an_open_blocker_names_who_decides_and_every_way_out() -> None:
    desk = Desk()
    run = guarded(desk).run(run_id="r 1", principals=[SEC])
    shown = Shown(tool="get_approval", values={"/approval": "granted"}, not_over=("/until",))
    blocked(run, until=shown)
    refused = run.finish("done")
    assert not refused.accepted
    (deficit,) = [d for d in refused.deficits if d.code == "condition.open"]
    assert deficit.where == "b1"
    assert deficit.message.endswith("until an approval that covers DOC-7, decided by security")
    for way in (
        "a signed event of security that resolves it",
        'a receipt of get_approval about resource DOC-7 that shows /approval = "granted", /until still to come',
        "its fallback, then left aside: use_public",
        "(`tallystick approve LEDGER --run 'r 1' --blocker b1 --key FILE`)",
    ):
        assert way in deficit.closes, deficit.closes
    assert [(r.tool, jsontext.loads(r.args)) for r in deficit.reads] == [("get_approval", {"resource": "DOC-7"})]
    assert "decided by security" in str(refused)
    desk.approvals["DOC-7"] = {"approval": "granted", "until": "2027-01-01T00:00:00Z"}
    for read in deficit.reads:
        assert run.call(read.tool, jsontext.loads(read.args)).ran
    assert not [d for d in run.finish("done").deficits if d.code == "condition.open"]


def test_one_without_authority_receipt_or_fallback_says_so() -> None:
    run = guarded(Desk()).run()
    run.block("b", "share_file", prerequisite="a look")
    (deficit,) = [d for d in run.finish("done").deficits if d.code == "condition.open"]
    assert deficit.closes.startswith("a signed event of any principal of the run that resolves it (`tallystick approve")
    assert deficit.reads == ()
