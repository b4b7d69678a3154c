"""When may an agent stop: the static study and the closed loop of evidence-carrying termination, over synthetic tasks.

Everything here is fictional. The static study asks policies for a verdict on snapshots of recorded runs; the closed
loop lets an agent act again on each verdict.
Source: "When May an Agent Stop? Evidence-Carrying Termination for Tool-Using LLMs".
"""
