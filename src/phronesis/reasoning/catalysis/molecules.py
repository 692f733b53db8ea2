"""Carboxyl groups of a molecule and its drawing, both computed with RDKit from a SMILES (requirement RB-21)."""

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final
from xml.etree import ElementTree as ET

from phronesis.errors import MissingExtra

# Carboxyl groups by substructure search: the free acid, its carboxylate, its ester (requirement RB-21).

MAX_SMILES: Final = 4_000
"""Characters of a SMILES that is read: far above what PubChem has of small molecules."""

# The group's carbon hangs on carbon (boron, silicon, phosphorus) or carries hydrogen (formic acid), as in the Gold
# Book's carboxylic acids RC(=O)OH. Carbamic and carbonic acids are classes of their own there, so are anhydrides,
# peroxy and thio acids. [#6] takes in aromatic lactones.
_CARBON: Final = "[#6X3;$([#6][#5,#6,#14,#15]),H1,H2]"
_NO_METAL: Final = "!#0;!#1;!#2;!#5;!#6;!#7;!#8;!#9;!#14;!#15;!#16;!#17;!#32;!#33;!#34;!#35;!#51;!#52;!#53"
_SMARTS: Final = {
    "acid": f"{_CARBON}(=[OX1])[OX2H1]",
    # Salts are mostly drawn as ions; some bind the metal.
    "carboxylate": f"{_CARBON}(=[OX1])[$([OX1-]),$([OX2]-[{_NO_METAL}])]",
    "ester": f"{_CARBON}(=[OX1])[#8X2;$([#8][#6;!$([#6]=[O,S,N])])]",
}
_LOGGING: Final = threading.Lock()


@dataclass(frozen=True, slots=True)
class CarboxylGroups:
    """The groups of a molecule: of each the atoms carbon, =O, –O, by their places in the SMILES, counted from 0."""

    acid: tuple[tuple[int, ...], ...]
    carboxylate: tuple[tuple[int, ...], ...]
    ester: tuple[tuple[int, ...], ...]


def carboxyl_groups(smiles: str) -> CarboxylGroups | None:
    """Return the carboxyl groups of a molecule; None for what is no SMILES. MissingExtra: RDKit is not installed."""
    patterns = _patterns()
    is_one = len(smiles) <= MAX_SMILES and smiles.split() == [smiles]  # RDKit takes what follows a space for a name
    molecule = _molecule(smiles) if is_one else None
    if molecule is None or not molecule.GetNumAtoms():
        return None
    found = {name: tuple(molecule.GetSubstructMatches(pattern)) for name, pattern in patterns.items()}
    return CarboxylGroups(**found)


@cache
def _patterns() -> dict[str, Any]:
    try:
        from rdkit import Chem  # noqa: PLC0415 - half a second, optional
    except ImportError as error:
        raise MissingExtra('structures are read with RDKit; pip install "phronesis[chem]"') from error
    return {name: Chem.MolFromSmarts(smarts) for name, smarts in _SMARTS.items()}


def _molecule(smiles: str) -> Any:
    """Return the molecule, None when it cannot be read, without RDKit's words on standard error."""
    from rdkit import Chem, rdBase  # noqa: PLC0415 - see above

    reading = Chem.SmilesParserParams()
    reading.removeHs = False  # type: ignore[assignment, unused-ignore] # or atoms would lose their places
    with _LOGGING, rdBase.BlockLogs():  # it holds for the process: as short as can be, and one at a time
        return Chem.MolFromSmiles(smiles, reading)


WIDTH, HEIGHT = 360, 240
"""Units of a drawing, which whoever shows it scales."""

MAX_ATOMS: Final = 200
"""Atoms of what is drawn: larger molecules are no picture of this size."""

_PATH: Final = re.compile(r"[MLQCZ0-9 .,\n-]+")
_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?")
_ATOM: Final = re.compile(r"\batom-(\d+)\b")
_PLACES: Final = ("cx", "cy", "rx", "ry")
_SVG: Final = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True, slots=True)
class Stroke:
    """A path: of a bond, which is a line, or filled, of a letter or a wedge. ``d`` holds commands and numbers alone."""

    d: str
    filled: bool


@dataclass(frozen=True, slots=True)
class Spot:
    """An ellipse behind an atom of a group, by its name: acid, carboxylate or ester."""

    group: str
    cx: float
    cy: float
    rx: float
    ry: float


@dataclass(frozen=True, slots=True)
class Drawing:
    """What a molecule looks like, in a box of `WIDTH` by `HEIGHT`: spots lie under strokes."""

    spots: Sequence[Spot]
    strokes: Sequence[Stroke]
    width: int = WIDTH
    height: int = HEIGHT


def drawing_of(smiles: str, groups: Mapping[str, Sequence[Sequence[int]]]) -> Drawing | None:
    """Return the drawing of a molecule; None for what cannot be drawn. MissingExtra: RDKit is not installed.

    ``groups`` are atoms to be marked, by their places in ``smiles``, as a `Review` has them in ``matched``.
    """
    marked = {atom: name for name, found in groups.items() for atoms in found for atom in atoms}
    text = _written(smiles, marked)
    if text is None:
        return None
    spots: list[Spot] = []
    strokes: list[Stroke] = []
    for element in ET.fromstring(text):  # noqa: S314 - RDKit wrote it, a moment ago
        if element.tag == f"{_SVG}ellipse":
            spots += _spots(element.attrib, marked)
        elif element.tag == f"{_SVG}path" and _PATH.fullmatch(element.get("d", "")):
            d = " ".join(element.get("d", "").split())
            strokes.append(Stroke(d, filled="fill:none" not in element.get("style", "")))
    return Drawing(tuple(spots), tuple(strokes))


def _written(smiles: str, marked: Mapping[int, str]) -> str | None:
    """Return RDKit's drawing; None for what it cannot read, or is too large."""
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
