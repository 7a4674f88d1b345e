"""Calls of the deployment's functions, which have the targets' networks and secrets."""

import json
from collections.abc import Mapping
from typing import Any

from bucketcast.aws.clients import Aws, AwsError, aws_errors


class FunctionFailedError(AwsError):
    """The function raised an error; the text has its message."""


def invoke(function: str, request: Mapping[str, Any], aws: Aws) -> Any:
    """Call a function and return its answer.

    Raises:
        FunctionFailedError: the function raised an error.
        AwsError: it did not answer in time (`silent`), or AWS refused.
    """
    payload = json.dumps(request).encode()
    try:
        with aws_errors():
            answer = aws.functions.invoke(FunctionName=function, Payload=payload)
            body = json.loads(answer["Payload"].read())
    except AwsError as error:
        if not error.silent:
            raise
        text = f"the function {function} did not answer in time"
        raise AwsError(text, silent=True) from error
    if "FunctionError" in answer:
        message = body.get("errorMessage", "") if isinstance(body, dict) else body
        raise FunctionFailedError(f"the function {function} failed: {message}")
    return body
