"""How does BERT's pretraining help transfer? Sweeps of partial reinitialization, configured with Hydra."""

__version__ = "0.1.0"
