"""Write `constraints.txt`: every package the library, its extras and its development need, resolved afresh.

Run by `make pins`. Uses a throw-away environment, so nothing that happens to be installed leaks into the pins, and
writes names and versions only: no hashes, no addresses, so any index or mirror serves them.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "requirements" / "constraints.txt"
HEAD = """\
# Every pinned package of the library, its extras and its development tools; written by `make pins`, do not edit.
# Names and versions only, so that any index serves them. Used as: pip install -c requirements/constraints.txt
"""


def main() -> None:
    """Resolve in a fresh environment and write the pins."""
    with tempfile.TemporaryDirectory() as folder:
        env = Path(folder) / "env"
        subprocess.run([sys.executable, "-m", "venv", str(env)], check=True)
        wanted = ["-e", f"{ROOT}[all]", "--group", f"{ROOT}/pyproject.toml:dev"]
        pip = [str(env / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", "-qq", "--upgrade", "pip", "setuptools"], check=True)
        subprocess.run([*pip, "install", "-qq", "--no-build-isolation", *wanted], check=True)
        frozen = subprocess.run(
            [*pip, "freeze", "--all", "--exclude-editable"], check=True, capture_output=True, text=True
        ).stdout
    lines = sorted((line for line in frozen.splitlines() if "==" in line and not line.startswith("#")), key=str.lower)
    OUT.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines)} pins in {OUT.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
