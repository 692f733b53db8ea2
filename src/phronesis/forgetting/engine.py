"""The forgetting engine: archiving and expiry by age and usage, and the end of requests to forget that are met."""

from typing import Final

from phronesis.config.conversation_sections import law_of
from phronesis.conversation.forget_requests import with_requests_met
from phronesis.engine.plugin import Engine, OpenEngine, Platform
from phronesis.forgetting.handler import HANDLERS, Forgetter


def _open(platform: Platform) -> OpenEngine:
    policy = platform.policy
    own = policy.forgetting
    law = law_of(own, policy.experience.forget, pinned=policy.core.pin)
    forgetter = Forgetter(platform.database, platform.usage, law, background=own.background, hours=own.hours)
    return OpenEngine(handlers=HANDLERS, components={"forgetter": forgetter})


ENGINE: Final = Engine(name="forgetting", open=_open, consequences=(with_requests_met,), after=("resources",))
