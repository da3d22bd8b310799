"""Generate datasets: recipes, sources, plans, workers, containers of images, exports and reproduction."""
