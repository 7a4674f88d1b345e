"""The certificate at the path of `ca-location`, which Ceph's users have beside the gateway."""

import re
from pathlib import Path
from typing import Final

from bucketcast.topics.attributes import no_file

_LARGEST: Final = 1 << 17
_CERTIFICATE: Final = re.compile(
    r"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----"
)


def certificate(path: str) -> str:
    """The certificates in a file, and nothing else of it: whoever names it may not read it.

    Raises:
        TopicError: there is none; the answer is the same whether there is such a file or not.
    """
    file = Path(path)
    try:
        # What has no size, such as a device, might never end.
        small = file.is_absolute() and file.is_file() and 0 < file.stat().st_size <= _LARGEST
        text = file.read_text(encoding="ascii") if small else ""
    except (OSError, ValueError):
        return no_file(path)
    found = _CERTIFICATE.findall(text)
    return "\n".join(found) if found else no_file(path)
