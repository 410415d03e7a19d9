#pragma once

#include <string>

#include "tests/support/texts.hpp"

/// A step record as sources publish them.
namespace twinstep::tests {

/// MPT-30B on 16 nodes of H100: FSDP with full recomputation.
inline std::string foundry_record() {
  return R"~({"id": "mpt-30b-n128", "family": "foundry", "kind": "measured",
    "stack": "Composer FSDP (torch FSDP1), limit_all_gathers=true",
    "model": {"name": "MPT-30b", "params": 29975214080, "layers": 48, "hidden": 7168, "heads": 56, "kv_heads": 56,
              "ffn": 28672, "vocab": 50368, "seq_len": 2048, "tied_embeddings": true, "pos_emb": "learned"},
    "parallelism": {"dp": 128, "zero_stage": 3, "fsdp_mode": "FULL_SHARD", "tp": 1, "sp": false, "pp": 1},
    "precision": "bf16 AMP, FSDP mixed_precision=DEFAULT", "micro_batch": 8, "global_batch": 1024, "grad_accum": 1,
    "activation_recompute": "full (per block, non-reentrant)", "flash_attention": true, "torch_compile": false,
    "optimizer": "DecoupledAdamW (fp32 states)", "offload": "none",
    "measured": {"tokens_per_s_per_gpu": 2199, "tflops_per_gpu": 414}, "derived": {"step_time_s": 7.45066},
    "confidence": "high",
    "cluster": {"gpu": "h100-80g", "gpus_per_node": 8, "nodes": 16, "intra": "nvswitch", "fabric": "infiniband",
                "nics_per_node": 8, "nic_gbps": 400}})~";
}

}  // namespace twinstep::tests
