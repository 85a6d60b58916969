"""The whole script: views and functions in an engine's own words, or queries with places to fill in."""

from __future__ import annotations

from dataclasses import dataclass

from vdr_spark.sql.dialects import Dialect
from vdr_spark.sql.error_bars import Steps
from vdr_spark.sql.functions import FUNCTIONS, Columns, Function
from vdr_spark.sql.subject import Subject
from vdr_spark.sql.views import Sources, all_cells, view_steps
from vdr_spark.sql.windows import WINDOWS, window_steps

VIEWS = {"release": "release_in_force", "cells": "release_cells", "pyramid": "release_pyramid"}
ALL_CELLS = "released_cells"


@dataclass(frozen=True)
class Script:
    """What is to be made of a release: where, under which names, in whose words."""

    subject: Subject
    dialect: Dialect
    sources: Sources
    schema: str | None = None  # in which views and functions get their names; None: that of the session
    prefix: str = ""  # of all names
    temporary: bool = False  # for this session only
    windows: bool = False  # whether `releases` holds windows of series, or has the columns for them

    @property
    def names(self) -> list[str]:
        """The functions' names, as a query writes them."""
        return [self._name(function.name) for function in self._functions()]

    def views(self) -> list[str]:
        """Return the statements that make the views."""
        steps = view_steps(self.subject, self.dialect, self.sources, self._views())
        made = [*((VIEWS[key], query) for key, query in steps), (ALL_CELLS, all_cells(self.sources))]
        if self.windows:
            made += window_steps(self.sources, self._name(WINDOWS))
        kind = "TEMPORARY VIEW" if self.temporary else "VIEW"
        return [f"CREATE OR REPLACE {kind} {self._name(name)} AS\n{query}" for name, query in made]

    def functions(self) -> list[str]:
        """Return the statements that make the table functions."""
        return [self._create(function) for function in self._functions()]

    def templates(self) -> list[str]:
        """Return the questions as queries that need no views, with :south, :nu and so on to fill in."""
        in_force = view_steps(self.subject, self.dialect, self.sources, VIEWS)[:1]
        words = self.dialect.as_template()
        questions = [make(self.subject, words, self.sources, VIEWS["release"]) for make in FUNCTIONS]
        return [
            f"{_describe(of)}\n{_query([(VIEWS[key], query) for key, query in in_force] + of.steps, of.select)}"
            for of in questions
        ]

    def text(self, templates: bool = False) -> str:
        """Return all of it as a file, with a word on what it is about."""
        made = (
            self.templates() if templates or self.dialect.functions == "template" else self.views() + self.functions()
        )
        return "\n".join([*self._header(), "", *(f"{statement};\n" for statement in made)])

    def _header(self) -> list[str]:
        words = [f"Release {self.subject.release_id}: views and functions over its tables, for {self.dialect.name}."]
        if not self.subject.protected:
            words.append("UNPROTECTED: made with a test seed, protects nobody.")
        if not self.subject.pyramid:
            words.append("It has no pyramid: everything is answered from its cells.")
        return [f"-- {line}" for word in words for line in word.splitlines()]

    def _functions(self) -> list[Function]:
        in_force = self._name(VIEWS["release"])
        return [make(self.subject, self.dialect, self.sources, in_force) for make in FUNCTIONS]

    def _views(self) -> dict[str, str]:
        return {key: self._name(name) for key, name in VIEWS.items()}

    def _name(self, name: str) -> str:
        own = self.dialect.quote(self.prefix + name)
        return own if self.schema is None else f"{self.dialect.full_name(self.schema)}.{own}"

    def _create(self, function: Function) -> str:
        name, query = self._name(function.name), _query(function.steps, function.select)
        if self.dialect.functions == "macro":
            parameters = ", ".join(
                f"{of} := NULL" if of in function.optional else of for of, _, _ in function.parameters
            )
            kind = "TEMPORARY MACRO" if self.temporary else "MACRO"
            return f"{_describe(function)}\nCREATE OR REPLACE {kind} {name}({parameters}) AS TABLE\n{query}"
        kind = "TEMPORARY FUNCTION" if self.temporary else "FUNCTION"
        return (
            f"CREATE OR REPLACE {kind} {name}({self._columns(function.parameters, function.optional)})\n"
            f"RETURNS TABLE ({self._columns(function.columns)})\n"
            f"COMMENT {self.dialect.text(function.comment)}\nRETURN\n{query}"
        )

    def _columns(self, columns: Columns, optional: tuple[str, ...] = ()) -> str:
        return ", ".join(
            f"{name} {kind.replace('MOMENT', self.dialect.moment)}{' DEFAULT NULL' if name in optional else ''} "
            f"COMMENT {self.dialect.text(said)}"
            for name, kind, said in columns
        )


def _query(steps: Steps, select: str) -> str:
    named = ",\n".join(f"{name} AS (\n  {query}\n)" for name, query in steps)
    return f"WITH {named}\n{select}"


def _describe(function: Function) -> str:
    parameters = ", ".join(name for name, _, _ in function.parameters)
    return f"-- {function.name}({parameters}): {function.comment}"
