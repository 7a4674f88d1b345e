"""The scan job's script."""

from bucketcast.settings.pipeline import Scan
from glue_jobs.run import start
from glue_jobs.scanner.scan import scan

if __name__ == "__main__":
    start("scan", Scan, scan)
