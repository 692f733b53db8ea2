"""Letters that look like others: what a text looks like it says, whatever script its letters are of.

The pairs are those of Unicode's confusables.txt (UTS 39) for the letters of the Latin alphabet, in lower case.
"""

import unicodedata
from collections.abc import Mapping
from typing import Final

_PAIRS: Final = (
    # Cyrillic, Greek, Armenian
    ("аеорсухіјѕԁԛԝһӏкмтнгвьѵԍпи", "aeopcyxijsdqwhlkmthrbbvgnu"),
    ("οαιρτκυνχγηωβεϲϳσ", "oaiptkuvxynwbecjo"),
    ("ոօսհցզյ", "nouhgqj"),
    # Cherokee, as capitals
    ("ᎪᏴᏟᎠᎬᏀᎻᎥᎫᏦᏞᎷᏢᎡᏚᎢᏙᎳᏃ", "abcdeghijklmprstvwz"),
    # Latin letters of other alphabets, and small capitals
    ("ıɑɡɩʟɴʀʏʙɢʜɪᴀᴄᴅᴇᴊᴋᴍᴏᴘꜱᴛᴜᴠᴡᴢꜰ", "iagilnrybghiacdejkmopstuvwzf"),
)

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_ENCLOSED: Final = (0x1F150, 0x1F170, 0x1F1E6)
"""Where letters in circles and squares, and those of regions, begin: NFKC leaves them as they are."""


def _table() -> Mapping[str, str]:
    found = {given: meant for pair in _PAIRS for given, meant in zip(*pair, strict=True)}
    found |= {given.lower(): meant for given, meant in found.items()}
    found |= {chr(start + n): letter for start in _ENCLOSED for n, letter in enumerate(_LETTERS)}
    return found


LOOKALIKES: Final[Mapping[str, str]] = _table()
"""From a letter in lower case to the Latin one that it looks like."""


def latin_letter(char: str) -> str:
    """Give the one character that a character is read as: narrow, in lower case, without its accent."""
    wide = unicodedata.normalize("NFKC", char)
    low = (wide if len(wide) == 1 else char).lower()
    base = unicodedata.normalize("NFD", low)[:1]
    low = base if base.isascii() and base.isalpha() else low if len(low) == 1 else char
    return LOOKALIKES.get(low, low)


def skeleton(text: str) -> str:
    """Give what a short text looks like: a name that reads ``system`` in any script, width, case or accents."""
    whole = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text))
    return "".join(latin_letter(char) for char in whole if not unicodedata.category(char).startswith(("M", "C")))
