"""Fitting and leaving out the ranking's features: figures that can be checked by hand, and files that come back."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from phronesis import Memory
from phronesis.errors import InputError
from phronesis.recall.scoring.weights import A12, B12
from phronesis_benchmarks.cached_embedder import CachedEmbedder
from phronesis_benchmarks.candidates import NAMES, Asked, as_vector, collect
from phronesis_benchmarks.fitting import run_refit
from phronesis_benchmarks.precisionmembench import run_precisionmembench
from phronesis_benchmarks.refit import fit, refit
from unit.benchmarks.conftest import WordEmbedder, locomo_sample

ONE_HOT = np.eye(len(NAMES))


def asked(gold: str, *, group: str = "g", conversation: str = "c", split: str = "", right: str = "photo") -> Asked:
    """Give a question whose evidence is told by one feature, among two candidates."""
    table = np.stack([ONE_HOT[NAMES.index(right)], ONE_HOT[NAMES.index("asks")]])
    return Asked(group, conversation, split, (gold,), ("yes", "no"), ("s1", "s1"), table)


def test_the_feature_that_tells_the_evidence_gains_weight() -> None:
    weights = fit([asked("yes")], {"photo": 0.0, "asks": 0.0}, l2=0.1)
    assert weights[NAMES.index("photo")] > 0 > weights[NAMES.index("asks")]
    assert not weights[[n for n, name in enumerate(NAMES) if name not in {"photo", "asks"}]].any()


def test_a_test_part_is_never_fitted_on() -> None:
    dev = [asked("yes", conversation=f"c{n}", split="dev") for n in range(3)]
    report = refit([*dev, asked("no", conversation="d", split="test")], dense=False)
    assert report.fitted.weights["photo"] > A12.weights["photo"]
    assert set(report.figures["g"]) == {"shipped", "fitted, left out"}
    assert report.figures["g, test"]["fitted"]["recall@1"] == 0
    assert "3 questions of g" in report.fitted.provenance
    assert report.to_dict()["shipped"]["name"] == "A12"
    assert "| g, test | fitted | " in report.to_markdown()


def written(path: Path, sample: Any) -> Path:
    path.write_text(json.dumps([sample]), encoding="utf-8")
    return path


def test_what_is_collected_ranks_as_the_search_does(tmp_path: Path) -> None:
    from phronesis_benchmarks.datasets import load_locomo  # noqa: PLC0415 - beside its one use

    [conversation] = load_locomo(written(tmp_path / "talk.json", locomo_sample()))
    for embedder, formula in ((None, A12), (CachedEmbedder(WordEmbedder([])), B12)):
        for one, question in zip(collect("talk", [conversation], embedder), conversation.questions, strict=True):
            order = np.argsort(-(one.features @ as_vector(formula.weights)), kind="stable")
            policy = {"embedder": "none"} if embedder is None else None
            with Memory.open("sqlite://", tenant="t", policy=policy, embedder=embedder) as memory:
                for turns in conversation.sessions():
                    messages = [
                        {
                            "id": turn.id,
                            "role": turn.role,
                            "name": turn.speaker,
                            "content": turn.text,
                            "created_at": str(turn.occurred_at),
                        }
                        for turn in turns
                    ]
                    memory.commit_turn(turns[0].session_id, {"messages": messages}, user_id="u")
                memory.flush()
                found = memory.search(question.text, user_id="u", limit=200)
            assert [one.turns[n] for n in order] == [evidence.item.message_id for evidence in found]


def test_a_fit_comes_back_as_a_policy_that_ranks(tmp_path: Path) -> None:
    file, out = written(tmp_path / "talk.json", locomo_sample()), tmp_path / "weights.json"
    told: list[tuple[str, int, int]] = []
    report = run_refit([file], words=True, l2=1.0, out=out, on_progress=lambda *step: told.append(step))
    assert told == [("talk", 1, 1)]
    policy = json.loads(out.read_text("utf-8")) | {"embedder": "none"}
    with Memory.open("sqlite://", tenant="t", policy=policy) as memory:
        memory.add("green tea", user_id="u")
        explained = memory.search("tea", user_id="u", explain=True).explain or {}
    assert explained["formula"]["name"] == "own"
    assert explained["formula"]["weights"] == report.fitted.weights
    dense = run_refit([file], embedder=WordEmbedder([]))
    assert set(dense.to_policy()["ranking"]) == {"dense"}


@pytest.mark.parametrize(("l2", "out", "field"), [(0.0, None, "l2"), (1.0, "no/such/folder/x.json", "out")])
def test_wrong_arguments_are_named(l2: float, out: str | None, field: str, tmp_path: Path) -> None:
    file = written(tmp_path / "talk.json", locomo_sample())
    with pytest.raises(InputError) as told:
        run_refit([file], words=True, l2=l2, out=None if out is None else tmp_path / out)
    assert told.value.field == field


def belief(name: str, content: str, **more: Any) -> dict[str, Any]:
    return {
        "_id": f"b-{name}",
        "user_id": "test-user",
        "type": "preference",
        "canonical_name": name,
        "aliases": [],
        "content": content,
        "scope": ["domain:code"],
        "epistemic_status": "active",
        "pinned": False,
        "resolved_at": None,
        **more,
    }


def case(name: str, query: str, **expect: Any) -> dict[str, Any]:
    return {"caseId": name, "scope": ["domain:code"], "query": query, "expect": expect}


def fixtures(folder: Path, beliefs: Any, cases: Any) -> Path:
    (folder / "beliefs.seed.json").write_text(json.dumps(beliefs), encoding="utf-8")
    (folder / "retrieval.cases.json").write_text(json.dumps(cases), encoding="utf-8")
    return folder


def test_precisionmembench_counts_what_must_be_found_and_what_comes_too(tmp_path: Path) -> None:
    beliefs = [
        belief("kubernetes", "Deploys to a cluster.", aliases=["k8s"], type="entity", pinned=True),
        belief("tea", "Drinks green tea."),
        belief("coffee", "Drank coffee.", epistemic_status="superseded"),
        belief("rice", "Eats rice.", scope=["domain:food"]),
        belief("secret", "Uses Haskell.", user_id="other"),
    ]
    cases = [
        case("alias", "k8s?", pinnedFacts={"mustInclude": ["b-kubernetes"]}),
        case("empty", " ", pinnedFacts={"mustInclude": ["b-kubernetes"], "mustExclude": ["b-tea"]}),
        case("old", "coffee or tea?", relevantBeliefs={"shouldOnlyInclude": ["b-tea"], "mustExclude": ["b-coffee"]}),
        case("lost", "rice", pinnedFacts={"mustInclude": ["b-rice"]}),
    ]
    report = run_precisionmembench(fixtures(tmp_path, beliefs, cases), embedder=WordEmbedder([]))
    assert report.must_include == pytest.approx(2 / 3)
    assert (report.requiring, report.forbidden) == (3, 0)
    by_id = {one.id: one for one in report.cases}
    assert by_id["alias"].found[0] == "b-kubernetes"
    assert by_id["empty"].found == ("b-kubernetes",)
    assert by_id["old"].found[0] == "b-tea"
    assert by_id["lost"].missing == ("b-rice",)
    assert 0 < report.unwanted < 1
    assert "- lost ('rice'): b-rice" in report.to_markdown()
    assert report.to_dict()["cases"][0]["id"] == "alias"
