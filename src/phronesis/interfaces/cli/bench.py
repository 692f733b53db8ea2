"""The benchmarks: of quality on data that one has, and of speed on stores that are made up."""

import click

from phronesis.interfaces.cli import bench_quality, bench_speed


@click.group()
def bench() -> None:
    """Measure recall and speed.

    Each benchmark reads data that you have, or makes up its own, and prints a table. Nothing of your own store is read
    or changed, unless --url names it.
    """


for _command in (
    *(bench_quality.locomo, bench_quality.extraction, bench_quality.traits, bench_quality.experience),
    bench_quality.sensitive,
    bench_quality.showing,
    bench_quality.lesson_map,
    bench_quality.lesson_encoder,
    bench_quality.tagger,
    *(bench_quality.refit, bench_quality.ablate, bench_quality.precisionmembench, bench_quality.lessons),
    *(bench_quality.plans, bench_quality.resources, bench_quality.session),
    *(bench_speed.scale, bench_speed.compose, bench_speed.reasoning, bench_speed.patterns),
    *(bench_speed.over_http, bench_speed.pages),
):
    bench.add_command(_command)
