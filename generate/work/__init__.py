"""What workers do: parts made, and committed by their sidecars."""
