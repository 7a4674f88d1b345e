"""Print the limits that meet ingest, with what the worst input that each allows takes there."""

import os
import sys

from tests.unit.ingest.limits import ENVIRON, LIMITS

if __name__ == "__main__":
    os.environ.update(ENVIRON)
    sys.stdout.write(f"{'limit':34} {'figure':>18} {'MB':>6} {'s':>6}\n")
    for (name, figure), take in LIMITS.items():
        taken = take()
        sys.stdout.write(f"{name:34} {figure:>18} {taken.megabytes:6.0f} {taken.seconds:6.2f}\n")
        sys.stdout.flush()
