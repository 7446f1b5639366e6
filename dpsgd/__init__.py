"""Training on confidential data by DP-SGD: plan, train, account, audit."""
