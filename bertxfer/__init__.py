"""How does BERT's pretraining help transfer? Sweeps of partial reinitialization, configured with Hydra."""

from pathlib import Path

__version__ = "0.1.0"
__path__.append(str(Path(__file__).parent / "former"))
