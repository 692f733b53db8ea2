"""Readers of text: what is a heading and what is not, and that the text stays as it is."""

import json

import pytest

from phronesis.core.entries import ReadDocument
from phronesis.resources.readers.port import RawDocument, read_document

Sections = list[tuple[str, str]]


def read(text: str, name: str = "guide.md") -> ReadDocument:
    found = read_document(RawDocument(name=name, text=text))
    assert found.text == text
    return found


def sections(found: ReadDocument) -> Sections:
    """Give path and first words of each section."""
    return [("/".join(one.path), found.text[one.start : one.end].split("\n")[0]) for one in found.sections]


MARKDOWN = """---
title: "The guide"
---
Before.

# Guide to [things](https://x.org) {#top}

Introduction.

## `run` *it* ##

Run.

```sh
# no heading
```

Setext one
==========

Words of it.

Setext two
---

More.

- entry
---

<!--
# no heading
-->

<h2 align="center">
  In <b>HTML</b>
</h2>

Centred.

| a |
| - |
| # |

    # code

#No heading
"""


def test_markdown() -> None:
    found = read(MARKDOWN)
    assert found.title == "The guide"
    assert found.made_by == "markdown/2"
    assert sections(found) == [
        ("", "---"),
        ("Guide to things", "Introduction."),
        ("Guide to things/run it", "Run."),
        ("Setext one", "Words of it."),
        ("Setext one/Setext two", "More."),
        ("Setext one/In HTML", "Centred."),
    ]
    assert found.text[found.sections[-1].start : found.sections[-1].end].endswith("#No heading")


def test_marks_of_markdown() -> None:
    cases: list[tuple[str, Sections]] = [
        ("````\n```\n# a\n````\n# A\nx", [("", "````"), ("A", "x")]),
        ("A\n===\nB\n---\nx", [("A/B", "x")]),
        (
            "# 安装 **指南**\n\n先下载。\n\n## 第一步\n\n解压。",
            [("安装 指南", "先下载。"), ("安装 指南/第一步", "解压。")],
        ),
    ]
    for text, expected in cases:
        assert sections(read(text)) == expected, text


RST = """.. _top:

=====
Guide
=====

Introduction.

Install
=======

Type :code:`x`::

    Not a title
    ===========

Use ``it``
----------

| a line

====  ====
a     b
====  ====

More
====
安装
====

Words.
"""


def test_restructured_text() -> None:
    found = read(RST, "guide.rst")
    assert found.title == "Guide"
    assert sections(found) == [
        ("", ".. _top:"),
        ("Guide", "Introduction."),
        ("Guide/Install", "Type :code:`x`::"),
        ("Guide/Install/Use it", "| a line"),
        ("Guide/安装", "Words."),
    ]


CHINESE = """安装手册

目录
第一章 概述........1
第二章 安装........5

第一章 概述

本手册说明如何安装。

第一节 范围
适用于所有版本，第三章中另有说明。
第二节 术语
“节点”指一台服务器。
1. 主节点
2. 从节点

第二章 安装

一、准备
准备一台机器。
二、步骤
先下载，再解压。
（一）Linux
运行脚本。
（二）Windows
双击安装程序。
"""


def test_chinese_headings_by_number() -> None:
    found = read(CHINESE, "手册.txt")
    assert found.title == "手册"
    assert sections(found) == [
        ("", "安装手册"),
        ("第一章 概述", "本手册说明如何安装。"),
        ("第一章 概述/第一节 范围", "适用于所有版本，第三章中另有说明。"),
        ("第一章 概述/第二节 术语", "“节点”指一台服务器。"),
        ("第二章 安装/一、准备", "准备一台机器。"),
        ("第二章 安装/二、步骤", "先下载，再解压。"),
        ("第二章 安装/二、步骤/（一）Linux", "运行脚本。"),
        ("第二章 安装/二、步骤/（二）Windows", "双击安装程序。"),
    ]


NUMBERED = """Manual

1 Introduction

This is it.

1.1 Scope

All versions since 2.0 are meant.

2. Installation

Do this:

1. Download it
2. Unpack it

3.5 GB of memory are needed.

2.1 On Linux

Run it.

Chapter and verse.
"""


def test_numbered_headings_of_plain_text() -> None:
    cases: list[tuple[str, Sections]] = [
        (
            NUMBERED,
            [
                ("", "Manual"),
                ("1 Introduction", "This is it."),
                ("1 Introduction/1.1 Scope", "All versions since 2.0 are meant."),
                ("2. Installation", "Do this:"),
                ("2. Installation/2.1 On Linux", "Run it."),
            ],
        ),
        (
            "Chapter 1: Begin\n\nx\n\nChapter 2\n\ny\n\nChapter three is long.\n\nAppendix A Tables\n\nz\n",
            [("Chapter 1: Begin", "x"), ("Chapter 2", "y")],
        ),
        ("1. Buy milk\n\n2. Buy bread\n\n3. Buy tea\n", [("", "1. Buy milk")]),
    ]
    for text, expected in cases:
        assert sections(read(text, "x.txt")) == expected, text


PYTHON = '''"""What the module does."""

import os

LIMIT = 1


# Adds.
@cache
def add(a, b):
    """Add."""
    return a + b


class Adder:
    """Adds, too."""

    total = 0

    def add(self, n):
        self.total += n

    after = 1

    class Inner:
        x = 1


print(add(1, 2))
'''


def test_python() -> None:
    found = read(PYTHON, "src/adding.py")
    assert found.title == "adding"
    assert sections(found) == [
        ("", '"""What the module does."""'),
        ("add", "# Adds."),
        ("Adder", "class Adder:"),
        ("Adder/add", "    def add(self, n):"),
        ("Adder", "    after = 1"),
        ("Adder/Inner", "    class Inner:"),
        ("", "print(add(1, 2))"),
    ]


def test_notebooks() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Study\n", "\n", "Why."]},
        {
            "cell_type": "code",
            "source": "print('```')",
            "outputs": [{"text": ["out\n"]}, {"data": {"text/plain": "42"}}, {"data": {"image/png": "x"}}, "?"],
        },
        {"cell_type": "code", "source": "", "outputs": None},
        {"cell_type": "markdown", "source": "## End\n\nSo."},
        "?",
    ]
    text = json.dumps({"cells": cells, "metadata": {"language_info": {"name": "python"}}})
    found = read_document(RawDocument(name="study.ipynb", text=text))
    assert found.title == "Study"
    assert [section.path for section in found.sections] == [("Study",), ("Study", "End")]
    assert "~~~~python\nprint('```')\n~~~~\n\n```text\nout\n```\n\n```text\n42\n```" in found.text
    old = json.dumps({"worksheets": [{"cells": [{"cell_type": "code", "input": ["a = 1"]}]}]})
    assert "a = 1" in read_document(RawDocument(name="old.ipynb", text=old)).text


@pytest.mark.parametrize(
    "text", ["def f(:\n    pass\n\ndef g():\n    pass\n", "x = " + "(" * 5000 + "\n\ndef g():\n    pass\n"]
)
def test_python_that_does_not_parse_is_read_by_declarations(text: str) -> None:
    found = read(text, "x.py")
    assert found.made_by == "code/1"
    assert found.sections[-1].path == ("g",)
