"""Why a job failed, in the few words of Spark's report that a person needs."""

import re
from typing import Any, Final

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from bucketcast.errors import BucketcastError

_FILE: Final = re.compile(r"while reading file (\S+?)\.?(?:\s|$)")
_DRESS: Final = re.compile(r"^\[[A-Z_.]+\] |\s*SQLSTATE: \w+$")
_OURS: Final = re.compile(r"^(?:bucketcast|glue_jobs)\.[\w.]+: ")
_GONE: Final = (Py4JNetworkError, ConnectionRefusedError, ConnectionResetError, BrokenPipeError)
"""What Python raises when the Java process has ended."""
_SPENT: Final = "java.lang.OutOfMemoryError"
_MORE: Final = "take a larger worker_type on Glue, or do it in several runs with --prefix"
_ENDED: Final = (
    "Spark's Java process ended while the job worked, as a rule for want of memory; its log says "
    f"more: {_MORE}"
)
_IN_A_WORKER: Final = "Traceback (most recent call last)"


def reason(error: BaseException) -> str:
    """Return our own errors as they are, and of Java's the first cause and the file it read."""
    if isinstance(error, BucketcastError):
        return str(error)
    if isinstance(error, PySparkException):
        return _plain(str(error))
    if isinstance(error, _GONE) or _is_cut_off(error):
        return _ENDED
    if not isinstance(error, Py4JJavaError):
        return f"{type(error).__name__}: {error}"
    causes = _causes(error.java_exception)
    if spent := next((each for each in causes if str(each.toString()).startswith(_SPENT)), None):
        return f"Spark's memory ran out ({spent.getMessage()}): {_MORE}"
    text = _plain(str(causes[-1].getMessage() or causes[-1].toString()))
    read = (_FILE.search(str(cause.getMessage())) for cause in causes)
    file = next((found[1] for found in read if found), "")
    return f"{file}: {text}" if file and file not in text else text


def _is_cut_off(error: BaseException) -> bool:
    """Return whether Java's answer was cut off, for which Py4J has no class of its own."""
    return type(error) is Py4JError and "Trace:" not in str(error)


def _plain(text: str) -> str:
    """Return the first line, without the error code before it and the SQLSTATE after it.

    An error raised in a Python worker is below its traceback; our own errors need no class name.
    """
    if _IN_A_WORKER in text:
        return _OURS.sub("", text.strip().rpartition("\n")[2])
    return _DRESS.sub("", text.strip().partition("\n")[0])


def _causes(error: Any) -> list[Any]:
    causes = [error]
    while (cause := causes[-1].getCause()) is not None:
        causes.append(cause)
    return causes
