"""Which formula ranks what: weights fitted on talk are not those of documents."""

from phronesis import Memory
from phronesis.recall.scoring.weights import A12, B12, SECTIONS, Formula
from phronesis.recall.search import Formulas
from phronesis.store.document_tables import MEMORY, RESOURCES, Home

OWN = Formula("own", {"words": 1.0}, "made up", dense=False)


def test_each_home_has_its_formulas() -> None:
    cases: list[tuple[Home, bool, Formula]] = [
        (MEMORY, False, A12),
        (MEMORY, True, B12),
        (RESOURCES, False, A12),
        (RESOURCES, True, SECTIONS),
    ]
    for home, dense, expected in cases:
        assert Formulas().of(home, dense=dense) is expected


def test_weights_of_ones_own_rank_memory() -> None:
    own = Formulas(words=OWN)
    assert own.of(MEMORY, dense=False) is OWN
    assert own.of(RESOURCES, dense=False) is A12


def test_what_is_found_of_documents_is_ranked_by_theirs() -> None:
    with Memory.open("sqlite://", tenant="t", policy={"embedder": "hashing", "extraction": False}) as memory:
        memory.add("The pump in the cellar is blue.", user_id="ann")
        memory.resources.ingest(
            "# Pump\n\nPress the red button.", uri="pump.md", media_type="text/markdown", user_id="ann"
        )
        memory.flush()
        found = {
            kind: memory.search("pump", user_id="ann", kinds=[kind], explain=True) for kind in ("message", "section")
        }
    named = {kind: (one.explain or {})["formula"]["name"] for kind, one in found.items()}
    assert named == {"message": "B12", "section": "S3"}
    assert all(found.values())
