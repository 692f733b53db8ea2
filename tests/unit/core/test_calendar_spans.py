from datetime import date

from phronesis.core.calendar_spans import Grammar, Parts, Reference, Rule, Span


def test_the_part_that_is_the_time_has_the_place_and_what_is_no_date_is_passed_over() -> None:
    def day(parts: Parts, reference: Reference) -> Span:
        on = reference.day.replace(day=int(parts["n"] or 0))
        return Span(on, on, "day", relative=False)

    grammar = Grammar([Rule("on", r"on the (?P<t>(?P<n>\d+)(?:st|nd|rd|th))", day)])
    found = list(grammar.find("on the 3rd, not on the 31st", Reference(date(2026, 6, 1))))
    assert found == [(7, 10, Span(date(2026, 6, 3), date(2026, 6, 3), "day", relative=False))]
