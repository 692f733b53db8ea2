"""What PubChem's answer makes of a modifier: one compound or several, its carboxyl groups, and what to suggest.

Nothing here blocks a run: what cannot be told is ``unresolved`` and no verdict (requirements RB-21, RB-22).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from phronesis.core.reasoning.facts import excerpt
from phronesis.core.reasoning.review import Candidate, Review, ReviewReason
from phronesis.core.reasoning.runs import Run, folded_name
from phronesis.domains.catalysis.carboxyl import CarboxylGroups, carboxyl_groups
from phronesis.domains.catalysis.facts import modifier_of
from phronesis.domains.catalysis.pubchem import Compound, Compounds, normal_name
from phronesis.errors import MissingExtra

SKELETON: Final = 14
"""Characters of an InChIKey that stand for the skeleton: the same for stereoisomers, isotopes and zwitterions (IUPAC's
InChI, technical manual)."""

MAX_SHOWN: Final = 60
"""Characters of a modifier's name in a suggestion."""

_LOOKED_AT: Final = 20_000
_NONE: Final = frozenset(
    {
        *("none", "n/a", "nil", "null", "unmodified", "without", "-", "/"),
        *("无", "無", "没有", "不加", "未加", "未修饰", "空白"),
    }
)
"""What people write where there was no modifier. PubChem knows compounds by some of these names."""
_HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_LATIN: Final = re.compile("[A-Za-z]")


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be looked up of a run: the modifier as it was written, and the name to ask for.

    ``name`` is None where there is nothing to ask: no modifier, or none that can be a name.
    """

    run_id: str
    modifier: str | None
    name: str | None
    chinese: bool = False


def asked_of(run: Run) -> Asked:
    """Give what is to be looked up of a run."""
    written = modifier_of(run)
    if written is None or (isinstance(written, str) and folded_name(written) in _NONE):
        return Asked(run.run_id, None, None)
    text = written if isinstance(written, str) else str(written)
    name = normal_name(text) if isinstance(written, str) else None
    return Asked(run.run_id, text, name, _is_chinese(run))


def without_answer(asked: Asked) -> Review:
    """Give the review of a run of whose modifier nothing can be asked."""
    reason: ReviewReason = "no_modifier" if asked.modifier is None else "unreadable_modifier"
    return Review(run_id=asked.run_id, modifier=asked.modifier, status="unresolved", reason=reason)


def reviewed(asked: Asked, found: Compounds) -> Review:
    """Give the review that PubChem's answer makes, without the time."""
    review = Review(run_id=asked.run_id, modifier=asked.modifier, status="unresolved")
    if not found.listed:
        return replace(review, reason="no_structure" if found.total else "not_found")
    groups, has_rdkit = _groups(found.listed)
    candidates = tuple(map(_candidate, found.listed, groups))
    review = replace(review, candidates=candidates)
    if not _is_one(found):
        return replace(review, reason="ambiguous")
    best, group = found.listed[0], groups[0]
    named = replace(review, cid=best.cid, name=best.name, smiles=best.smiles, inchikey=best.inchikey)
    if best.smiles is None:
        return replace(named, reason="no_structure")
    if not has_rdkit:
        return replace(named, reason="no_rdkit")
    if group is None:
        return replace(named, reason="bad_smiles")
    if len({(one.has_cooh, one.has_carboxylate) for one in candidates}) > 1:
        return replace(review, reason="ambiguous")  # an acid and its zwitterion share one InChIKey
    done = replace(
        named, status="resolved", has_cooh=bool(group.acid), has_carboxylate=bool(group.carboxylate),
        matched={"acid": group.acid, "carboxylate": group.carboxylate, "ester": group.ester},
    )  # fmt: skip
    return done if group.acid else replace(done, suggestion=_suggestion(asked, best, group))


def _groups(compounds: Sequence[Compound]) -> tuple[list[CarboxylGroups | None], bool]:
    try:
        return [None if one.smiles is None else carboxyl_groups(one.smiles) for one in compounds], True
    except MissingExtra:
        return [None] * len(compounds), False


def _candidate(compound: Compound, group: CarboxylGroups | None) -> Candidate:
    return Candidate(
        cid=compound.cid, name=compound.name, smiles=compound.smiles, inchikey=compound.inchikey,
        has_cooh=None if group is None else bool(group.acid),
        has_carboxylate=None if group is None else bool(group.carboxylate),
    )  # fmt: skip


def _is_one(found: Compounds) -> bool:
    """Whether all compounds of a name are one but for stereochemistry, isotopes and where protons sit."""
    if found.total == 1:
        return True
    skeletons = {(compound.inchikey or "")[:SKELETON] for compound in found.listed}
    return found.total == len(found.listed) and len(skeletons) == 1 and "" not in skeletons


def _suggestion(asked: Asked, compound: Compound, group: CarboxylGroups) -> str:
    name = excerpt(" ".join((asked.modifier or "").split()), MAX_SHOWN)
    if asked.chinese:
        instead = "它是羧酸盐（–COO⁻），" if group.carboxylate else "它是酯，" if group.ester else ""
        return f"修饰剂 {name}（PubChem CID {compound.cid}）没有游离羧基（–COOH）：{instead}建议打回或重新生成。"
    instead = "it is a carboxylate (–COO⁻)" if group.carboxylate else "it is an ester" if group.ester else ""
    why = f": {instead}" if instead else ""
    return (
        f"The modifier {name} (PubChem CID {compound.cid}) has no free carboxyl group –COOH{why}."
        " Consider sending the run back, or generating it anew."
    )


def _is_chinese(run: Run) -> bool:
    """Whether a run is written in Chinese: more than a fifth of its letters are Han, a word having two or five."""
    text = run.raw[:_LOOKED_AT] or " ".join(value for value in run.fields().values() if isinstance(value, str))
    han = len(_HAN.findall(text[:_LOOKED_AT]))
    return han * 4 > len(_LATIN.findall(text[:_LOOKED_AT]))
