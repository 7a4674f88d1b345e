"""XML: parse untrusted documents with expat, without DOCTYPE and entities, and write documents."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat
from xml.sax.saxutils import escape

from bucketcast.limits import MOST_XML_ELEMENTS, MOST_XML_LEVELS
from bucketcast.web.errors import S3Error

DECLARATION: Final = '<?xml version="1.0" encoding="UTF-8"?>\n'
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def read(document: bytes, root: str, parts: Mapping[str, Callable[[Element], None]]) -> None:
    """Call `parts` with the elements below the root, by their names, each as soon as it ends.

    So the first error of a document is the one reported. Names are without their namespaces. An
    element that is not known is an error: a misspelt one would say nothing, and remove rules.

    Raises:
        S3Error: it is invalid, has another root, or uses features that only attacks need.
    """
    path: list[Element] = []
    tree = TreeBuilder()
    number = 0
    known = ", ".join(parts)

    def start(name: str, _: Mapping[str, str]) -> None:
        nonlocal number
        number = number + 1 if len(path) > 1 else 0
        local = name.rpartition(":")[2]
        is_long = len(path) == MOST_XML_LEVELS or number > MOST_XML_ELEMENTS
        if is_long or (not path and local != root):
            raise S3Error("MalformedXML")
        path.append(tree.start(local, {}))

    def end(_: str) -> None:
        element = path.pop()
        tree.end(element.tag)
        if len(path) == 1:
            path[0].remove(element)  # a document may have ten thousand of them
            if element.tag not in parts:
                raise S3Error("MalformedXML", f"{root}: found {element.tag}; allowed are {known}")
            parts[element.tag](element)

    def refuse(*_: Any) -> None:
        raise S3Error("MalformedXML", "a document with a DOCTYPE is not read")

    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = tree.data
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(document.strip(), True)  # noqa: FBT003 - expat's own argument
    except expat.ExpatError:
        raise S3Error("MalformedXML") from None


def write(name: str, content: Any, namespace: str = "") -> str:
    """Write an element: a dict as elements in it, a list as elements of its name, else a text.

    Characters that XML cannot hold are left out.
    """
    space = f' xmlns="{namespace}"' if namespace else ""
    return _NOT_XML.sub("", _element(name, content, space))


def _element(name: str, content: Any, attributes: str = "") -> str:
    if isinstance(content, str):
        inner = escape(content)
    elif isinstance(content, list):
        return "".join([_element(name, item) for item in content])
    elif isinstance(content, dict):
        inner = "".join([_element(key, value) for key, value in content.items()])
    else:
        inner = str(content).lower()
    return f"<{name}{attributes}>{inner}</{name}>"
