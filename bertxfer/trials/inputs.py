"""The models and rows that configs name, each looked for once, and a stand-in for what is not on this machine."""

from bertxfer.config.schema import Data, Model, Task
from bertxfer.tasks import origins
from bertxfer.tasks.origins import Origin
from bertxfer.trials import pretrained
from bertxfer.trials.pretrained import Pretrained

STAND_IN = "absent"  # the version of what is not here; its ids can be compared with each other only


class Inputs:
    """Finds inputs. With `stand_ins`, what is absent is given a version of its own and named in `absent`."""

    def __init__(self, stand_ins: bool = False) -> None:
        self.absent: dict[str, None] = {}
        self._stand_in = STAND_IN if stand_ins else None
        self._models: dict[str, Pretrained] = {}
        self._rows: dict[str, Origin] = {}
        self._keys: dict[tuple[int, ...], tuple[tuple[object, ...], str]] = {}

    def model(self, model: Model) -> Pretrained:
        key = self._key(model)
        if key not in self._models:
            self._models[key] = pretrained.find(model, self._stand_in)
        resolved = self._models[key]
        if resolved.version == STAND_IN:
            self.absent[f"model {resolved.name}"] = None
        return resolved

    def rows(self, task: Task, data: Data) -> Origin:
        key = self._key(task, data.root)
        if key not in self._rows:
            self._rows[key] = origins.find(task, data, self._stand_in)
        origin = self._rows[key]
        if origin.version == STAND_IN:
            self.absent[f"data of task {task.name}"] = None
        return origin

    def _key(self, *parts: object) -> str:
        """Equal inputs have equal keys. The configs of a sweep share their parts, and each is spelled out once."""
        ids = tuple(map(id, parts))
        if ids not in self._keys:
            self._keys[ids] = (parts, repr(parts))  # the parts are kept, so that no other object gets their ids
        return self._keys[ids][1]
