"""FACTS of a catalyst's run (requirement RB-15) and its molecules (RB-21).

FACTS are M1 and M2, their atomic ratio, the modifier and the products. RDKit finds the carboxyl groups of a molecule
and draws it, from a SMILES.
"""

import re
import threading
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final
from xml.etree import ElementTree as ET

from phronesis.errors import MissingExtra
from phronesis.reasoning.laws.facts import MAX_FIELD, MAX_RAW, Facts, FactsView, excerpt, facts_of, summary_of
from phronesis.reasoning.laws.records import Feedback, Run, folded_name

MODIFIER: Final = ("modifier", "small_molecule_modifier")
"""Two names of one field; the first non-empty one counts."""
_CATALYST: Final = frozenset({"M1", "M2", "atomic_ratio", *MODIFIER})
_COLONS: Final = str.maketrans("∶/", "::")
_PART: Final = r"(\d{1,12}(?:\.\d{1,12})?)(%?)"
_RATIO: Final = re.compile(
    rf"(?:([a-z]{{1,3}}|m1)\s*+[:/-]\s*+([a-z]{{1,3}}|m2)\s*+(?:[=:]\s*+)?)?{_PART}(?:\s*+(?::|to|比)\s*+{_PART})?",
    re.IGNORECASE,
)


class CatalysisFacts:
    """FACTS builder for runs whose output has M1, M2, atomic_ratio and modifier (or small_molecule_modifier)."""

    name: Final = "catalysis"

    def recognises(self, fields: Mapping[str, Any]) -> bool:
        """Return whether an output names a metal, their ratio or a modifier."""
        return bool(_CATALYST & fields.keys())

    def facts(self, run: Run, feedback: Feedback) -> Facts:
        """Return FACTS with the four fields as written; those that cannot be parsed are listed as ``unresolved``."""
        fields = _fields(run)
        output: dict[str, Any] = {name: _shorten(value) for name, value in fields.items()}
        names = [name for name in ("M1", "M2", "modifier") if name in fields and _text(fields[name]) is None]
        unread = [*names, "atomic_ratio"] if "atomic_ratio" in fields and _ratio(fields) is None else names
        more = {"unresolved": unread, "raw": excerpt(run.raw, MAX_RAW)}
        return facts_of(run, feedback, output | {name: value for name, value in more.items() if value})

    def view(self, run: Run, feedback: Feedback) -> FactsView:
        """Return a view with M1, M2 and the modifier as names, and M1:M2 as the number ``ratio``."""
        fields = _fields(run)
        texts = {name: _text(fields.get(name)) for name in ("M1", "M2", "modifier")}
        ratio = _ratio(fields)
        return FactsView(
            run_id=run.run_id,
            label=_label(fields),
            named={name: text for name, text in texts.items() if text is not None},
            numbers={} if ratio is None else {"ratio": ratio},
            products=feedback.products,
        )

    def summary(self, facts: Facts) -> str:
        """Return the text by which candidate claims are searched."""
        label = _label(facts.run_output)
        return summary_of(facts, label or str(facts.run_output.get("raw", "")))


def modifier_of(run: Run) -> object:
    """Return the small-molecule modifier of a run as written, or None."""
    return _fields(run).get("modifier")


def atomic_ratio(written: object, m1: str = "", m2: str = "") -> float | None:
    """Return M1:M2 as a number, or None if the text is no ratio of two positive amounts.

    Accepted are "3:1", "3/1", "3∶1", "75%:25%", "3 to 1", "3", "Cu:Zn = 3:1" (in either order), 3, [3, 1] and {"Cu": 3,
    "Zn": 1}. "75%" alone is ambiguous (of all atoms, or of the other metal) and not accepted.
    """
    if isinstance(written, Mapping):
        parts = {folded_name(str(name)): amount for name, amount in written.items()}
        return atomic_ratio([parts.get(folded_name(m1)), parts.get(folded_name(m2))]) if m1 and m2 else None
    match written:
        case [first, second] if not isinstance(written, str):
            return _quotient(_number(first), _number(second))
        case str():
            return _ratio_of_text(written, m1, m2)
        case _:
            return _quotient(_number(written), 1.0)


