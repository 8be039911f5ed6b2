"""Operations that give regions new values, as a scheme or an entry of `treatments` asks for them, with every setting
checked."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bertxfer.config import keys
from bertxfer.config.axes import Axis
from bertxfer.config.schema import Init
from bertxfer.errors import ConfigError
from bertxfer.trials import regions
from bertxfer.trials.initializer import Initializer, initializer_of
from bertxfer.trials.schemes.scheme import Request, Steps
from bertxfer.trials.treatment import AVERAGE, CORRUPT, REINITIALIZE, STATS, TRANSPLANT, Operation

REGION = Axis("region", Any, "region")
AMOUNT = Axis("amount", float | None, "amount")
DONOR = Axis("donor", str | None, "donor")
# What an operation may say beside its regions.
OPTIONS: dict[str, tuple[str, ...]] = {
    REINITIALIZE: ("init",),
    STATS: (),
    CORRUPT: ("amount",),
    TRANSPLANT: ("donor",),
    AVERAGE: ("donor", "amount"),
}


def rewritten(kind: str, request: Request) -> Steps:
    """The operation that the axes of a scheme mean; on all layers, if no region is given."""
    region = request.axis("region")
    settings = {option: request.axis(option) for option in OPTIONS[kind]}
    return (operation(kind, "layers" if region is None else region, request, "region", settings),)


def operation(kind: str, region: Any, request: Request, key: str, settings: Mapping[str, Any]) -> Operation:
    """New values for a region, with every setting checked. `key` is what people typed the region under."""
    meant = regions.targets(region, request.anatomy, key)
    several = tuple(region) if isinstance(region, (list, tuple)) else (region,)
    made = Operation(kind, several, amount=_amount(settings, kind), initializer=_initializer(settings, kind, request))
    if "donor" not in OPTIONS[kind]:
        return made
    if not isinstance(name := settings.get("donor"), str):
        raise ConfigError("donor", f"{kind} takes weights from another model; give donor=NAME or donor=FOLDER")
    words = any((target.atom.area, target.atom.module) == ("embeddings", "word") for target in meant)
    donor = request.donor(name)
    if words and not donor.same_words:
        raise ConfigError("donor", f"{name} has other word pieces, so its word embeddings mean other words")
    return replace(made, donor=donor.version, donor_name=donor.name)


def _amount(settings: Mapping[str, Any], kind: str) -> float | None:
    if "amount" not in OPTIONS[kind]:
        return None
    amount = settings.get("amount")
    if not isinstance(amount, (int, float)) or isinstance(amount, bool) or not 0 <= amount <= 1:
        raise ConfigError("amount", f"{amount!r} is not a number from 0 to 1, which {kind} needs")
    return float(amount)


def _initializer(settings: Mapping[str, Any], kind: str, request: Request) -> Initializer | None:
    """As `init` says, with what the operation says itself."""
    if kind != REINITIALIZE:
        return None
    own = settings.get("init") or {}
    if not isinstance(own, Mapping):
        raise ConfigError(
            "treatments.init", f" {own!r} is not a mapping; give one such as {{distribution: normal, sd: 0.02}}"
        )
    known = vars(request.config.init)
    if unknown := [key for key in own if key not in known]:
        raise ConfigError("treatments.init", f"{unknown[0]} is not one of {', '.join(known)}")
    init = Init(**{**known, **own})
    keys.check(init, "init.")
    return initializer_of(replace(request.config, init=init))
