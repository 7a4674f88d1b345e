"""Parse untrusted XML with expat: no DOCTYPE, no entities, limited depth.

Handlers are called in the order of the document, so that its first error is the one reported.
"""

from collections.abc import Callable
from typing import Any, Final
from xml.parsers import expat

from bucketcast.control.errors import S3Error

MAX_DEPTH: Final = 16
MAX_BYTES: Final = 8 << 20
"""10,000 configurations as `mc` writes them take 5 MB."""
Start = Callable[[tuple[str, ...], dict[str, str]], None]
End = Callable[[tuple[str, ...], str], None]


def read(document: bytes, start: Start, end: End) -> None:
    """Call `start` with each element and its attributes, and `end` with each and its text.

    An element is named by its path from the root, without namespaces.

    Raises:
        S3Error: it is invalid, or uses features that only attacks need.
    """
    path: list[str] = []
    texts: list[list[str]] = []

    def started(name: str, attributes: dict[str, str]) -> None:
        path.append(name.rpartition(":")[2])
        if len(path) > MAX_DEPTH:
            raise S3Error("MalformedXML")
        texts.append([])
        start(tuple(path), attributes)

    def ended(_: str) -> None:
        end(tuple(path), "".join(texts.pop()))
        path.pop()

    def said(text: str) -> None:
        texts[-1].append(text)

    def refused(*_: Any) -> None:
        raise S3Error("MalformedXML", "a document with a DOCTYPE is not read")

    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.StartElementHandler = started
    parser.EndElementHandler = ended
    parser.CharacterDataHandler = said
    parser.StartDoctypeDeclHandler = refused
    parser.EntityDeclHandler = refused
    try:
        parser.Parse(document.strip(), True)  # noqa: FBT003 - expat's own argument
    except expat.ExpatError:
        raise S3Error("MalformedXML") from None
