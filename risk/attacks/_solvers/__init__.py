"""The computations behind attacks of reconstruction and linkage."""
