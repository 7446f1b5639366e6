"""How many are over fifty? One answer, with noise."""

from ckm_engine import dp

over_fifty = 28
noise = dp.Geometric.calibrated(dp.count(), epsilon=0.5)
published = noise.release(over_fifty)

print(noise.guarantee)
print(f"published: a whole number, within {noise.accuracy(0.95):g} of 28, 95 times in 100")
# Fewer than nobody are over fifty. To say 0 then looks at no record, so it costs nothing.
print("after that, nothing below 0:", max(0, published) >= 0)
