"""Parse a page into a tree of elements with the parser of the standard library."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

VOID = {"meta", "link", "img", "br", "wbr", "input", "hr"}


@dataclass
class Node:
    """An element with its tag, attributes and children."""

    tag: str
    attributes: dict[str, str]
    children: list[Node | str] = field(default_factory=list)

    def all(self, *tags: str) -> Iterator[Node]:
        """Yield all descendants, or those with one of the given tags."""
        for child in self.children:
            if isinstance(child, Node):
                if not tags or child.tag in tags:
                    yield child
                yield from child.all(*tags)

    def one(self, tag: str, **attributes: str) -> Node:
        """Return the only descendant with a tag and attributes.

        Write ``class_`` and ``data_x`` for the attributes ``class`` and ``data-x``.
        """
        expected_attributes = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
        (result,) = [n for n in self.all(tag) if expected_attributes.items() <= n.attributes.items()]
        return result

    @property
    def text(self) -> str:
        """The text of all descendants, with single spaces."""
        return " ".join("".join(self._texts()).split())

    def _texts(self) -> Iterator[str]:
        for child in self.children:
            if isinstance(child, str):
                yield child
            else:
                yield from child._texts()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"<{tag}> has an attribute twice"
        node = Node(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Node(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def read_html(page: bytes | Path) -> Node:
    """Return the root of a page. Assert that all elements are closed in order."""
    reader = _Reader()
    reader.feed((page.read_bytes() if isinstance(page, Path) else page).decode("utf-8"))
    reader.close()
    assert reader.open == [reader.root], f"<{reader.open[-1].tag}> is not closed"
    return reader.root
