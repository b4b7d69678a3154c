"""Every page's snippets run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.snippets import run_console, run_page, snippets

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_what_a_page_shows_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each python, console and contract snippet of the page runs and prints what the page says."""
    monkeypatch.chdir(tmp_path)
    run_page(page)


def test_the_runner_notices_a_wrong_line_a_wrong_code_and_a_raise(tmp_path: Path) -> None:
    """A page that shows something else than what happens fails."""
    run_console("$ echo one; echo two  3\none\ntwo 3\n", "here")
    run_console("$ exit 2  # exits with 2\n", "here")
    with pytest.raises(AssertionError, match="does not print `three`"):
        run_console("$ echo one\nthree\n", "here")
    with pytest.raises(AssertionError, match="exited with 1"):
        run_console("$ false\n", "here")
    page = tmp_path / "page.md"
    page.write_text("```python\nassert 1 == 2\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError):
        run_page(page)


def test_fences_are_found_with_their_lines() -> None:
    """Language, file and line of each fence are read from the page."""
    (one, two) = snippets("a\n```yaml file=x.yaml\nk: 1\n```\n\n```python\npass\n```\n")
    assert (one.language, one.file, one.text, one.line) == ("yaml", "x.yaml", "k: 1\n", 3)
    assert (two.language, two.file, two.text, two.line) == ("python", "", "pass\n", 7)
