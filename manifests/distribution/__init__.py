"""Releases to and from the network: publish and fetch."""
