"""The same question thousands of times: the noise is averaged away."""

from ckm_engine import dp

over_fifty, times = 28, 1_000
noise = dp.Laplace.calibrated(dp.count(), epsilon=0.5)
answers = [noise.release(float(over_fifty)) for _ in range(times)]

print(f"the mean of {times:,} answers: {round(sum(answers) / times)}")
cost = dp.basic([noise.guarantee] * times)
print(f"what they cost: epsilon {cost.epsilon:,.0f}")
