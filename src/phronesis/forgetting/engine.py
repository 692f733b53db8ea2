"""The forgetting engine: archiving and expiry by age and usage, and the end of requests to forget that are met."""

from typing import TYPE_CHECKING, Final

from phronesis.core.lazy_loading import lazy_module
from phronesis.engine.plugin import Engine, OpenEngine, Part, Platform, is_withdrawal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from phronesis.conversation.extraction import extraction_rules
    from phronesis.core.changes import Changes
    from phronesis.core.entries import Entry
    from phronesis.core.items import Item
    from phronesis.experience import policy_section as experience
    from phronesis.forgetting import handler, policy_section
    from phronesis.store.lane_view import LaneView
else:
    experience = lazy_module("phronesis.experience.policy_section")
    policy_section = lazy_module("phronesis.forgetting.policy_section")
    extraction_rules = lazy_module("phronesis.conversation.extraction.extraction_rules")
    handler = lazy_module("phronesis.forgetting.handler")


def _open(platform: Platform) -> OpenEngine:
    policy = platform.policy
    own = policy.of(policy_section.ForgettingPolicy).forgetting
    law = policy_section.law_of(own, policy.of(experience.ExperiencePolicy).experience.forget, pinned=policy.core.pin)
    forgetter = handler.Forgetter(platform.database, platform.usage, law, background=own.background, hours=own.hours)
    return OpenEngine(handlers=handler.HANDLERS, components={"forgetter": forgetter})


def _with_requests_met(view: "LaneView", entry: "Entry", changes: "Changes", held: "Mapping[str, Item]") -> "Changes":
    return extraction_rules.end_fulfilled_requests(view, entry, changes, held) if is_withdrawal(changes) else changes


ENGINE: Final = Engine(
    name="forgetting",
    policy=lambda: policy_section.ForgettingPolicy,
    parts=(Part(open=_open, verbs=("forget",), components=("forgetter",)),),
    consequences=(_with_requests_met,),
    after=("resources",),
)
