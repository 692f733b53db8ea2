"""Settings: what wins over what, and the keys that gateways name."""

from pathlib import Path
from typing import Any

import pytest

from phronesis.config import Policy, api_keys, check_tenant, index_key, load_settings, settings
from phronesis.errors import InputError
from phronesis.interfaces.cli.exit_codes import run

DATA_FOLDER = settings.data_folder
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


@pytest.fixture(autouse=True)
def _nothing_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "PHRONESIS_URL",
        "PHRONESIS_POLICY",
        "PHRONESIS_EMBEDDER",
        "PHRONESIS_PUBCHEM_URL",
        "PAID_KEY",
        "SPARE_KEY",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(settings, "data_folder", lambda: tmp_path / "data")


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


def load(policy: Any = None) -> Policy:
    return load_settings("sqlite://", tenant=None, policy=policy).policy


def test_the_url_is_the_argument_then_the_environment_then_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load_settings(None, tenant=None).url == f"sqlite:///{tmp_path / 'data' / 'memory.db'}"
    assert (tmp_path / "data").is_dir()
    monkeypatch.setenv("PHRONESIS_URL", "postgresql+psycopg://db/x")
    assert load_settings(None, tenant=None).url == "postgresql://db/x"
    assert load_settings("sqlite://", tenant="acme").url == "sqlite://"
    assert load_settings("sqlite://", tenant="acme").tenant == check_tenant("acme")


def test_a_policy_is_a_mapping_a_policy_or_a_file(tmp_path: Path, brain: Path) -> None:
    assert load({"embedder": "hashing"}) == load(Policy(embedder="hashing")) == load(brain)
    for ending in ("yml", "yaml"):
        assert load(str(brain.rename(brain.with_suffix(f".{ending}")))).embedder == "hashing"
        brain = brain.with_suffix(f".{ending}")


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
    assert load() == Policy()
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


@pytest.mark.parametrize(("value", "why"), [(None, "is not set"), ("  ", "is not set"), ("hun\nter2", "more than")])
def test_a_key_that_is_asked_for_must_be_there(value: str | None, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if value is not None:
        monkeypatch.setenv("PAID_KEY", value)
    with pytest.raises(InputError) as told:
        api_keys(load(POLICY))
    assert told.value.field == "policy.gateways.paid.api_key_env"
    for word in ("'paid'", "PAID_KEY", "'plan'", why, "set it"):
        assert word in told.value.message
    assert "ter2" not in told.value.message


def test_the_token_of_an_outside_index_is_read_from_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    assert index_key(load({})) is None
    index = {"backend": "chroma", "url": "http://h:8000", "api_key_env": "INDEX_TOKEN"}
    policy = load({"reasoning": {"index": index}})
    for value in (None, "hun\nter2"):
        if value is not None:
            monkeypatch.setenv("INDEX_TOKEN", value)
        with pytest.raises(InputError, match="INDEX_TOKEN") as told:
            index_key(policy)
        assert "ter2" not in told.value.message
    monkeypatch.setenv("INDEX_TOKEN", " hunter2 ")
    key = index_key(policy)
    assert key is not None
    assert key.get_secret_value() == "hunter2"


def test_the_command_line_takes_a_policy_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PHRONESIS_URL", f"sqlite:///{tmp_path / 'memory.db'}")
    monkeypatch.chdir(tmp_path)
    Path("brain").write_text("version: 1\nembedder: none\nbudgets: {total: 1500}\n", "utf-8")
    assert run(["db", "upgrade", "--policy", "brain"]) == 0
    assert run(["list", "--policy", "brain"]) == 0
    Path("brain").write_text("embeder: none\nversion: 2\n", "utf-8")
    capsys.readouterr()
    for command in (["list", "--policy", "brain"], ["db", "upgrade", "--policy", "brain"]):
        assert run(command) == 2
        assert capsys.readouterr().err.splitlines() == [
            "phronesis: brain, line 1: unknown field 'embeder'; did you mean 'embedder'? [input.invalid]",
            "phronesis: brain, line 2: version must be 1, not 2 [input.invalid]",
        ]


def test_pubchem_is_asked_at_its_own_address_unless_another_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings("sqlite://", tenant=None).pubchem_url == "https://pubchem.ncbi.nlm.nih.gov/rest/pug"
    monkeypatch.setenv("PHRONESIS_PUBCHEM_URL", " http://127.0.0.1:8080/rest/pug ")
    assert load_settings("sqlite://", tenant=None).pubchem_url == "http://127.0.0.1:8080/rest/pug"


def test_an_address_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    cases: list[str] = [
        "pubchem",
        "ftp://x/y",
        "http://[x",
        "http://x/?a=b",
        "http://x/ y",
        "http://咪唑/",
    ]
    for wrong in cases:
        monkeypatch.setenv("PHRONESIS_PUBCHEM_URL", wrong)
        with pytest.raises(InputError, match="must be the URL that PUG REST's paths are added to") as told:
            load_settings("sqlite://", tenant=None)
        assert told.value.field == "PHRONESIS_PUBCHEM_URL"
