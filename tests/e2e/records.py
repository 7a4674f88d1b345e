"""Native S3 records for the ingress queue, as S3 writes them."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote_plus

DAY = f"{datetime.now(UTC) - timedelta(days=1):%Y-%m-%d}"
"""The day of all records: mirrors refuse what happened long ago."""


def record(key: str, number: int, *, name: str = "ObjectCreated:Put", **item: Any) -> Any:
    """One record of the bucket uploads; `number` is its time of the hour, 0 to 3,599,999 ms."""
    minutes, millis = divmod(number, 60_000)
    object_: dict[str, Any] = {"key": quote_plus(key, safe="/")}
    if name.startswith("ObjectCreated"):
        object_ |= {"size": number, "eTag": f"{number:032x}"}
    object_ |= {"sequencer": f"{0x0055AED6DCD90281E5 + number:018X}", **item}
    return {
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "awsRegion": "us-east-1",
        "eventTime": f"{DAY}T03:{minutes:02}:{millis // 1000:02}.{millis % 1000:03}Z",
        "eventName": name,
        "userIdentity": {"principalId": "AWS:AIDAJDPLRKLG7UEXAMPLE"},
        "requestParameters": {"sourceIPAddress": "10.1.2.3"},
        "responseElements": {"x-amz-request-id": f"C3D13FE5{number:08X}", "x-amz-id-2": "FMyUV"},
        "s3": {
            "s3SchemaVersion": "1.0",
            "configurationId": "Bucketcast-ingress",
            "bucket": {
                "name": "uploads",
                "ownerIdentity": {"principalId": "A3NL1KOZZKExample"},
                "arn": "arn:aws:s3:::uploads",
            },
            "object": object_,
        },
    }


def message(*records: Any) -> str:
    """A message as S3 sends it."""
    return json.dumps({"Records": records})
