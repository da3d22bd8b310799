"""What a data set is: manifest, records, digests, verification and reading it back."""
