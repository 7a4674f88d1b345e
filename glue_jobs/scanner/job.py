"""The scanner's job: its arguments and its session."""

import sys

from bucketcast.jobs import Scan, parse
from glue_jobs.run import Run
from glue_jobs.scanner.scan import scan
from glue_jobs.session import session


def main(argv: list[str]) -> None:
    """Scan the bucket that the arguments name."""
    given = parse(Scan, argv)
    with Run(given.run) as run, session("scan") as spark:
        scan(spark, given, run)


if __name__ == "__main__":
    main(sys.argv[1:])
