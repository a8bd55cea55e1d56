"""Train the language model behind ELMo.

  python pretrain.py bilm=small corpus=DIR                       from random weights, to results/models/small
  python pretrain.py bilm=small corpus=DIR limits.minutes=60     for an hour; the same command resumes it
  python pretrain.py bilm=small corpus=DIR start=DIR name=more   from the weights and softmax of another model
  python pretrain.py encoder=small finetune=ner data=open        from an encoder, on a task's own text
  python pretrain.py bilm=small corpus=DIR --cfg job             every value that would be used

Groups, and the choices of each (bilm=small, trainer=gpu, ...):
"""

import sys

from elmo_bench.sweep.scripts import launch_training

if __name__ == "__main__":
    sys.exit(launch_training(__doc__, sys.argv[1:]))
