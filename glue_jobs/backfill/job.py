"""The backfill job's script."""

from bucketcast.settings.pipeline import Backfill
from glue_jobs.backfill.backfill import backfill
from glue_jobs.run import start

if __name__ == "__main__":
    start("backfill", Backfill, backfill)
