"""Histories of Opacus' accountants: what a checkpoint claims, and a plan as they read it."""
def __getattr__(name): return None
OpacusStep=charge_opacus=opacus_history=read_history=None
