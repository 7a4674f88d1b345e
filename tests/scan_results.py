"""Results of scans, as the job writes them."""

from typing import Any


def usage(dimension: str, name: str, objects: int, bytes_: int | None = 0) -> dict[str, Any]:
    """Return a row of a scan's usage; the bytes of its older versions are 1."""
    row = {"dimension": dimension, "name": name, "objects": objects, "bytes": bytes_}
    return row | {"noncurrent": 2, "delete_markers": 0, "noncurrent_bytes": bytes_ and 1}


def scan_result(taken: str, objects: int, bytes_: int, **more: Any) -> dict[str, Any]:
    """Return the result of a scan of `uploads` that succeeded, without findings."""
    return {
        "status": "success",
        "bucket": "uploads",
        "prefix": "",
        "source": "listing",
        "taken": taken,
        "versions": True,
        "usage": [usage("total", "", objects, bytes_)],
        "findings": [],
        "numbers": {},
        "report": "",
        "notes": [],
    } | more
