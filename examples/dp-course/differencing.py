"""Two exact means, and the pay of whoever came in between."""

before, after = (100, 55_000), (101, 56_000)
pay = after[0] * after[1] - before[0] * before[1]
print(f"the newcomer is paid {pay:,}")
