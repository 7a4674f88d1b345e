"""The scan job: its arguments and its session."""

import sys

from bucketcast.settings.jobs import Scan, parse
from glue_jobs.run import Run
from glue_jobs.scanner.scan import scan
from glue_jobs.session import session


def main(argv: list[str]) -> None:
    """Scan the bucket that the arguments name."""
    settings = parse(Scan, argv)
    with Run(settings.run) as run, session("scan") as spark:
        scan(spark, settings, run)


if __name__ == "__main__":
    main(sys.argv[1:])
