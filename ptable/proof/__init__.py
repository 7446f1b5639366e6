"""What a p-table keeps to: certificates, guarantees and identification of designs."""
