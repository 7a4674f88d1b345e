"""The local AWS with an index of SQS's messages, for queues of 100,000.

    .local/ministack-venv/bin/python benchmarks/indexed_sqs.py

MiniStack looks through all messages of a queue at every call, which takes hours for so many. Here
standard queues keep them by receipt and by when they are visible; all else is MiniStack's own.
"""

import heapq
import runpy
import time
from collections import deque
from itertools import count
from typing import Any

from ministack.core.responses import new_uuid  # type: ignore[import-not-found]
from ministack.services import sqs  # type: ignore[import-not-found]

_numbers = count()


class Index:
    """A queue's messages; what was sent is taken out of MiniStack's own list."""

    def __init__(self) -> None:
        self.ready: deque[Any] = deque()
        self.hidden: list[tuple[float, int, Any]] = []
        self.by_receipt: dict[str, Any] = {}
        self.total = 0

    def settle(self, queue: Any) -> None:
        """Take in what was sent, and make visible whose time has come."""
        for each in queue["messages"]:
            sqs._ensure_msg_fields(each)  # noqa: SLF001
            self.total += 1
            self.hide(each)
        queue["messages"].clear()
        now = time.time()
        while self.hidden and self.hidden[0][0] <= now:
            at, _, each = heapq.heappop(self.hidden)
            if each["visible_at"] == at and not each.get("gone"):
                self.ready.append(each)

    def hide(self, each: Any) -> None:
        heapq.heappush(self.hidden, (each["visible_at"], next(_numbers), each))


_indexes: dict[str, Index] = {}


def of(queue: Any) -> Index:
    index = _indexes.setdefault(queue["url"], Index())
    index.settle(queue)
    return index


def collect(queue: Any, most: int, seconds: int) -> list[Any]:
    index, found = of(queue), []
    while index.ready and len(found) < most:
        each = index.ready.popleft()
        now = time.time()
        index.by_receipt.pop(each["receipt_handle"] or "", None)
        each["receipt_handle"] = new_uuid()
        each["visible_at"] = now + seconds
        each["receive_count"] += 1
        each["first_receive_at"] = each.get("first_receive_at") or now
        index.by_receipt[each["receipt_handle"]] = each
        index.hide(each)
        found.append(each)
    return found


def refresh(queue: Any) -> None:
    index = of(queue)
    visible = len(index.ready)
    counts = {"": visible, "NotVisible": index.total - visible, "Delayed": 0}
    for name, number in counts.items():
        queue["attributes"][f"ApproximateNumberOfMessages{name}"] = str(number)


def change(data: Any, url: str) -> Any:
    return _each(data, url, _show)


def delete(data: Any, url: str) -> Any:
    return _each(data, url, lambda index, each, _: _remove(index, each))


def _show(index: Index, each: Any, entry: Any) -> None:
    each["visible_at"] = time.time() + int(entry["VisibilityTimeout"])
    index.hide(each)


def _remove(index: Index, each: Any) -> None:
    each["gone"] = True
    index.by_receipt.pop(each["receipt_handle"])
    index.total -= 1


def _each(data: Any, url: str, act: Any) -> Any:
    index = of(sqs._get_q(data.get("QueueUrl", url)))  # noqa: SLF001
    answer: Any = {"Successful": [], "Failed": []}
    for entry in data["Entries"]:
        each = index.by_receipt.get(entry["ReceiptHandle"])
        if each is None:
            failed = {"Id": entry["Id"], "Code": "ReceiptHandleIsInvalid", "SenderFault": True}
            answer["Failed"].append(failed)
        else:
            act(index, each, entry)
            answer["Successful"].append({"Id": entry["Id"]})
    return answer


sqs._collect_msgs, sqs._refresh_counts = collect, refresh  # noqa: SLF001
sqs._act_change_visibility_batch = change  # noqa: SLF001
sqs._act_delete_message_batch = delete  # noqa: SLF001
sqs._expire_retained = sqs._dlq_sweep = lambda _: None  # noqa: SLF001
for _name, _act in (("ChangeMessageVisibilityBatch", change), ("DeleteMessageBatch", delete)):
    for _table in vars(sqs).values():
        if isinstance(_table, dict) and _name in _table and callable(_table[_name]):
            _table[_name] = _act

if __name__ == "__main__":
    runpy.run_module("ministack", run_name="__main__")
