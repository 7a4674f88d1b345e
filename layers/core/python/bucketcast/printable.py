"""Text in which nothing is hidden: keys and reasons are whatever somebody chose to upload or send.

Control characters move a terminal's cursor or write its title, line ends make up rows, and some
characters turn the text around that follows them.
"""


def printable(text: str, *, keep: str = "") -> str:
    r"""The text with all that is not printable as Python escapes it, `\x1b`; but for `keep`."""
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() or sign in keep else sign.encode("unicode_escape").decode()
        for sign in text
    )
