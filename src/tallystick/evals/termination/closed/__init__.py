"""The closed loop: an agent acts, says that it is done, is answered by a stop policy, and acts again.

576 trajectories: 24 task clusters, checkpoint incomplete or complete, 3 repetitions, 4 policies. The clusters, the gaps
of the incomplete checkpoints, the policies and the measures are *reconstructed*; the source has the abstract and the
tables only. Scripted agents and the scripted critic have stated behaviour and are called scripted wherever their numbers
stand: they test the loop, and say nothing about a model.
Source: "When May an Agent Stop? Evidence-Carrying Termination for Tool-Using LLMs", abstract and table 4.
"""
