"""A molecule as lines to draw: RDKit lays it out, and of what RDKit writes only numbers are taken on."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from xml.etree import ElementTree as ET

from phronesis.domains.catalysis.carboxyl import MAX_SMILES
from phronesis.errors import MissingExtra

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
    """Give the drawing of a molecule; None for what cannot be drawn. MissingExtra: RDKit is not installed.

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
    """Give RDKit's drawing; None for what it cannot read, or is too large."""
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
