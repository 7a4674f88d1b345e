"""Spark's Python daemon with what the jobs import, which each of its workers would import again.

A worker ends with a task that fails, and boto3 alone takes longer than most tasks.
"""

import boto3  # noqa: F401
from pyspark import daemon

import glue_jobs.backfill.backfill
import glue_jobs.reconcile.reconcile
import glue_jobs.scanner.scan  # noqa: F401
from tests.glue import local_files

local_files.install()

if __name__ == "__main__":
    daemon.manager()  # type: ignore[no-untyped-call]
