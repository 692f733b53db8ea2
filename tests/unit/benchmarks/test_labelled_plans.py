"""The labelled messages and questions keep their form: what is measured by them is only as good as they are."""

import json
from collections import Counter
from typing import Any

from labelled_texts import LABELLED_TEXTS
from phronesis.core.retrieval_plan import INTENTS
from phronesis_benchmarks.plans import LabelledMessage, load_messages

LABELLED = LABELLED_TEXTS
SPLITS = ("dev", "test")
NEVER_TIMED = "chat"


def messages(split: str) -> list[LabelledMessage]:
    return load_messages(LABELLED / "plans" / f"{split}.jsonl")


def questions(split: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (LABELLED / "resources" / f"{split}.jsonl").read_text("utf-8").splitlines()]


def test_messages_are_lawful() -> None:
    for split in SPLITS:
        told = messages(split)
        assert len({one.id for one in told}) == len({one.message for one in told}) == len(told) >= 80, split
        assert {one.intent for one in told} == set(INTENTS), split
        assert {one.language for one in told} == {"en", "zh", "mixed"}, split
        for one in told:
            assert one.now.utcoffset() is not None, split
            if one.intent == NEVER_TIMED:
                assert (one.time, one.resources_needed) == (None, False), split


def test_the_two_files_of_messages_have_the_same_numbers_and_no_sentence_in_common() -> None:
    dev, test = messages("dev"), messages("test")
    for count in (
        [Counter((one.language, one.intent) for one in told) for told in (dev, test)],
        [Counter((one.language, one.resources_needed) for one in told) for told in (dev, test)],
        [Counter(one.time is not None for one in told) for told in (dev, test)],
    ):
        assert count[0] == count[1]
    assert not {one.message for one in dev} & {one.message for one in test}


def test_questions_are_lawful() -> None:
    for split in SPLITS:
        told = questions(split)
        assert len({one["id"] for one in told}) == len({one["question"] for one in told}) == len(told) >= 40, split
        assert {one["split"] for one in told} == {split}, split
        assert sum(one["language"] == "zh" for one in told) >= 0.35 * len(told), split
        for one in told:
            assert all(one["section"]), split


def test_the_two_files_of_questions_ask_about_the_same_documents() -> None:
    dev, test = (Counter((one["document"], one["language"]) for one in questions(split)) for split in SPLITS)
    assert dev == test
    assert len({document for document, _ in dev}) == 10
