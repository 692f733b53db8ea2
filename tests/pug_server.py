"""PubChem as a `ModelServer` plays it: the requests, answers, faults and headers of PUG REST, for a few compounds.

::

    with ModelServer(Pug()) as server:
        PubChem(server.base_url).look_up("imidazole", cancelled=never)
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote

from model_server import Behaviour, Received, Reply, reply_json

_STATES: Final = ("Request Count status: Green (0%)", "Request Time status: Green (0%)", "Service status: Green (20%)")
GREEN: Final = {"X-Throttling-Control": ", ".join(_STATES)}

ROWS: Final[Mapping[int, tuple[str, str, str, str]]] = {  # title, SMILES, connectivity, InChIKey
    176: ("Acetic Acid", "CC(=O)O", "CC(=O)O", "QTBSBXVTEAMEQO-UHFFFAOYSA-N"),
    243: ("Benzoic Acid", "C1=CC=C(C=C1)C(=O)O", "C1=CC=C(C=C1)C(=O)O", "WPYMKLBDIGXBTP-UHFFFAOYSA-N"),
    517055: (
        "Sodium Benzoate",
        "C1=CC=C(C=C1)C(=O)[O-].[Na+]",
        "C1=CC=C(C=C1)C(=O)[O-].[Na+]",
        "WXMKPNITSTVMEF-UHFFFAOYSA-M",
    ),
    750: ("Glycine", "C(C(=O)O)N", "C(C(=O)O)N", "DHMQDGOQFOQNFH-UHFFFAOYSA-N"),
    5257127: ("Glycine zwitterion", "C(C(=O)[O-])[NH3+]", "C(C(=O)[O-])[NH3+]", "DHMQDGOQFOQNFH-UHFFFAOYSA-N"),
    795: ("Imidazole", "C1=CN=CN1", "C1=CN=CN1", "RAXXELZNTBOGNW-UHFFFAOYSA-N"),
    8857: ("Ethyl Acetate", "CCOC(=O)C", "CCOC(=O)C", "XEKOWRVHYACXOJ-UHFFFAOYSA-N"),
    612: ("Lactic Acid", "CC(C(=O)O)O", "CC(C(=O)O)O", "JVTAAEKCZFNVCJ-UHFFFAOYSA-N"),
    107689: ("L-Lactic Acid", "C[C@@H](C(=O)O)O", "CC(C(=O)O)O", "JVTAAEKCZFNVCJ-REOHCLBHSA-N"),
    7501: ("Styrene", "C=CC1=CC=CC=C1", "C=CC1=CC=CC=C1", "PPBRXRYQALVLMV-UHFFFAOYSA-N"),
    638014: (
        "beta-Ionone",
        "CC1=C(C(CCC1)(C)C)/C=C/C(=O)C",
        "CC1=C(C(CCC1)(C)C)C=CC(=O)C",
        "PSQYTAPXSHCGMF-BQYQJAHWSA-N",
    ),
}

NAMES: Final[Mapping[str, Sequence[int]]] = {
    "acetic acid": [176],
    "benzoic acid": [243],
    "sodium benzoate": [517055],
    "glycine": [750, 5257127],
    "imidazole": [795],
    "ethyl acetate": [8857],
    "lactic acid": [612, 107689],
    "vinyl": [7501, 176],  # two compounds that are not one
    "beta-ionone": [638014],
    "1h-imidazole/buffer": [795],
    "咪唑": [795],
}


def fault(code: int, name: str, headers: Mapping[str, str] | None = None) -> Behaviour:
    """Refuse as PUG REST does: ``fault(503, "ServerBusy")``."""
    body = {"Fault": {"Code": f"PUGREST.{name}", "Message": "no", "Details": ["what was asked is not repeated here"]}}
    return reply_json(body, code=code, headers={**GREEN, **(headers or {})})


def answer(value: Any, *, code: int = 200, headers: Mapping[str, str] | None = None) -> Behaviour:
    return reply_json(value, code=code, headers={**GREEN, **(headers or {})})


class Pug:
    """Answers from the tables above."""

    def __call__(self, reply: Reply) -> None:
        self._answer(_parts(reply.asked))(reply)

    def _answer(self, parts: Sequence[str]) -> Behaviour:
        match parts:
            case ["compound", "name", name, "cids", "JSON"]:
                return self._found(NAMES.get(name.casefold()))
            case ["compound", "inchikey", key, "cids", "JSON"]:
                return self._found([cid for cid, row in ROWS.items() if row[3] == key])
            case ["compound", "cid", cids, "property", tags, "JSON"]:
                return self._properties(tags.split(","), [int(cid) for cid in cids.split(",")])
            case _:
                return fault(400, "BadRequest")

    def _found(self, cids: Sequence[int] | None) -> Behaviour:
        if not cids:
            return fault(404, "NotFound")
        return answer({"IdentifierList": {"CID": list(cids)}})

    def _properties(self, tags: Sequence[str], cids: Sequence[int]) -> Behaviour:
        rows = []
        for cid in cids:
            if cid in ROWS:
                title, smiles, connectivity, inchikey = ROWS[cid]
                row = {"SMILES": smiles, "ConnectivitySMILES": connectivity, "InChIKey": inchikey, "Title": title}
                rows.append({"CID": cid} | {name: row[name] for name in row if name in tags})
        return answer({"PropertyTable": {"Properties": rows}}) if rows else fault(404, "NotFound")


def _parts(asked: Received) -> list[str]:
    """Give the parts of a path; what a POST names in its body stands where a GET has it."""
    parts = [unquote(part) for part in asked.path.split("/")[2:]]  # below /v1
    if asked.method == "POST":
        [(namespace, identifier)] = asked.form.items()
        assert parts[1] == namespace
        parts.insert(2, identifier)
    return parts


def asked_for(requests: Sequence[Received]) -> list[str]:
    """Give what was asked of a server, in order: "name=imidazole", "cid=795"."""
    return ["=".join(_parts(one)[1:3]) for one in requests]
