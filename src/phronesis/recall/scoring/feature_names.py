"""The names of the features, in a fixed order; a policy, formulas and ``explain`` use them."""

from typing import Final

FEATURE_NAMES: Final = (
    "words",
    "window",
    "pair",
    "previous",
    "second_previous",
    "following",
    "coverage",
    "coverage_next",
    "coverage_third_next",
    "dense",
    "dense_next",
    "speaker",
    "mention",
    "key",
    "date",
    "date_covered",
    "date_in_text",
    "when_time",
    "length",
    "asks",
    "previous_asks",
    "photo",
    "stated",
)