def _ratio_of_text(text: str, m1: str, m2: str) -> float | None:
    found = _RATIO.fullmatch(unicodedata.normalize("NFKC", text[:MAX_FIELD]).translate(_COLONS).strip())
    if found is None or (found[4] and found[5] is None):
        return None
    ratio = _quotient(_number(found[3]), _number(found[5] or 1))
    if found[1] is None or ratio is None:
        return ratio
    metals, named = (folded_name(m1), folded_name(m2)), (folded_name(found[1]), folded_name(found[2]))
    if named in (metals, ("m1", "m2")):
        return ratio
    return 1 / ratio if named == metals[::-1] else None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _quotient(first: float | None, second: float | None) -> float | None:
    if first is None or second is None or not 0 < first < float("inf") or not 0 < second < float("inf"):
        return None
    quotient = first / second
    return quotient if 0 < quotient < float("inf") else None


def _fields(run: Run) -> dict[str, Any]:
    given = run.fields()
    fields = {name: given[name] for name in ("M1", "M2", "atomic_ratio") if _is_filled(given.get(name))}
    modifier = next((given[name] for name in MODIFIER if _is_filled(given.get(name))), None)
    return fields if modifier is None else {**fields, "modifier": modifier}


def _ratio(fields: Mapping[str, Any]) -> float | None:
    return atomic_ratio(fields.get("atomic_ratio"), *(_text(fields.get(name)) or "" for name in ("M1", "M2")))


def _is_filled(value: object) -> bool:
    return value is not None and value not in ("", [], {}) and not (isinstance(value, str) and not value.strip())


def _text(value: object) -> str | None:
    return value.strip() if isinstance(value, str) and value.strip() else None


def _shorten(value: object) -> object:
    """Return a short field as written, or the beginning of a long one as text."""
    is_short = not isinstance(value, str) and len(str(value)) <= MAX_FIELD
    return value if is_short else excerpt(str(value), MAX_FIELD)


def _label(fields: Mapping[str, Any]) -> str:
    """Return a short label of the run's material: "Cu–Zn 3:1, imidazole"."""
    metals = "–".join(text for name in ("M1", "M2") if (text := _text(fields.get(name))))
    ratio = fields.get("atomic_ratio")
    if isinstance(ratio, list):
        ratio = ":".join(str(part) for part in ratio)
    shown = "" if ratio is None or isinstance(ratio, Mapping) else str(ratio).strip()
    modifier = _text(fields.get("modifier")) or ""
    return excerpt(", ".join(part for part in (f"{metals} {shown}".strip(), modifier) if part), MAX_FIELD)


# Carboxyl groups by substructure search: the free acid, its carboxylate, its ester (requirement RB-21).

MAX_SMILES: Final = 4_000
"""Maximum length of a SMILES in characters: far above PubChem's small molecules."""

# The group's carbon is bonded to carbon (boron, silicon, phosphorus) or carries hydrogen (formic acid), as in the Gold
# Book's carboxylic acids RC(=O)OH. Carbamic and carbonic acids are separate classes there, as are anhydrides, peroxy
# and thio acids. [#6] includes aromatic lactones.
_CARBON: Final = "[#6X3;$([#6][#5,#6,#14,#15]),H1,H2]"
_NO_METAL: Final = "!#0;!#1;!#2;!#5;!#6;!#7;!#8;!#9;!#14;!#15;!#16;!#17;!#32;!#33;!#34;!#35;!#51;!#52;!#53"
_SMARTS: Final = {
    "acid": f"{_CARBON}(=[OX1])[OX2H1]",
    # Salts are usually drawn as ions; some bind the metal.
    "carboxylate": f"{_CARBON}(=[OX1])[$([OX1-]),$([OX2]-[{_NO_METAL}])]",
    "ester": f"{_CARBON}(=[OX1])[#8X2;$([#8][#6;!$([#6]=[O,S,N])])]",
}
_LOGGING: Final = threading.Lock()


@dataclass(frozen=True, slots=True)
class CarboxylGroups:
    """Carboxyl groups of a molecule, each as the atom indices of carbon, =O and –O in the SMILES, counted from 0."""

    acid: tuple[tuple[int, ...], ...]
    carboxylate: tuple[tuple[int, ...], ...]
    ester: tuple[tuple[int, ...], ...]


def carboxyl_groups(smiles: str) -> CarboxylGroups | None:
    """Return the carboxyl groups of a molecule, or None for an invalid SMILES.

    MissingExtra when RDKit is not installed.
    """
    patterns = _patterns()
    is_one = len(smiles) <= MAX_SMILES and smiles.split() == [smiles]  # RDKit takes text after a space for a name
    molecule = _molecule(smiles) if is_one else None
    if molecule is None or not molecule.GetNumAtoms():
        return None
    return CarboxylGroups(**{name: tuple(molecule.GetSubstructMatches(pattern)) for name, pattern in patterns.items()})


