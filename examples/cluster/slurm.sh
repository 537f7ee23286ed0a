#!/bin/bash
#SBATCH --job-name=bags
#SBATCH --array=0-7
#SBATCH --cpus-per-task=1
#SBATCH --time=01:00:00
# Bags that were written once, with: steadyset bags train.csv --target species --n-bags 40 --format npz --output bags
set -eu
export OMP_NUM_THREADS=1  # the same bits on every node
mkdir -p parts
task=$SLURM_ARRAY_TASK_ID
exec python "${TRAIN_PART:-train_part.py}" train.csv test.csv bags/bags.npz "parts/part-$task.npz" --task "$task" --of 8
