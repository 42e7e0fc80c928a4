"""Parts of the page "Mechanism gallery": the field's mechanisms and attacks. Their mathematics is `dpcore.gallery`."""
