"""The noise family."""
