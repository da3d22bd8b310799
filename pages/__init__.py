"""HTML pages, charts and contact sheets."""
