"""Batch and sets: files of a folder are archived together, and the folder is listed to see that none is left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tallystick.evals.common.draw import Draw
from tallystick.evals.termination.family import Bindings, Call, Scenario, World, ids, job, ready

NAME: Final = "batch"
STATUS_TOOL: Final = "job_status"
SUBJECT: Final = ("folder_id", "folder")


def draw(draw: Draw, number: int) -> Scenario:
    """Return a task: archive every file of a folder; say which are archived, that none is left, and their size."""
    mine, other, third = ids(draw, "D", 3)
    names = ids(draw, "F", 15, low=100, high=999)
    mine_count = draw.between(3, 5)
    counts = {mine: mine_count, other: 6, third: 2}
    files, at = [], 0
    for folder, count in counts.items():
        for name in names[at : at + count]:
            # The third folder was archived long ago; of the second, one file is still open.
            done = folder == third or (folder == other and name != names[at])
            files.append({"id": name, "folder": folder, "bytes": draw.between(1_000, 90_000), "archived": done})
        at += count
    asked = {"folder": mine, "files": [f["id"] for f in files if f["folder"] == mine]}
    return Scenario(
        request=f"Archive all files of folder {mine}; tell me which are archived, that none is left, and their size.",
        bindings=asked,
        elsewhere={**asked, "folder": other},
        shifted={**asked, "folder": third},
        world={"job": job(draw), "files": files, "number": number},
    )


def act(bindings: Bindings, call: Call) -> None:
    """Archive the files."""
    call("archive_files", {"folder_id": bindings["folder"], "file_ids": list(bindings["files"])})


def read(bindings: Bindings, call: Call) -> None:
    """List the folder."""
    call("list_files", {"folder_id": bindings["folder"]})


def reply(world: World, tool: str, args: Mapping[str, Any]) -> Any:
    """Archive files, or list a folder."""
    if tool == "archive_files":
        for row in world["files"]:
            if row["id"] in args["file_ids"]:
                row["archived"] = True
        return {"results": [{"id": name, "state": "archived"} for name in args["file_ids"]]}
    assert tool == "list_files"
    rows = [r for r in world["files"] if r["folder"] == args["folder_id"]]
    return {"complete": True, "files": [{"id": r["id"], "archived": r["archived"], "bytes": r["bytes"]} for r in rows]}


def truth(world: World, bindings: Bindings) -> dict[str, Any] | None:
    """Return the folder's archived files, once all are and the job is over."""
    rows = [r for r in world["files"] if r["folder"] == bindings["folder"]]
    if not ready(world) or not all(r["archived"] for r in rows):
        return None
    return {"archived": sorted(r["id"] for r in rows), "left": [], "size": str(sum(r["bytes"] for r in rows))}
