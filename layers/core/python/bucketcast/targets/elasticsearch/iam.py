"""Requests signed for Amazon OpenSearch Service, a domain's or a serverless collection's.

Source: "Signing HTTP requests to Amazon OpenSearch Service", and the same of OpenSearch Serverless.
"""

from collections.abc import Mapping

from bucketcast.aws import iam_login
from bucketcast.targets.elasticsearch.settings import ElasticsearchSettings


def signed(
    settings: ElasticsearchSettings,
    method: str,
    url: str,
    body: bytes | None,
    headers: Mapping[str, str],
) -> dict[str, str]:
    """Return a request's headers, signed.

    Raises:
        NotAuthorized: it cannot be signed.
    """
    service, region = settings.iam_parts.group("service", "region")
    return iam_login.signed_headers(service, region, method, url, body, headers)
