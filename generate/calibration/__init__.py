"""Tables for other image sizes: severities that have there the quality that a reference has at its own size."""
