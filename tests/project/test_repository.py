"""What is committed: no machine's paths, no registry addresses, pins that are complete, fragments, indexes, links."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Spelled in pieces, so that this file does not find itself.
MACHINE_PATHS = re.compile(
    r"(^|[^\w./}])/(" + "|".join(["wo" + "rk", "fa" + "rm", "ro" + "ot", "ho" + r"me/\w+"]) + r")(/|\b)"
)
REGISTRIES = re.compile(
    "|".join(
        re.escape(host)
        for host in (
            "py" + "pi.org",
            "python" + "hosted.org",
            "npm" + "js.org",
            "deb" + "ian.org",
            "crates" + ".io",
            "golang" + ".org",
        )
    )
    + r"|https?://[^\"\s]*/(simple|packages)/"
)


def committed() -> list[Path]:
    """The files git tracks; without git (an unpacked archive), none, and the tests that need them are skipped."""
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()]


def project() -> dict[str, Any]:
    """The text of pyproject.toml as values."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def pins() -> dict[str, str]:
    """Pinned package → version, names in normal form."""
    lines = (ROOT / "requirements" / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return dict(_pin(line) for line in lines if line and not line.startswith("#"))


def _pin(line: str) -> tuple[str, str]:
    found = re.fullmatch(r"([A-Za-z0-9._-]+)==([A-Za-z0-9.+!]+)", line)
    assert found, f"constraints.txt: `{line}` is not name==version"
    return _normal(found[1]), found[2]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_no_machine_path_and_no_registry_address_is_committed() -> None:
    """A clone works anywhere, so nothing in it names the machine or the mirror it was written on."""
    found = []
    for path in committed():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if MACHINE_PATHS.search(line) or REGISTRIES.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    assert not found


@pytest.mark.parametrize(
    ("line", "bad"),
    [
        ("open('/wo" + "rk/main/x')", True),
        ("cd /ro" + "ot/x", True),
        ("index = https://mirror.example/py" + "pi/simple/x/", True),
        ("patterns/work/flow", False),
        ("a network of nets", False),
    ],
)
def test_the_search_for_paths_and_addresses_finds_them(line: str, bad: bool) -> None:
    """The patterns match what they are for and leave words alone."""
    assert bool(MACHINE_PATHS.search(line) or REGISTRIES.search(line)) is bad


def test_every_dependency_is_pinned_without_addresses_or_hashes() -> None:
    """Each package the library, its extras and its tests name has exactly one pinned version."""
    meta = project()
    wanted = [*meta["project"]["dependencies"], *meta["dependency-groups"]["dev"], "pip", "setuptools"]
    wanted += [name for extra in meta["project"]["optional-dependencies"].values() for name in extra]
    pinned = pins()
    names = {_normal(re.match(r"[A-Za-z0-9._-]+", w)[0]) for w in wanted}  # type: ignore[index]
    assert names - {"tallystick"} <= pinned.keys()


def test_the_extras_are_the_seven_and_all() -> None:
    """`all` is always the seven together."""
    extras = project()["project"]["optional-dependencies"]
    assert set(extras) == {"evals", "langchain", "local", "mcp", "otel", "pydantic-ai", "tau2", "all"}
    assert extras["all"] == ["tallystick[evals,langchain,local,mcp,otel,pydantic-ai,tau2]"]


def test_every_package_is_in_the_layers() -> None:
    """A new package cannot stand outside the layers that import-linter holds."""
    rows = project()["tool"]["importlinter"]["contracts"][0]["layers"]
    named = [name.strip() for row in rows for name in re.split(r"[|:]", row)]
    layered = {name.strip("()") for name in named}
    optional = {name.strip("()") for name in named if name.startswith("(")}
    here = {
        f"tallystick.{p.stem}"
        for p in (ROOT / "src" / "tallystick").iterdir()
        if (p.is_dir() and (p / "__init__.py").exists()) or (p.suffix == ".py" and p.stem != "__init__")
    }
    assert here <= layered
    assert layered - optional <= here


def test_ci_runs_what_make_check_runs() -> None:
    """There is one list of checks: `make check` is the CI script."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^check:.*\n\tbash \.ci/run$", makefile, re.MULTILINE)
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o100


def test_changelog_fragments_are_named_and_written() -> None:
    """Each fragment has a known kind and says something; there is at least one."""
    kinds = {kind["directory"] for kind in project()["tool"]["towncrier"]["type"]}
    fragments = [p for p in (ROOT / "changelog.d").iterdir() if p.name != "README.md"]
    assert fragments
    for path in fragments:
        found = re.fullmatch(r"(\+[a-z0-9-]+|\d+)\.([a-z]+)\.md", path.name)
        assert found, f"`{path.name}` is not +NAME.KIND.md"
        assert found[2] in kinds, f"`{path.name}`: the kind is one of {', '.join(sorted(kinds))}"
        assert path.read_text(encoding="utf-8").strip(), f"`{path.name}` is empty"


def test_the_readme_is_one_screen_and_shows_the_main_job() -> None:
    """A newcomer sees what it is and what to type without scrolling far."""
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 50
    assert any("make demo" in line for line in lines)
    assert any("tallystick audit" in line for line in lines)
