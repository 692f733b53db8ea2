"""A document's summary is its own words: title, beginning, headings, and how sections begin."""

from phronesis.core.documents import ReadDocument
from phronesis.resources.laws.outline import Heading, sections_of
from phronesis.resources.laws.summary import summary_of

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
