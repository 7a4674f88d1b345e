"""The reason of a job's failure, in the few words of Spark's report that a person needs."""

import re
from typing import Any, Final

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from bucketcast.errors import BucketcastError

_FILE: Final = re.compile(r"while reading file (\S+?)\.?(?:\s|$)")
_DECORATION: Final = re.compile(r"^\[[A-Z_.]+\] |\s*SQLSTATE: \w+$")
_CLASS_NAME: Final = re.compile(r"^(?:bucketcast|glue_jobs)\.[\w.]+: ")
_JAVA_ENDED: Final = (
    Py4JNetworkError,
    ConnectionRefusedError,
    ConnectionResetError,
    BrokenPipeError,
)
"""The errors of Python when the Java process has ended."""
_OUT_OF_MEMORY: Final = "java.lang.OutOfMemoryError"
_ADVICE: Final = "take a larger worker_type on Glue, or do it in several runs with --prefix"
_ENDED_MESSAGE: Final = (
    "Spark's Java process ended while the job worked, usually for lack of memory; its log says "
    f"more: {_ADVICE}"
)
_TRACEBACK: Final = "Traceback (most recent call last)"


def reason(error: BaseException) -> str:
    """Return the message of our own errors, and the first cause of Java's with the file it read."""
    if isinstance(error, BucketcastError):
        return str(error)
    if isinstance(error, PySparkException):
        return _plain(str(error))
    if isinstance(error, _JAVA_ENDED) or _is_cut_off(error):
        return _ENDED_MESSAGE
    if not isinstance(error, Py4JJavaError):
        return f"{type(error).__name__}: {error}"
    causes = _causes(error.java_exception)
    for cause in causes:
        if str(cause.toString()).startswith(_OUT_OF_MEMORY):
            return f"Spark's memory ran out ({cause.getMessage()}): {_ADVICE}"
    message = _plain(str(causes[-1].getMessage() or causes[-1].toString()))
    matches = (_FILE.search(str(cause.getMessage())) for cause in causes)
    file = next((match[1] for match in matches if match), "")
    return f"{file}: {message}" if file and file not in message else message


def _is_cut_off(error: BaseException) -> bool:
    """Return True if Java's answer was cut off, for which Py4J has no class of its own."""
    return type(error) is Py4JError and "Trace:" not in str(error)


def _plain(message: str) -> str:
    """Return the first line, without the error code before it and the SQLSTATE after it.

    A Python worker's error is the last line of its traceback; our own need no class name.
    """
    if _TRACEBACK in message:
        return _CLASS_NAME.sub("", message.strip().rpartition("\n")[2])
    return _DECORATION.sub("", message.strip().partition("\n")[0])


def _causes(error: Any) -> list[Any]:
    causes = [error]
    while (cause := causes[-1].getCause()) is not None:
        causes.append(cause)
    return causes
