"""Lists in a model's answer of which an invalid row costs that row alone."""

import pydantic


def drop_invalid(form: type[pydantic.BaseModel]) -> pydantic.BeforeValidator:
    """Return a validator that leaves rows out of a list that are not of ``form``, unless none is."""

    def valid(rows: object) -> object:
        if not isinstance(rows, list):
            return rows
        return [one for one in map(parsed, rows) if one is not None] or rows

    def parsed(row: object) -> pydantic.BaseModel | None:
        try:
            return form.model_validate(row)
        except pydantic.ValidationError:
            return None

    return pydantic.BeforeValidator(valid)
