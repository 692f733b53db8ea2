"""An item is shown in a sentence of its own: whose it is, what it is about, its value."""

from datetime import UTC, datetime

from phronesis.core.items import Item, statement

AT = datetime(2026, 5, 1, tzinfo=UTC)


def item(key: str | None, value: object, content: str, subject: str | None = "user", kind: str = "profile") -> Item:
    return Item(
        id="i",
        kind=kind,
        content=content,
        entry_id="e",
        recorded_at=AT,
        updated_at=AT,
        subject=subject,
        key=key,
        value=value,
    )


def test_an_item_says_its_own_fact_alone() -> None:
    cases: list[tuple[Item, str]] = [
        (item("pet", "Biscuit (beagle)", "and there is Biscuit, a beagle"), "Pet: Biscuit (beagle)"),
        (item("age", "6", "Leo 6", "Leo"), "Leo · age: 6"),
        (item("home_city", "Oslo", "My sister Anna lives in Oslo", "Anna"), "Anna · home city: Oslo"),
        (item("job", "前端", "我在杭州做前端"), "职业：前端"),
        (item("favorite.color", "green", "green is my favorite", kind="preference"), "Favorite color: green"),
        (item("appointment", "flight", "My flight is on Friday at 9", kind="event"), "My flight is on Friday at 9"),
        (item("diet", None, "Is vegan."), "Is vegan."),
        (item("my_own_key", "green", "It is green."), "It is green."),
    ]
    for one, said in cases:
        assert statement(one) == said, one
        assert one.to_dict().get("statement", one.content) == said, one
