"""The operations that a config asks for: those of its scheme, then those that `treatments` lists, as one treatment."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bertxfer.config.schema import Config
from bertxfer.errors import ConfigError
from bertxfer.trials import regions
from bertxfer.trials.normal import Arrangement, Step, normal_form
from bertxfer.trials.regions import Anatomy
from bertxfer.trials.schemes import Donor, Request, no_donor, steps_of
from bertxfer.trials.schemes.permutation import drawn_order
from bertxfer.trials.schemes.rewriting import OPTIONS, operation
from bertxfer.trials.treatment import Treatment

KEY = "treatments"
PERMUTE, DELETE = "permute", "delete"
_OPTIONS = {**OPTIONS, PERMUTE: (), DELETE: ()}


def treatment_of(
    config: Config, anatomy: Anatomy, version: str = "", donor: Callable[[str], Donor] = no_donor
) -> Treatment:
    """The treatment that a config means on a model of this anatomy and version."""
    request = Request(config, anatomy, donor)
    steps: list[Step] = []
    for step in steps_of(request):
        steps.append(step)
        request = _after(request, step)
    for step in _listed(request):
        steps.append(step)
    treatment = normal_form(tuple(steps), anatomy, version, float(config.reinit_lr_factor))
    if treatment.lr_factor != 1 and any(" head " in region for step in treatment.steps for region in step.regions):
        raise ConfigError(
            "reinit_lr_factor", "a head is part of larger tensors, which have one learning rate; leave it 1"
        )
    return treatment


def _after(request: Request, step: Step) -> Request:
    """A request on what an operation leaves of the model."""
    if isinstance(step, Arrangement):
        return replace(request, anatomy=replace(request.anatomy, layers=len(step.order)))
    return request


def _listed(request: Request) -> Iterator[Step]:
    listed = request.config.treatments
    for item in listed if isinstance(listed, (list, tuple)) else [] if listed is None else [listed]:
        step = _step(item, request)
        yield step
        request = _after(request, step)


def _step(item: Any, request: Request) -> Step:
    kinds = [kind for kind in _OPTIONS if isinstance(item, Mapping) and kind in item]
    if len(kinds) != 1:
        raise ConfigError(KEY, f"{item!r} is not one of {', '.join(_OPTIONS)} with a region, as {{stats: layers 1-6}}")
    kind = kinds[0]
    for option in item:
        if option not in (kind, *_OPTIONS[kind]):
            has = f"has {', '.join(_OPTIONS[kind])}" if _OPTIONS[kind] else "has no settings"
            raise ConfigError(KEY, f"{option} does not go with {kind}, which {has}")
    if kind == PERMUTE:
        return Arrangement(_order(item[kind], request))
    if kind == DELETE:
        return Arrangement(_left(item[kind], request))
    return operation(kind, item[kind], request, KEY, item)


def _order(value: Any, request: Request) -> tuple[int, ...]:
    if value == "drawn":
        return drawn_order(request)
    order = list(value) if isinstance(value, (list, tuple)) else [value]
    if not _are_numbers(order) or sorted(order) != list(request.every_layer):
        raise ConfigError(KEY, f"permute: {value!r} is neither `drawn` nor each of the layers 1..{request.layers} once")
    return tuple(order)


def _left(value: Any, request: Request) -> tuple[int, ...]:
    """The layers that are left when some are deleted, by number or as a region."""
    several = list(value) if isinstance(value, (list, tuple)) else [value]
    expressions = [f"layer {one}" if _are_numbers([one]) else one for one in several]
    meant = regions.targets(expressions, request.anatomy, KEY)
    deleted = {target.atom.layer for target in meant}
    whole = regions.targets([f"layer {n}" for n in deleted if n is not None], request.anatomy, KEY)
    left = tuple(layer for layer in request.every_layer if layer not in deleted)
    if meant != whole or not left:
        raise ConfigError(KEY, f"delete: {value!r} are not whole layers of which some others are left")
    return left


def _are_numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(value, int) and not isinstance(value, bool) for value in values)
