#!/bin/bash
# make.sh [FOLDER]: records every snapshot of this corpus anew (needs scripts/torch-run/setup.sh for 2.7.1, 2.9.1, 2.12.0 and 2.15.0)
cd "$(dirname "$0")" || exit
out=${1:-..} run=../../../scripts/torch-run/torch-run
r() { v=$1 p=$2; shift 2; nice $run $v $p.py "$out" "$@" 2>&1 | grep -v '^\[fake\]'; }
r 2.9.1 mlp_adamw adamw 2048 8
r 2.15.0 mlp_adamw fused 3072 10
r 2.7.1 mlp_adamw momentum 1024 6
r 2.12.0 mlp_adamw sgd 1536 7
r 2.9.1 gpt_accumulate none python
r 2.15.0 gpt_accumulate zero all
r 2.9.1 gpt_checkpoint
r 2.9.1 amp_master master
r 2.12.0 amp_master autocast
r 2.15.0 kv_decode
r 2.9.1 leak_losses graph
r 2.9.1 leak_losses repaired
r 2.7.1 leak_hook
r 2.15.0 one_step forward
r 2.9.1 one_step step
r 2.9.1 eval_grad
FAKE_TOTAL=1300M r 2.15.0 oom fragmentation
FAKE_TOTAL=2G r 2.9.1 oom capacity
FAKE_LAG=12 r 2.15.0 two_streams
r 2.15.0 late begin
r 2.9.1 late ring
r 2.12.0 lora
r 2.15.0 gan
r 2.9.1 raw_sgd
r 2.9.1 post_accumulate
r 2.15.0 maml
r 2.15.0 leak_grads
r 2.15.0 shards ddp_copy
r 2.9.1 shards ddp_view
r 2.15.0 shards fsdp
