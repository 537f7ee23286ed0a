"""What every room stands on: validation, label sets, whole files and saved folders, threads, optional imports."""
