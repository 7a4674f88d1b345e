"""What the machine must have, and how to get it. Every gap is named at once.

The interpreter itself is checked by the Makefile: an old one could not read this file.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess

NODE_FLOOR = 20
NODE_CURE = "https://nodejs.org, or your system's package manager"
VENV_CURE = "on Debian and Ubuntu: apt install python3-venv"


def gaps() -> list[str]:
    """Return one line for each thing that is missing: what it is and where it comes from."""
    found = [
        f"Python's {module} module: {VENV_CURE}"
        for module in ("venv", "ensurepip")
        if importlib.util.find_spec(module) is None
    ]
    found += _node_gaps()
    if shutil.which("git") is None:
        found.append("git: https://git-scm.com, or your system's package manager")
    return found


def _node_gaps() -> list[str]:
    node = shutil.which("node")
    if node is None:
        return [f"Node.js {NODE_FLOOR} or newer (the AWS CDK runs on it): {NODE_CURE}"]
    answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    match = re.match(r"v(\d+)\.", answer.stdout)
    if match is None or int(match.group(1)) < NODE_FLOOR:
        version = answer.stdout.strip() or "unknown"
        return [f"Node.js {NODE_FLOOR} or newer: {node} is {version}: {NODE_CURE}"]
    if shutil.which("npm") is None:
        return [f"npm, which comes with Node.js: {NODE_CURE}"]
    return []
