"""Two questions about nine patients, for an epsilon of 1 together."""

from ckm_engine import dp

# Age, and whether there is a gastric condition.
patients = [
    (23, True), (31, False), (38, True), (42, True), (45, False),
    (47, True), (52, False), (61, True), (69, False),
]  # fmt: skip

questions = {
    "with a gastric condition": (dp.count(), sum(ill for _, ill in patients)),
    "mean age": (dp.mean(20, 100, at_least=9), sum(age for age, _ in patients) / 9),
}
guarantees = []
for name, (sensitivity, answer) in questions.items():
    noise = dp.Laplace.calibrated(sensitivity, epsilon=0.5)
    noise.release(answer)  # what is published; printed, it would be spent
    guarantees.append(noise.guarantee)
    print(f"{name}: {answer:.4g}, sensitivity {sensitivity.l1:g}, noise {noise.scale:.4g}")
print("both:", dp.basic(guarantees))
