"""A document's summary is its own words: title, beginning, headings, and how sections begin."""

from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.documents import ReadDocument
from phronesis.resources.laws.outline import Heading, sections_of
from phronesis.resources.laws.summary import LIMIT, summary_of

MANUAL = """# Backup manual

[![badge](https://x)](https://y)

This manual tells how *backups* are made, see [the site](https://x). It is short.

| a | b |

## Daily backups

```
run --now
```

Every night at two the server writes a full copy to the second disk. It takes an hour.

## Restoring

Stop the server first, or what is restored will be written over.
And wait.

## Short

See above.
"""


def document(text: str, title: str = "") -> ReadDocument:
    headings, place = [], 0
    for line in text.split("\n"):
        if line.startswith("#"):
            level = len(line) - len(line.lstrip("#"))
            headings.append(Heading(level, line[level:].strip(), place, place + len(line)))
        place += len(line) + 1
    return ReadDocument(title, "text/markdown", text, sections_of(text, headings), "test/1")


def test_title_beginning_headings_and_sections() -> None:
    assert summary_of(document(MANUAL, "Backup manual")).split("\n") == [
        "Backup manual",
        "This manual tells how backups are made, see the site. It is short.",
        "Daily backups · Restoring · Short",
        "Daily backups: Every night at two the server writes a full copy to the second disk. It takes an hour.",
        "Restoring: Stop the server first, or what is restored will be written over. And wait.",
    ]


def test_chinese_is_summed_up_alike() -> None:
    text = (
        "# 备份手册\n\n本手册说明如何备份数据。内容很短。\n\n# 恢复\n\n"
        "恢复之前必须先停止服务器，否则恢复的数据会被新写入的数据覆盖，而且无法找回丢失的内容。\n"
    )
    assert summary_of(document(text, "备份手册")).split("\n") == [
        "备份手册",
        "本手册说明如何备份数据。内容很短。",
        "备份手册 · 恢复",
        "恢复: 恢复之前必须先停止服务器，否则恢复的数据会被新写入的数据覆盖，而且无法找回丢失的内容。",
    ]


def test_a_text_without_headings_is_its_beginning() -> None:
    assert summary_of(document("Only one line. " * 60)) == ("Only one line. " * 26).strip()
    assert summary_of(document("word " * 100)) == ("word " * 80)[:399].rstrip() + "…"


def test_a_document_without_prose_is_its_title_and_headings() -> None:
    assert summary_of(document("# A\n| x |\n# B\n> said\n", "T")) == "T\nA · B"


def test_many_headings_are_cut() -> None:
    text = "".join(f"# Heading number {n}\n\nWords.\n\n" for n in range(60))
    told = summary_of(document(text)).split("\n")[1]
    assert told.startswith("Heading number 0 · Heading number 1 · ")
    assert len(told) <= 500


@given(st.text(max_size=600), st.text(max_size=40), st.integers(0, LIMIT))
def test_a_summary_keeps_to_its_limit(text: str, title: str, limit: int) -> None:
    assert len(summary_of(document(text, title), limit=limit)) <= limit


def test_a_line_that_does_not_fit_is_left_out_and_a_shorter_one_after_it_kept() -> None:
    whole = summary_of(document(MANUAL)).split("\n")
    longest = max(whole, key=len)
    assert whole.index(longest) < len(whole) - 1
    short = summary_of(document(MANUAL), limit=len(longest) - 1).split("\n")
    assert longest not in short
    assert short == [line for line in whole if line in short]
