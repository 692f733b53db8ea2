"""What several traits point to: behaviours to a preference, preferences to a core trait."""

from collections.abc import Mapping, Sequence
from typing import Final

from phronesis.core.decay import Subtype
from phronesis.core.traits.operations import Upgrade
from phronesis.core.traits.seen import GENERAL
from phronesis.derive.reflecting.by_rules.fitting import Known
from phronesis.derive.reflecting.by_rules.tables import Code, the_tables

FOR_PREFERENCE: Final = 0.5
FOR_CORE: Final = 0.6
"""Least confidence of the traits that are taken together (NM-08)."""

LEAST: Final = 2
"""Traits that point to one tendency."""

INHERITED: Final = 0.5
"""Share of the evidence of those below that a trait above has when it was made of them."""


def upgrades_of(traits: Sequence[Known]) -> list[Upgrade]:
    """Give the upgrades that are due, preferences first; a trait that was made of the same ones is not made again."""
    table = the_tables()
    behaviours = _grouped(traits, "behavior", FOR_PREFERENCE)
    found = [
        up for domain, those in behaviours.items()
        if (up := _upgrade(traits, those, say=table.domains[domain].likes, subtype="preference",
                           context=table.domains[domain].context)) is not None
    ]  # fmt: skip
    cores: dict[str, list[Known]] = {}
    for domain, those in _grouped(traits, "preference", FOR_CORE).items():
        cores.setdefault(table.domains[domain].core, []).extend(those)
    for name in sorted(cores):
        up = _upgrade(traits, cores[name], say=table.cores[name].say, subtype="core", context=GENERAL, core=name)
        found += [up] if up is not None else []
    return found


def _grouped(traits: Sequence[Known], subtype: str, least: float) -> dict[str, list[Known]]:
    """Give the traits of a subtype that are sure enough, by the domain most of their behaviours lie in."""
    table = the_tables()
    likes = {say: name for name, one in table.domains.items() for say in one.likes.values()}
    found: dict[str, list[Known]] = {}
    for known in traits:
        trait = known.trait
        if trait.subtype != subtype or trait.stage == "trend" or (trait.confidence or 0.0) < least:
            continue
        domains = sorted(table.behaviours[name].domain for name in known.said.behaviours or known.behaviours)
        domain = likes.get(trait.content) or max(domains, key=domains.count, default=None)
        if domain is not None:
            found.setdefault(domain, []).append(known)
    return {name: found[name] for name in sorted(found)}


def _upgrade(
    traits: Sequence[Known], those: Sequence[Known], *, say: Mapping[Code, str], subtype: Subtype, context: str,
    core: str | None = None,
) -> Upgrade | None:  # fmt: skip
    evidence = frozenset[int]().union(*(one.evidence for one in those))
    if len({one.trait.content for one in those}) < LEAST:
        return None
    for other in traits:
        made = other.trait.content in say.values() or len(other.evidence & evidence) > INHERITED * len(evidence)
        if other.trait.subtype == subtype and made:
            return None
    code: Code = "zh" if 2 * sum(one.said.code == "zh" for one in those) >= len(those) else "en"
    listed = ("；" if code == "zh" else "; ").join(one.trait.content for one in those)
    return Upgrade(
        from_trait_ids=[one.trait.id for one in those], new_content=say[code], new_subtype=subtype,
        reasoning=f"都指向同一倾向：{listed}" if code == "zh" else f"These point the same way: {listed}",
        context=context, facet=None if core is None else the_tables().cores[core].facet,
    )  # fmt: skip