@cache
def _patterns() -> dict[str, Any]:
    try:
        from rdkit import Chem  # noqa: PLC0415 - half a second, optional
    except ImportError as error:
        raise MissingExtra('structures are read with RDKit; pip install "phronesis[chem]"') from error
    return {name: Chem.MolFromSmarts(smarts) for name, smarts in _SMARTS.items()}


def _molecule(smiles: str) -> Any:
    """Return the parsed molecule or None, with RDKit's messages on standard error suppressed."""
    from rdkit import Chem, rdBase  # noqa: PLC0415 - see above

    reading = Chem.SmilesParserParams()
    reading.removeHs = False  # type: ignore[assignment, unused-ignore] # or atoms would lose their places
    with _LOGGING, rdBase.BlockLogs():  # process-wide setting: kept short, one thread at a time
        return Chem.MolFromSmiles(smiles, reading)


WIDTH, HEIGHT = 360, 240
"""Size of a drawing in its own units; the viewer scales it."""
MAX_ATOMS: Final = 200
"""Maximum number of atoms drawn: a larger molecule is illegible at this size."""
_PATH: Final = re.compile(r"[MLQCZ0-9 .,\n-]+")
_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?")
_ATOM: Final = re.compile(r"\batom-(\d+)\b")
_PLACES: Final = ("cx", "cy", "rx", "ry")
_SVG: Final = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True, slots=True)
class Stroke:
    """A path: a line for a bond, or a filled shape for a letter or wedge.

    ``d`` holds SVG path commands and numbers only.
    """

    d: str
    filled: bool


@dataclass(frozen=True, slots=True)
class Spot:
    """An ellipse behind an atom of a group; the group's name is acid, carboxylate or ester."""

    group: str
    cx: float
    cy: float
    rx: float
    ry: float


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawing of a molecule in a box of `WIDTH` by `HEIGHT`; spots lie under strokes."""

    spots: Sequence[Spot]
    strokes: Sequence[Stroke]
    width: int = WIDTH
    height: int = HEIGHT


def drawing_of(smiles: str, groups: Mapping[str, Sequence[Sequence[int]]]) -> Drawing | None:
    """Return the drawing of a molecule, or None if it cannot be drawn; MissingExtra when RDKit is not installed.

    ``groups`` are the atom indices in ``smiles`` to mark, as in ``matched`` of a `Review`.
    """
    marked = {atom: name for name, found in groups.items() for atoms in found for atom in atoms}
    text = _draw_svg(smiles, marked)
    if text is None:
        return None
    spots: list[Spot] = []
    strokes: list[Stroke] = []
    for element in ET.fromstring(text):  # noqa: S314 - written by RDKit itself
        if element.tag == f"{_SVG}ellipse":
            spots += _spots(element.attrib, marked)
        elif element.tag == f"{_SVG}path" and _PATH.fullmatch(element.get("d", "")):
            d = " ".join(element.get("d", "").split())
            strokes.append(Stroke(d, filled="fill:none" not in element.get("style", "")))
    return Drawing(tuple(spots), tuple(strokes))


def _draw_svg(smiles: str, marked: Mapping[int, str]) -> str | None:
    """Return RDKit's SVG, or None for an invalid or too large molecule."""
    try:
        from rdkit import Chem, rdBase  # noqa: PLC0415 - half a second, optional
        from rdkit.Chem.Draw import rdMolDraw2D  # noqa: PLC0415 - see above
    except ImportError as error:
        raise MissingExtra('structures are drawn with RDKit; pip install "phronesis[chem]"') from error
    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(smiles) if len(smiles) <= MAX_SMILES and smiles.split() == [smiles] else None
    if molecule is None or not 0 < molecule.GetNumAtoms() <= MAX_ATOMS:
        return None
    canvas: Any = rdMolDraw2D.MolDraw2DSVG(WIDTH, HEIGHT)
    options = canvas.drawOptions()
    options.useBWAtomPalette()
    options.clearBackground = False
    options.padding = 0.08
    atoms = [atom for atom in marked if atom < molecule.GetNumAtoms()]
    rdMolDraw2D.PrepareAndDrawMolecule(canvas, molecule, highlightAtoms=atoms, highlightBonds=[])
    canvas.FinishDrawing()
    return str(canvas.GetDrawingText()).partition("?>")[2]


def _spots(given: Mapping[str, str], marked: Mapping[int, str]) -> list[Spot]:
    atom = _ATOM.search(given.get("class", ""))
    numbers = [given.get(name, "") for name in _PLACES]
    if atom is None or not all(map(_NUMBER.fullmatch, numbers)) or int(atom[1]) not in marked:
        return []
    return [Spot(marked[int(atom[1])], *map(float, numbers))]
