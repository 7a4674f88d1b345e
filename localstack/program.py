"""What `make up` and `make demo` share: one argument, and exit codes that mean something."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from bucketcast.errors import ConfigErrors
from localstack.layout import ROOT, Failure

FAILED = 1
MISUSE = 2
INTERRUPTED = 130


def run(command: str, text: str, job: Callable[[Path], None]) -> int:
    """Run the job with the configuration's path.

    Returns 0 when it is done, 1 when it failed, 2 for an invalid configuration, 130 when it was
    interrupted.
    """
    parser = argparse.ArgumentParser(prog=command, description=text)
    parser.add_argument("--config", type=Path, default=ROOT / "bucketcast.toml", metavar="FILE")
    config: Path = parser.parse_args().config.resolve()
    try:
        job(config)
    except ConfigErrors as errors:
        print(errors, file=sys.stderr)
        return MISUSE
    except Failure as failure:
        print(failure, file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print(f"interrupted: `{command}` continues, `make stop` stops everything", file=sys.stderr)
        return INTERRUPTED
    return 0
