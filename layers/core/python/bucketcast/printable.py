"""Text for display: keys and error messages may contain anything.

Control characters move a terminal's cursor or set its title, line ends forge rows, and some
characters reverse the text around them.
"""


def printable(text: str, *, keep: str = "") -> str:
    r"""Return the text with unprintable characters escaped as `\x1b`, except those in `keep`."""
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() or sign in keep else sign.encode("unicode_escape").decode()
        for sign in text
    )
