"""What a kind of fault is."""

import random
from collections.abc import Callable

from tests.faults.scene import Scene

# Does its harm to a scene and says to what; None where there is nothing to harm just now.
Fault = Callable[[Scene, random.Random], str | None]
