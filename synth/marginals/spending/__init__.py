"""How the engine's privacy budget is divided and spent."""
