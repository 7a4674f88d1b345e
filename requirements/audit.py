"""Name the pinned packages with known vulnerabilities: `make audit`. Then the exit code is 1.

uv asks the OSV database, but for projects and scripts only, so the pins become those of a script.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

PINS = Path(__file__).with_name("dev.txt")
"""All that functions and jobs carry, and what tests, checks and deploys."""
SCRIPT = """\
# /// script
# requires-python = ">=3.11"
# dependencies = [
{}
# ]
# ///
"""


def main() -> int:
    pins = re.findall(r"^(\S+==[^\\\n]+?) *\\?$", PINS.read_text(), re.MULTILINE)
    with TemporaryDirectory() as folder:
        script = Path(folder, "pins.py")
        script.write_text(SCRIPT.format("\n".join(f'#   "{pin}",' for pin in pins)))
        command = [sys.executable, "-m", "uv", "audit", "--preview-features", "audit-command"]
        command += ["--script", str(script), *sys.argv[1:]]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
