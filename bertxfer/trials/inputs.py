"""The models and rows that configs name, each looked for once, and a stand-in for what is not on this machine."""

from collections.abc import Sequence
from typing import NamedTuple

from bertxfer.config.schema import Data, Model, Task
from bertxfer.errors import Absent, NotFetched
from bertxfer.tasks import origins, shelf
from bertxfer.trials import pretrained
from bertxfer.trials.pretrained import Pretrained
from bertxfer.trials.science import Science

STAND_IN = "absent"  # the version of what is not here; its ids can be compared with each other only


class FoundRows(NamedTuple):
    version: str | None  # null: they are generated
    at: str | None


class Inputs:
    """Finds inputs. With `fetch` they are brought from the hub first; without it the network is never asked.

    What was not fetched has a stand-in and is named in `absent`. So has, with `stand_ins` or while fetching, whatever
    is not here; then `refuse_absent` says all of it at once.
    """

    def __init__(self, fetch: bool = False, stand_ins: bool = False) -> None:
        self.absent: dict[str, Absent] = {}
        self.fetch = fetch
        self._stood_in: type[Absent] = Absent if fetch or stand_ins else NotFetched
        self._models: dict[str, Pretrained] = {}
        self._rows: dict[str, FoundRows] = {}
        self._keys: dict[tuple[int, ...], tuple[tuple[object, ...], str]] = {}

    def model(self, model: Model) -> Pretrained:
        key = self._key(model)
        if key not in self._models:
            try:
                self._models[key] = pretrained.find(model, self.fetch)
            except self._stood_in as error:
                self._models[key] = pretrained.declared(model, STAND_IN, error)
                self.absent[f"model {self._models[key].name}"] = error
        return self._models[key]

    def rows(self, task: Task, data: Data) -> FoundRows:
        key = self._key(task, data.root)
        if key not in self._rows:
            try:
                self._rows[key] = self._found(task, data)
            except self._stood_in as error:
                self._rows[key] = FoundRows(STAND_IN, None)
                self.absent[f"data of task {task.name}"] = error
        return self._rows[key]

    def _found(self, task: Task, data: Data) -> FoundRows:
        origin = origins.find(task, data)
        if origin is None:
            return FoundRows(None, None)
        version = shelf.version(origin, self.fetch)
        return FoundRows(version, str(shelf.at(version)))

    def refuse_absent(self, sciences: Sequence[Science]) -> None:
        """Raises one error for all that is absent, with what could run without it."""
        if not self.absent:
            return
        (_, error), *others = self.absent.items()
        also = f"; absent too: {', '.join(other for other, _ in others)}" if others else ""
        whole = dict.fromkeys(science.task.name for science in sciences if not stands_in(science))
        rest = f"; task={','.join(whole)} runs the rest" if whole else ""
        raise type(error)(error.key, f"{error.message}{also}{rest}")

    def found(self) -> list[str]:
        """What was found, and where it lies, in a line each."""
        models = [model for model in self._models.values() if model.version != STAND_IN]
        rows = [rows for rows in self._rows.values() if rows.at is not None]
        lines = [
            *(f"model {model.name}: {model.where}" for model in models),
            *(f"rows {r.version}: {r.at}" for r in rows),
        ]
        return list(dict.fromkeys(lines))

    def _key(self, *parts: object) -> str:
        """Equal inputs have equal keys. The configs of a sweep share their parts, and each is spelled out once."""
        ids = tuple(map(id, parts))
        if ids not in self._keys:
            self._keys[ids] = (parts, repr(parts))  # the parts are kept, so that no other object gets their ids
        return self._keys[ids][1]


def stands_in(science: Science) -> bool:
    """Whether a trial was identified without one of its inputs, so that it can be looked at but not run."""
    stages = science.chain.stages if science.chain is not None else ()
    models = (science.model.version, *science.treatment.donors)
    rows = (science.task.version, *(stage.task.version for stage in stages))
    return STAND_IN in rows or any(version.startswith(STAND_IN) for version in models)
