# ruff: noqa: E402 - what is imported depends on the path
"""Spark's Python daemon with what each of its workers would make again: imports and AWS clients.

A worker ends with a task that fails, and boto3 alone takes longer than most tasks.
"""

import gc
import sys

# Spark names its own archives first. Each task would read their directories again, for longer than
# most tasks take, and no archive has compiled modules.
sys.path[:] = [path for path in sys.path if not path.endswith((".zip", ".jar"))]

from pyspark import daemon

import glue_jobs.backfill.backfill
import glue_jobs.reconcile.reconcile
import glue_jobs.scanner.scan  # noqa: F401
from glue_jobs.aws import client
from tests.glue import local_files

local_files.install()
for service in ("s3", "sqs", "dynamodb"):
    client(service)  # of the local AWS; it has no connection yet that workers would share
gc.freeze()  # each worker looks for garbage after each task

if __name__ == "__main__":
    daemon.manager()  # type: ignore[no-untyped-call]
