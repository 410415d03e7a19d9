#!/bin/bash
# LLaMA-2-7B on 4 nodes of 8 GPUs: tensor 4, two stages.
MODEL_ARGS=(
    --num-layers 32
    --hidden-size 4096
    --ffn-hidden-size 11008
    --num-attention-heads 32
    --seq-length 4096
    --max-position-embeddings 4096
    --position-embedding-type rope
    --normalization RMSNorm
    --swiglu
    --disable-bias-linear
    --untie-embeddings-and-output-weights
    --vocab-size 32000
)
torchrun --nnodes 4 --nproc-per-node 8 pretrain_gpt.py "${MODEL_ARGS[@]}" \
    --tensor-model-parallel-size 4 --sequence-parallel \
    --pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 4 \
    --micro-batch-size 1 --global-batch-size 128 --bf16 \
    --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather \
    --recompute-granularity selective \
    --lr 3e-4 --clip-grad 1.0
