"""Settings: what wins over what, and the keys that gateways name."""

from pathlib import Path
from typing import Any

import pytest

from phronesis.config import Policy, api_keys, check_tenant, locations
from phronesis.errors import InputError
from phronesis.wiring import find_engines, read_settings

POLICY: dict[str, Any] = {
    "gateways": {
        "local": {"kind": "ollama"},
        "paid": {"kind": "openai", "api_key_env": "PAID_KEY"},
        "spare": {"kind": "openai", "api_key_env": "SPARE_KEY"},
    },
    "roles": {
        "summarise": {"gateway": "paid", "model": "m"},
        "plan": {"gateway": "paid", "model": "m"},
        "extract": {"gateway": "local", "model": "m"},
    },
}

DATA_FOLDER = locations.data_folder


@pytest.fixture(autouse=True)
def _nothing_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "PHRONESIS_URL PHRONESIS_POLICY PHRONESIS_EMBEDDER PHRONESIS_PUBCHEM_URL PAID_KEY SPARE_KEY".split():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(locations, "data_folder", lambda: tmp_path / "data")


@pytest.fixture
def brain(tmp_path: Path) -> Path:
    """Return a policy file that names an encoder."""
    path = tmp_path / "team.policy"
    path.write_text("version: 1\nembedder: hashing\n", "utf-8")
    return path


PLATFORMS: list[tuple[str, str, str]] = [
    ("linux", "XDG_DATA_HOME", ".local/share"),
    ("freebsd14", "XDG_DATA_HOME", ".local/share"),
    ("win32", "LOCALAPPDATA", "AppData/Local"),
    ("darwin", "", "Library/Application Support"),
]


def test_the_data_folder_is_the_platforms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for platform, variable, usual in PLATFORMS:
        for name in ("XDG_DATA_HOME", "LOCALAPPDATA"):
            monkeypatch.setenv(name, " ")
        assert DATA_FOLDER(platform) == tmp_path / usual / "phronesis"
        if variable:
            monkeypatch.setenv(variable, str(tmp_path / "given"))
            assert DATA_FOLDER(platform) == tmp_path / "given" / "phronesis"


def load(policy: Any = None) -> Any:
    return read_settings("sqlite://", tenant=None, policy=policy).policy


def test_the_url_is_the_argument_then_the_environment_then_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read_settings(None, tenant=None).url == f"sqlite:///{tmp_path / 'data' / 'memory.db'}"
    assert (tmp_path / "data").is_dir()
    monkeypatch.setenv("PHRONESIS_URL", "postgresql+psycopg://db/x")
    assert read_settings(None, tenant=None).url == "postgresql://db/x"
    assert read_settings("sqlite://", tenant="acme").url == "sqlite://"
    assert read_settings("sqlite://", tenant="acme").tenant == check_tenant("acme")


def test_what_is_no_policy_is_refused_unshown() -> None:
    cases: list[Any] = ["team.policy", "", 5, ["a"], b"brain.yml"]
    for given in cases:
        with pytest.raises(InputError, match=r"policy must be a mapping, a Policy or the path of a brain\.yml") as told:
            load(given)
        assert told.value.field == "policy"


def test_the_environment_names_a_policy_when_none_is_given(brain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHRONESIS_POLICY", str(brain))
    assert load().embedder == "hashing"
    assert load({}).embedder == "auto"
    monkeypatch.setenv("PHRONESIS_POLICY", "")
    assert load() == find_engines().policy()
    monkeypatch.setenv("PHRONESIS_POLICY", "nowhere.yml")
    with pytest.raises(InputError, match=r"nowhere\.yml: there is no such file"):
        load()


def test_the_environment_names_an_embedder_when_the_policy_does_not(
    tmp_path: Path, brain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PHRONESIS_EMBEDDER", "none")
    silent = tmp_path / "silent.yml"
    silent.write_text("version: 1\n", "utf-8")
    assert load().embedder == load({}).embedder == load(silent).embedder == "none"
    assert load(brain).embedder == "hashing"
    assert load(Policy()).embedder == "auto"
    monkeypatch.setenv("PHRONESIS_EMBEDDER", "gpt")
    assert load(brain).embedder == "hashing"
    with pytest.raises(InputError, match=r"PHRONESIS_EMBEDDER must be one of auto, .*, not 'gpt'") as told:
        load()
    assert told.value.field == "policy.embedder"


def test_keys_come_from_the_variables_that_gateways_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAID_KEY", " hunter2\n")
    keys = api_keys(load(POLICY))
    assert list(keys) == ["local", "paid", "spare"]
    assert keys["local"] is keys["spare"] is None
    assert keys["paid"] is not None
    assert keys["paid"].get_secret_value() == "hunter2"
    assert "hunter2" not in str(keys)


@pytest.mark.parametrize("value", ["", "  ", "hun\nter2", "schlüssel"])
def test_a_key_that_is_asked_for_must_be_there(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PAID_KEY", "SPARE_KEY"):
        monkeypatch.setenv(name, value)
    with pytest.raises(InputError) as told:
        api_keys(load(POLICY))
    assert told.value.field == "policy.gateways.paid.api_key_env"
    for word in ("'paid'", "PAID_KEY", "'plan'", "is not set or holds more", "set it"):
        assert word in told.value.message
    assert "ter2" not in told.value.message
    assert api_keys(load({"gateways": POLICY["gateways"]}))["spare"] is None
