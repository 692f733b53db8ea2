"""What a migration tells: counts, what was refused, and plain data."""

from phronesis.errors import Violation
from phronesis.reasoning.laws.records import MigratedSource, MigrationResult, TakenOut


def test_a_result_counts_and_names_what_was_refused() -> None:
    refused = MigratedSource("number 2", "refused", violations=(Violation(rule="no_claim", message="nothing"),))
    done = MigratedSource("mem:x", "migrated", entry_id="e", taken_out=(TakenOut("question", "Why?"),))
    result = MigrationResult((done, refused, MigratedSource("number 3", "migrated")))
    assert result.counts == {"migrated": 2, "refused": 1}
    assert result.refused == [refused]
    told = result.to_dict()
    assert (told["counts"], told["dry_run"], len(told["sources"])) == ({"migrated": 2, "refused": 1}, False, 3)
    assert told["sources"][0]["taken_out"] == [{"why": "question", "text": "Why?"}]
    assert told["sources"][1]["violations"][0]["rule"] == "no_claim"
    assert MigrationResult((), dry_run=True).to_dict() == {"sources": [], "dry_run": True, "counts": {}}
