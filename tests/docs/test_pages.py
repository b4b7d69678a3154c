"""The pages hold together: links lead somewhere, indexes are whole, what they name exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer.main

from tallystick.cli.app import app
from tests.docs.snippets import FENCE, snippets
from tests.docs.test_snippets import PAGES

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def slug(heading: str) -> str:
    """The anchor a heading gets."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    """Relative links name files that exist, and anchors name headings in them."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        aim = (page.parent / file).resolve() if file else page
        assert aim.exists(), f"{page.name}: `{target}` does not exist"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", aim.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {slug(h) for h in headings}, f"{page.name}: `{target}` has no such heading"


def test_every_page_is_reached_from_the_index() -> None:
    """Following links from the index and the README, a reader can reach every page."""
    seen: set[Path] = set()
    open_ = [ROOT / "README.md", ROOT / "docs" / "index.md"]
    while open_:
        page = open_.pop()
        if page in seen or page.suffix != ".md" or not page.exists():
            continue
        seen.add(page)
        targets = LINK.findall(page.read_text(encoding="utf-8"))
        open_ += [(page.parent / t.split("#")[0]).resolve() for t in targets if not re.match(r"[a-z]+:", t)]
    assert sorted(str(p.relative_to(ROOT)) for p in set(PAGES) - seen - {ROOT / "CONTRIBUTING.md"}) == []


def test_every_decision_is_in_the_list_of_decisions() -> None:
    """docs/adr/README.md lists each decision by its file, and numbers are used once."""
    folder = ROOT / "docs" / "adr"
    files = sorted(p.name for p in folder.glob("[0-9]*.md"))
    listed = LINK.findall((folder / "README.md").read_text(encoding="utf-8"))
    assert files == sorted(listed)
    assert len({name[:4] for name in files}) == len(files)


def test_every_command_a_page_shows_exists() -> None:
    """`tallystick X` and `make X` in the pages' blocks name commands and targets there are."""
    commands = set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for page in PAGES:
        for snippet in snippets(page.read_text(encoding="utf-8")):
            if snippet.language in {"bash", "console"}:
                for name in re.findall(r"^(?:\$ )?(?:\.venv/bin/)?tallystick ([a-z]+)", snippet.text, re.MULTILINE):
                    assert name in commands, f"{page.name}:{snippet.line}: tallystick {name}"
                for name in re.findall(r"^(?:\$ )?make ([a-z]+)", snippet.text, re.MULTILINE):
                    assert name in targets, f"{page.name}:{snippet.line}: make {name}"


@pytest.mark.parametrize("name", ["README.md", "docs/how-to/audit-traces.md", "docs/how-to/local-model.md"])
def test_what_a_page_installs_is_a_checkout(name: str) -> None:
    """The name on a package index need not be ours, so a command to copy says where our files are."""
    installed = re.findall(r"pip install (?:-\S+ )*(\S+)", (ROOT / name).read_text(encoding="utf-8"))
    assert installed
    assert all(re.fullmatch(r"[`']?PATH-TO-TH(E|IS)-CHECKOUT.*", target) for target in installed), installed
