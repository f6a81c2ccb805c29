"""The words of an HTML page as somebody reads them; its elements must close in the order they open."""

from __future__ import annotations

from html.parser import HTMLParser

_BLOCKS = {"p", "h1", "h2", "h3", "tr", "pre", "li", "figcaption", "div", "figure", "table", "caption", "title"}
_ALONE = {"meta", "link", "br"}


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes)))
        if tag not in _ALONE:
            self.open.append(tag)
        self.words.append("\n" if tag in _BLOCKS else " " if tag in ("td", "th") else "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self.words.append("\n" if tag in _BLOCKS else "")

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self.open):
            self.words.append(data)

    @property
    def text(self) -> str:
        lines = [line.rstrip() for line in "".join(self.words).split("\n")]
        return "\n".join(line for line in lines if line) + "\n"


def read_html(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader
