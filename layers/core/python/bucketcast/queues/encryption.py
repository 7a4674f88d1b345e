"""How a queue is encrypted, as SQS's API says it."""


def attributes(key: str) -> dict[str, str]:
    """Return a queue's attributes for a customer's key by its ARN, or for SQS's own if it is ""."""
    return {"KmsMasterKeyId": key} if key else {"SqsManagedSseEnabled": "true"}
