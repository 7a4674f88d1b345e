"""Read the certificate at the path of `ca-location`, on the gateway's machine as with Ceph."""

import re
from pathlib import Path
from typing import Final

from bucketcast.topics.attributes import no_file

_LARGEST: Final = 1 << 17
_CERTIFICATE: Final = re.compile(
    r"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----"
)


def certificate(path: str) -> str:
    """Return only the certificates in a file: the caller may have no right to read it.

    Raises:
        TopicError: there is none; the message does not reveal whether the file exists.
    """
    file = Path(path)
    try:
        # Reading a device might never end.
        small = file.is_absolute() and file.is_file() and 0 < file.stat().st_size <= _LARGEST
        text = file.read_text(encoding="ascii") if small else ""
    except (OSError, ValueError):
        return no_file(path)
    found = _CERTIFICATE.findall(text)
    return "\n".join(found) if found else no_file(path)
