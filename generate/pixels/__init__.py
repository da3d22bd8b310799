"""What happens to pixels beside corruptions: preprocessing, encoding, metrics, the contact sheet."""
