"""What went wrong in a worker, in the words that it was said in there.

Spark hands it over as a text: the worker's traceback, within a traceback of its own.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from bucketcast.errors import BucketcastError

_ours = re.compile(r"^(?:bucketcast|glue_jobs)\.[\w.]+: (.+)$", re.MULTILINE).search


class TaskError(BucketcastError):
    """A worker could not go on, for a reason of ours, which is the text."""


@contextmanager
def explained() -> Iterator[None]:
    """Raise what a worker raised of ours by its own text; what is not ours goes on as it is.

    Raises:
        TaskError: a worker raised a `BucketcastError`.
    """
    try:
        yield
    except (Py4JJavaError, PySparkException) as error:
        found = _ours(str(error))
        if not found:
            raise
        raise TaskError(found[1].strip()) from None
