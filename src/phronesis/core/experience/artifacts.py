"""The artifacts that an event's words name: files, kinds of error, lemmas, and what stands in backticks.

By rules alone, so that the graph has its nodes without a model (EMB-06); what a source's adapter knows better stands
beside it. Chinese text glues no Latin name: the borders are those of ASCII.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from phronesis.core.experience.drafts import Artifact, ArtifactType

MAX_ARTIFACTS: Final = 24
"""Artifacts of one event: a log that names hundreds of files is about none of them."""

MAX_SCANNED: Final = 20_000
"""Characters of a text that are looked at."""

MAX_NAME: Final = 120
"""Characters of a name; what is longer is no name."""

_ENDINGS: Final = (
    "py|pyi|ipynb|lean|ts|tsx|js|jsx|mjs|java|kt|go|rs|c|cc|cpp|h|hpp|rb|php|cs|swift|sh|sql|toml|yaml|yml|json|xml|lock"
    "|cfg|ini|md|tex|csv|parquet|log|txt|html|css|dockerfile"
)
_EDGE: Final = r"(?<![A-Za-z0-9_./\-])"

_PATTERNS: Final[tuple[tuple[ArtifactType, re.Pattern[str]], ...]] = (
    ("file", re.compile(rf"{_EDGE}((?:[A-Za-z0-9_.\-]{{1,64}}/){{0,12}}[A-Za-z0-9_\-]{{1,64}}\.(?:{_ENDINGS}))"
                        r"(?![A-Za-z0-9_])")),
    ("error_type", re.compile(rf"{_EDGE}((?:[a-z_]{{1,40}}\.){{0,4}}[A-Z][A-Za-z]{{2,48}}(?:Error|Exception|Warning"
                              r"|Timeout))(?![A-Za-z0-9_])")),
    ("error_type", re.compile(rf"{_EDGE}((?:E|TS|CS|C|LNK|ORA-|SQLSTATE )[0-9]{{4,5}})(?![A-Za-z0-9_])")),
    ("error_type", re.compile(rf"{_EDGE}(HTTP[ /]?[45][0-9][0-9]|E[A-Z]{{5,14}}|SIG[A-Z]{{3,5}}|OOM)(?![A-Za-z0-9_])")),
    ("lemma", re.compile(rf"{_EDGE}([A-Z][A-Za-z0-9]{{1,40}}(?:\.[A-Za-z0-9_']{{1,60}}){{1,4}})(?![A-Za-z0-9_(])")),
    ("concept", re.compile(r"`([^`\n]{2,60})`")),
)  # fmt: skip


def artifacts_in(texts: Iterable[str], *, known: Sequence[Artifact] = ()) -> tuple[Artifact, ...]:
    """Give ``known``, then what the texts name, without repeats, at most `MAX_ARTIFACTS`.

    A name is one artifact: what is a file is not a lemma too (``Main.lean``), and backticks say no more of it.
    """
    found = {one.name: one for one in known}
    for text in texts:
        scanned = text[:MAX_SCANNED]
        for kind, pattern in _PATTERNS:
            for match in pattern.finditer(scanned):
                name = match.group(1).strip()
                if scanned[match.start(1) - 1 : match.start(1)] == "'":  # it stands in quotes, and is no primed name
                    name = name.removesuffix("'")
                if name and len(name) <= MAX_NAME:
                    found.setdefault(name, Artifact(kind, name))
    return tuple(found.values())[:MAX_ARTIFACTS]
