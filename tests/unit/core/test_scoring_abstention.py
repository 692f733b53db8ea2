"""When nothing that was found supports an answer."""

from phronesis.recall.scoring.weights import A12, B12, FEW, SECTIONS, WEAK_SCORE, Formula, Support, abstains

NOTHING = Support(0.0, 0.0, {})
OUTLYING = Support(0.5, 0.0, {"dense": 3.1 * B12.weights["dense"]})
WEAK = Support(1.0, 0.2, {"dense": 0.1})
STRONG = Support(WEAK_SCORE[True] + 1, 0.2, {})


def test_abstains() -> None:
    cases: list[tuple[list[Support], Formula, bool, int, bool]] = [
        ([], A12, False, 0, True),
        ([NOTHING], A12, False, 3, True),
        ([OUTLYING], B12, False, 3, False),
        ([OUTLYING], B12, False, 500, False),
        ([WEAK], B12, False, 500, True),
        ([WEAK], B12, False, FEW - 1, False),
        ([STRONG], B12, False, 500, False),
        ([], A12, True, 500, False),
        ([STRONG], SECTIONS, False, 500, True),
    ]
    for found, formula, named, documents, expected in cases:
        assert abstains(found, formula, named=named, documents=documents) is expected, found
