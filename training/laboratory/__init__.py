"""The references' laboratory: seven runs, each with one thing more than the one before, and a report of what it changed.

``python -m training lab --data FOLDER`` trains them one after the other as processes of their own, kills the last in
its third epoch, resumes it, and writes the curves, a table and what is to be seen as one page. Each step is a preset
too (``preset:lab-1-baseline`` ...), so that a person can open and train it alone.
"""
