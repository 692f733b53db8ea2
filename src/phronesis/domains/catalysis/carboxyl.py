"""Carboxyl groups of a molecule, by substructure: the free acid, its carboxylate, its ester (requirement RB-21)."""

import threading
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from phronesis.errors import MissingExtra

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
    """Give the carboxyl groups of a molecule; None for what is no SMILES. MissingExtra: RDKit is not installed."""
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
    """Give the molecule, None when it cannot be read, without RDKit's words on standard error."""
    from rdkit import Chem, rdBase  # noqa: PLC0415 - see above

    reading = Chem.SmilesParserParams()
    reading.removeHs = False  # type: ignore[assignment, unused-ignore] # or atoms would lose their places
    with _LOGGING, rdBase.BlockLogs():  # it holds for the process: as short as can be, and one at a time
        return Chem.MolFromSmiles(smiles, reading)
