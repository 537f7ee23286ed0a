"""The paper's figures and tables, one module each: numbers as JSON beside the pictures."""
