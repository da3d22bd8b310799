"""Speed against peers and against the floor, as ratios in one run."""
