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
