"""The text of a document's section as HTML: Markdown without foreign content, code and plain text as they are."""

import pytest

from phronesis.interfaces.web.pages.resources import section_html

LINK = '<a href="https://example.org" rel="noreferrer noopener nofollow external">page</a>'


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("**bold** and `code`", "<p><strong>bold</strong> and <code>code</code></p>"),
        ("[page](https://example.org)", f"<p>{LINK}</p>"),
        ("[logout](/logout) [bad](javascript:alert)", "<p><a>logout</a> [bad](javascript:alert)</p>"),
        ("![a chart](https://evil.example/x.png)", '<p><span class="badge">a chart</span></p>'),
        ("![](data:image/png;base64,AA)", "<p></p>"),
        ("<b onclick=x>raw</b>", "<p>&lt;b onclick=x&gt;raw&lt;/b&gt;</p>"),
        ("> # Quoted", "<blockquote>\n<h3>Quoted</h3>\n</blockquote>"),
        ("|a|\n|-|\n|1|", "<td>1</td>"),
    ],
)
def test_markdown_is_rendered_without_foreign_content(markdown: str, html: str) -> None:
    shown = section_html(markdown, "text/markdown; charset=utf-8")
    assert shown.startswith('<div class="prose">')
    assert html in shown
    assert "<img" not in shown


@pytest.mark.parametrize(
    ("form", "start"), [("text/plain", '<p class="pre">'), ("text/x-python", "<pre"), (None, "<p")]
)
def test_other_texts_stand_as_they_are(form: str | None, start: str) -> None:
    shown = section_html("a < **b**\n  c", form)
    assert shown.startswith(start)
    assert "a &lt; **b**\n  c" in shown
