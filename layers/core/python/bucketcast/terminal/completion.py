"""Completion of targets and buckets in the shell."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Thread
from typing import Any, Final

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class
from click.types import FuncParamType

from bucketcast.errors import BucketcastError
from bucketcast.terminal.output import Output

SECONDS: Final = 3.0
"""So long the shell waits for an answer of AWS."""
Names = Callable[[Output], Sequence[str]]


def completed(names: Names) -> Callable[[Callable[[str], Any]], FuncParamType[Any, Any]]:
    """Return the type of parameters that a function reads, and the shell completes with names."""

    class Completed(FuncParamType[Any, Any]):
        def shell_complete(
            self,
            ctx: click.Context,
            param: click.Parameter,  # noqa: ARG002 - click's signature
            incomplete: str,
        ) -> list[CompletionItem[str]]:
            """Return what begins so; nothing without a stack, or if AWS is slow."""
            found: list[str] = []

            def read() -> None:
                with suppress(BucketcastError):
                    found.extend(names(ctx.obj))

            thread = Thread(target=read, daemon=True)
            thread.start()
            thread.join(SECONDS)
            return [CompletionItem(name) for name in found if name.startswith(incomplete)]

    return Completed


def targets(out: Output) -> list[str]:
    return [target.name for target in out.deployed()[0].targets]


def buckets(out: Output) -> list[str]:
    return out.aws().bucket_names()


@add_completion_class
class _Bash(BashComplete):
    """Bash splits words at colons, and takes what follows the last one."""

    _before = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        words, incomplete = super().get_completion_args()
        typed = re.sub("\n:(\n|$)", ":", "\n".join([*words, incomplete]))
        *words, last = typed.split("\n")
        self._before = last.removesuffix(incomplete.removeprefix(":"))
        return words, last

    def format_completion(self, item: CompletionItem[str]) -> str:
        item.value = item.value.removeprefix(self._before)
        return super().format_completion(item)
