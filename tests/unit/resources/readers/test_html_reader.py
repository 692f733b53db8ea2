"""HTML: what a page says, with and without trafilatura."""

import builtins
import sys
from typing import Any

import pytest

from phronesis.core.entries import ReadDocument
from phronesis.errors import InputError
from phronesis.resources.readers import markup
from phronesis.resources.readers.markup import page_of
from phronesis.resources.readers.port import RawDocument, read_document

PAGE = """<!DOCTYPE html>
<html><head><title>Guide &amp; manual</title><style>h1 { x: "</p>" }</style>
<meta property="og:title" content="The guide">
<script>if (a < b) document.write("<h1>no</h1>")</script></head>
<body>
<nav><ul><li><a href="/">Home</a></li></ul></nav>
<main>
<h1>Guide<a class="headerlink" href="#g">¶</a></h1>
<p>What it is
   for,&nbsp;in <b>one</b><i>word</i>.<br>And more.</p>
<h2>Steps</h2>
<ol><li><p>Download it.</p><li>Unpack it.</ol>
<ul><li>one <li>two</ul>
<!-- <h2>no</h2> -->
<pre><code>run --now
  &lt;x&gt;</code></pre>
<h3></h3>
<h3>安装</h3>
<table><tr><th>Name<th>Size<tr><td><p>tea</p></td><td>2 &gt; 1</td></table>
<div hidden><h2>hidden</h2>not shown</div>
<p title="a > b" data-x='>'>Last words.</p>
</main>
<footer>© nobody</footer>
</body></html>"""


def without_trafilatura(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refusing(name: str, *args: Any, **more: Any) -> Any:
        if name == "trafilatura":
            raise ModuleNotFoundError(name)
        return real(name, *args, **more)

    monkeypatch.delitem(sys.modules, "trafilatura", raising=False)
    monkeypatch.setattr(builtins, "__import__", refusing)


def sections(found: ReadDocument) -> list[tuple[str, str]]:
    return [("/".join(one.path), found.text[one.start : one.end]) for one in found.sections]


EXPECTED = [
    ("Guide", "What it is for, in oneword.  \nAnd more."),
    ("Guide/Steps", "1. Download it.\n2. Unpack it.\n\n- one\n- two\n\n```\nrun --now\n  <x>\n```"),
    ("Guide/Steps/安装", "| Name | Size |\n| --- | --- |\n| tea | 2 > 1 |\n\nLast words."),
]


def test_a_page_by_the_own_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    without_trafilatura(monkeypatch)
    found = read_document(RawDocument(name="https://example.org/guide.html?x=1#y", text=PAGE))
    assert found.title == "The guide"
    assert found.made_by == "html/3"
    assert sections(found) == EXPECTED


def test_pages_as_people_write_them() -> None:
    cases: list[tuple[str, str]] = [
        ("<nav>a<nav>b</nav>c</nav>d", "d"),
        ("<!-- never closed <p>words", ""),
        ("x<script>never closed", "x"),
        ("menu<main></main><p>words", "menu\n\nwords"),
        ("menu<main>words</main>", "words"),
        ("<?xml version='1.0'?><html><p>words", "words"),
        ("page.html", "page.html"),
        ("<table><tr><td>menu<td><h1>A</h1>b</table>", "menu\n\n# A\n\nb"),
        ("<p role='navigation'>menu</p>words", "words"),
        ("<li>one</li>two", "- one\ntwo"),
    ]
    for page, text in cases:
        assert page_of(page).text.strip() == text, page


ARTICLE = "<html><head><title>News</title></head><body><nav>Home</nav><article>{}</article></body></html>".format(
    "".join(
        f"<h2>Part {n}</h2><p>{'The annealing temperature was raised to two hundred degrees on that day. ' * 6}</p>"
        f"<p>{n}. And max_length was {n}00, as the engineers in the second laboratory said.</p>"
        for n in range(4)
    )
)


def test_a_page_by_trafilatura() -> None:
    found = read_document(RawDocument(media_type="text/html; charset=utf-8", data=ARTICLE.encode()))
    assert found.title == "News"
    assert found.made_by.startswith("html/3 trafilatura ")
    assert [section.path for section in found.sections] == [(f"Part {n}",) for n in range(4)]
    assert "max_length was 300" in found.text
    assert "Home" not in found.text


def test_trafilatura_is_not_asked_for_huge_or_deep_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    deep = "<div>" * 300 + ARTICLE + "</div>" * 300
    found = read_document(RawDocument(media_type="text/html", text=deep))
    assert found.made_by == "html/3"
    assert [section.path for section in found.sections] == [(f"Part {n}",) for n in range(4)]
    with monkeypatch.context() as patched:
        patched.setattr(markup, "MAX_PARSED", 5)
        assert not page_of(ARTICLE).parsed
    monkeypatch.setattr(markup, "MAX_EXTRACTED", 100)
    assert read_document(RawDocument(media_type="text/html", text=ARTICLE)).made_by == "html/3"


def test_a_page_of_too_many_tags_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markup, "MAX_TAGS", 5)
    with pytest.raises(InputError, match="over 5 tags"):
        page_of("<p>" * 6)
