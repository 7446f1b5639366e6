"""A hospital's table without names: two people in each group, and one secret told."""

import pandas as pd
from ckm_engine.risk.anonymity.audit import audit_anonymity

patients = pd.DataFrame(
    [
        (19, 25000, "asthma"),
        (27, 25480, "HIV"),
        (35, 25120, "HIV"),
        (43, 25200, "cancer"),
        (61, 25000, "leukaemia"),
        (73, 25170, "leukaemia"),
    ],
    columns=["age", "postcode", "treatment"],
)
alone = audit_anonymity(patients, quasi_identifiers=["age", "postcode"])
print(f"alone with age and postcode: {alone.n_unique} of {len(patients)}")

shown = patients.assign(
    age=pd.cut(patients["age"], [17, 30, 45, 120], labels=["18-30", "35-45", "60+"]).astype(
        str
    ),
    postcode=patients["postcode"].map(
        lambda code: "Montbéliard" if code in {25120, 25200} else "Besançon"
    ),
)
found = audit_anonymity(shown, quasi_identifiers=["age", "postcode"], sensitive="treatment")
print(f"k = {found.k}, l = {found.diversity.distinct.min()}")
for group, told in zip(found.groups.itertuples(index=False), found.disclosed, strict=True):
    if told:
        print(f"whoever is {group.age} and from {group.postcode} has {told}")
