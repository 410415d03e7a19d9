#include "strategies/model/hf_config.hpp"

#include "sim/base/input_error.hpp"
#include "strategies/model/read_model.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::strategies;
using Catch::Contains;

namespace {

std::string const kModels = TWINSTEP_SOURCE_FOLDER "/examples/models";

struct Read {
  ModelSpec model;
  std::vector<std::string> warnings;
};

Read read_scenario(std::string text) {
  auto out = Read{};
  out.model = read_model(io::parse({"scenario.json", std::move(text)}), kModels, out.warnings);
  return out;
}

Read read_example(std::string const& name) {
  return read_scenario(R"({"hf_config": ")" + name + R"(/config.json"})");
}

Read read_config(std::string const& text) {
  auto out = Read{};
  out.model = read_hf_config(io::parse({"config.json", text}), out.warnings);
  return out;
}

/// A small Llama, with `more` written into it.
std::string small_llama(std::string const& more) {
  return R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 128, "vocab_size": 100)" +
         more + "}";
}
std::string const kLayersAndHeads = R"(, "num_hidden_layers": 2, "num_attention_heads": 4)";

}  // namespace

TEST_CASE("published configurations have their published number of parameters", "[model]") {
  // Sums over the tensors of the published checkpoints.
  CHECK(parameter_count(read_example("llama-2-7b").model) == 6'738'415'616);
  CHECK(parameter_count(read_example("llama-2-13b").model) == 13'015'864'320);
  CHECK(parameter_count(read_example("llama-2-70b").model) == 68'976'648'192);
  CHECK(parameter_count(read_example("llama-3-8b").model) == 8'030'261'248);
  CHECK(parameter_count(read_example("mistral-7b").model) == 7'241'732'096);
  CHECK(parameter_count(read_example("qwen2-7b").model) == 7'615'616'512);
  CHECK(parameter_count(read_example("gpt2").model) == 124'439'808);
  CHECK(parameter_count(read_example("gpt2-xl").model) == 1'557'611'200);
}

TEST_CASE("Qwen3 has heads of their own size and a norm of each", "[model]") {
  // Qwen3-32B, h 5120, 64 heads of 128 in 8 groups, f 25600: q and o 2 * 8192 h, k and v 2 * 1024 h, MLP 3 f h, norms
  // 2 h + 2 * 128: 487,598,336 in each of 64 layers; embedding and head 2 * 151,936 h; last norm h.
  auto const read = read_example("qwen3-32b");
  CHECK(parameter_count(read.model) == 64 * 487'598'336LL + 2 * 151'936LL * 5120 + 5120);
  CHECK(parameter_count(read.model) == 32'762'123'264);
  CHECK(read.warnings.empty());
  CHECK(std::get<Transformer>(read.model).query_width() == 8192);
  // An absent head_dim is 128, not hidden / heads (Qwen3Config).
  auto const small = read_config(R"({"model_type": "qwen3", "hidden_size": 64, "num_hidden_layers": 1,
    "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 8, "vocab_size": 10})");
  CHECK(std::get<Transformer>(small.model).head_size == 128);
}

TEST_CASE("GPT-NeoX has biases, two norms of the same input and an output matrix of its own", "[model]") {
  // A layer: 12 h² + 9 h (biases 3 h + h + 4 h + h) + 4 h (two norms). Pythia-6.9B, h 4096: 201,379,840 in each of 32;
  // GPT-NeoX-20B, h 6144: 453,064,704 in each of 44. Embedding and output 2 * 50,432 h, last norm 2 h.
  CHECK(parameter_count(read_example("pythia-6.9b").model) == 32 * 201'379'840LL + 2 * 50'432LL * 4096 + 2 * 4096);
  CHECK(parameter_count(read_example("pythia-6.9b").model) == 6'857'302'016);
  CHECK(parameter_count(read_example("gpt-neox-20b").model) == 44 * 453'064'704LL + 2 * 50'432LL * 6144 + 2 * 6144);
  CHECK(parameter_count(read_example("gpt-neox-20b").model) == 20'554'567'680);
  auto const model = std::get<Transformer>(read_example("pythia-6.9b").model);
  CHECK(model.parallel_branches);
  CHECK(model.rotary_size == 32);  // a quarter of 128
  CHECK_FALSE(model.dropout);
}

TEST_CASE("OPT learns two positions more than it has", "[model]") {
  // A layer: 12 h² + 9 h + 4 h = 201,379,840; embedding 50,272 h, positions 2050 h, last norm 2 h; the head is tied.
  auto const model = read_example("opt-6.7b").model;
  CHECK(parameter_count(model) == 32 * 201'379'840LL + 50'272LL * 4096 + 2050LL * 4096 + 2 * 4096);
  CHECK(parameter_count(model) == 6'658'473'984);
  CHECK(std::get<Transformer>(model).relu);
  CHECK(std::get<Transformer>(model).max_sequence_length == 2048);
}

TEST_CASE("MPT has ALiBi or learned positions, and biases or none", "[model]") {
  // A layer: 12 h² + 2 h = 201,334,784; embedding 50,432 h; last norm h; the head is tied.
  auto const model = read_example("mpt-7b").model;
  CHECK(parameter_count(model) == 32 * 201'334'784LL + 50'432LL * 4096 + 4096);
  CHECK(parameter_count(model) == 6'649'286'656);
  CHECK(std::get<Transformer>(model).alibi);
  // With biases, 11 h more a layer and h at the end, and 2048 learned positions, it is the 7B model of llm-foundry's
  // table of training benchmarks (scripts/train/benchmarking/README.md).
  auto const learned = read_config(R"({"model_type": "mpt", "d_model": 4096, "n_layers": 32, "n_heads": 32,
    "vocab_size": 50368, "max_seq_len": 2048, "no_bias": false, "attn_config": {"alibi": false}})");
  CHECK(parameter_count(learned.model) == 6'658'859'008);
}

TEST_CASE("variants of GPT's kin that would have other parameters are refused", "[model]") {
  auto const opt = [](std::string const& more) {
    return R"({"model_type": "opt", "hidden_size": 64, "ffn_dim": 256, "num_hidden_layers": 2, "vocab_size": 100)" +
           more + "}";
  };
  auto const heads = std::string{R"(, "num_attention_heads": 4)"};
  CHECK_NOTHROW(read_config(opt(heads)));
  CHECK_THROWS_WITH(read_config(opt(heads + R"(, "word_embed_proj_dim": 32)")),
                    Contains("/word_embed_proj_dim") && Contains("embeddings of 32 in a model of 64"));
  CHECK_THROWS_WITH(read_config(opt(heads + R"(, "do_layer_norm_before": false)")),
                    Contains("/do_layer_norm_before") && Contains("before each branch"));
  CHECK_THROWS_WITH(read_config(opt(R"(, "num_attention_heads": 5)")),
                    Contains("/num_attention_heads") && Contains("choose a number of heads that divides it"));
  auto const mpt = [](std::string const& attention) {
    return R"({"model_type": "mpt", "d_model": 64, "n_layers": 2, "n_heads": 4, "vocab_size": 100,
               "learned_pos_emb": false, "attn_config": )" +
           attention + "}";
  };
  CHECK_THROWS_WITH(read_config(mpt(R"({"qk_ln": true})")), Contains("/attn_config/qk_ln"));
  CHECK_THROWS_WITH(read_config(mpt(R"({"alibi": false})")), Contains("without positions") && Contains("alibi"));
  CHECK(std::get<Transformer>(read_config(mpt(R"({"attn_type": "multiquery_attention"})")).model).kv_heads == 1);
  auto const clipped = read_config(mpt(R"({"clip_qkv": 6, "sliding_window_size": 100})"));
  REQUIRE(clipped.warnings.size() == 2);
  CHECK_THAT(clipped.warnings[0], Contains("/attn_config/clip_qkv"));
  CHECK_THAT(clipped.warnings[1], Contains("/attn_config/sliding_window_size") && Contains("100"));
  CHECK_THROWS_WITH(read_config(mpt(R"({}, "ffn_config": {"ffn_type": "mptglu"})")),
                    Contains("/ffn_config/ffn_type") && Contains("mptglu"));
  CHECK(std::get<Transformer>(read_config(mpt(R"({}, "ffn_config": {"ffn_hidden_size": 96})")).model).ffn == 96);
  CHECK_THROWS_WITH(read_config(R"({"model_type": "gpt_neox", "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "intermediate_size": 8, "vocab_size": 10, "rotary_pct": 1.5})"),
                    Contains("/rotary_pct") && Contains("1.5 times a width of 16") && Contains("up to 1"));
  CHECK_THROWS_WITH(read_config(R"({"model_type": "mpt", "d_model": 64, "n_layers": 2, "n_heads": 4,
    "vocab_size": 100, "expansion_ratio": 0.01})"),
                    Contains("/expansion_ratio") && Contains("leaves 1 or more"));
}

TEST_CASE("a model read from a file is named after its folder", "[model]") {
  CHECK(model_name(read_example("llama-2-7b").model) == "llama-2-7b");
}

TEST_CASE("a sliding window shorter than the sequence is reported, one that is off is not", "[model]") {
  auto const mistral = read_example("mistral-7b");
  REQUIRE(mistral.warnings.size() == 1);
  CHECK_THAT(mistral.warnings.front(), Contains("/sliding_window") && Contains("4096"));
  CHECK(read_example("qwen2-7b").warnings.empty());
  CHECK(read_example("llama-2-7b").warnings.empty());
}

TEST_CASE("quantised weights are reported", "[model]") {
  auto const model = read_config(small_llama(kLayersAndHeads + R"(, "quantization_config": {"bits": 4})"));
  REQUIRE(model.warnings.size() == 1);
  CHECK_THAT(model.warnings.front(), Contains("/quantization_config"));
}

TEST_CASE("head_dim goes before hidden over heads", "[model]") {
  auto const model = read_config(small_llama(kLayersAndHeads + R"(, "head_dim": 32)")).model;
  auto const& transformer = std::get<Transformer>(model);
  CHECK(transformer.head_size == 32);
  CHECK(transformer.query_width() == 128);  // 4 heads of 32, though hidden is 64
  CHECK(std::get<Transformer>(read_config(small_llama(kLayersAndHeads + R"(, "head_dim": null)")).model).head_size ==
        16);
}

TEST_CASE("the model type serves where no class is named", "[model]") {
  auto const model = read_config(R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 32,
                                     "vocab_size": 100})");
  auto const& transformer = std::get<Transformer>(model.model);
  CHECK(transformer.ffn == 256);
  CHECK(transformer.tied_embeddings);
  CHECK(transformer.dropout);
}

TEST_CASE("sizes that a nested text model leaves out are its class's defaults, and said", "[model]") {
  // llava-1.5-7b: Vicuna is LLaMA-2-7B with 64 more words of 4096 in embedding and head.
  auto const read = read_config(R"({"architectures": ["LlavaForConditionalGeneration"], "model_type": "llava",
    "text_config": {"architectures": ["LlamaForCausalLM"], "max_position_embeddings": 4096, "model_type": "llama",
                    "vocab_size": 32064}, "vision_config": {"hidden_size": 1024}})");
  CHECK(parameter_count(read.model) == 6'738'415'616 + 2 * 64 * 4096);
  REQUIRE(read.warnings.size() == 2);
  CHECK_THAT(read.warnings[1], Contains("hidden_size 4096") && !Contains("vocab_size"));
  // A file of one model gives its sizes itself: one that does not is not finished.
  CHECK_THROWS_WITH(read_config(R"({"model_type": "llama", "vocab_size": 32064})"), Contains("names no layers"));
}

TEST_CASE("an unknown architecture is answered with the known ones", "[model]") {
  CHECK_THROWS_WITH(read_config(R"({"architectures": ["MambaForCausalLM"]})"),
                    Contains("/architectures/0") && Contains("MambaForCausalLM") && Contains("LlamaForCausalLM") &&
                        Contains("GPT2LMHeadModel"));
  CHECK_THROWS_AS(read_config("{}"), InputError);
}

TEST_CASE("a model that names no layers is refused", "[model]") {
  CHECK_THROWS_WITH(read_config(small_llama(R"(, "num_hidden_layers": 0, "num_attention_heads": 4)")),
                    Contains("/num_hidden_layers") && Contains("a model that names no layers"));
  CHECK_THROWS_WITH(read_config(small_llama(R"(, "num_attention_heads": 4)")),
                    Contains("a model that names no layers") && Contains("num_hidden_layers"));
}

TEST_CASE("heads that do not divide are refused with a way out", "[model]") {
  CHECK_THROWS_WITH(read_config(small_llama(R"(, "num_hidden_layers": 2, "num_attention_heads": 5)")),
                    Contains("/num_attention_heads") && Contains("hidden_size = 64") && Contains("head_dim"));
  CHECK_THROWS_WITH(read_config(small_llama(kLayersAndHeads + R"(, "num_key_value_heads": 3)")),
                    Contains("/num_key_value_heads") && Contains("4 heads in groups for 3"));
}

TEST_CASE("experts and cross-attention are refused", "[model]") {
  CHECK_THROWS_WITH(read_config(small_llama(kLayersAndHeads + R"(, "num_local_experts": 8)")),
                    Contains("/num_local_experts") && Contains("8 experts"));
  CHECK_THROWS_WITH(read_config(R"({"model_type": "gpt2", "add_cross_attention": true})"), Contains("cross-attention"));
}

TEST_CASE("sizes that multiply to an impossible model are refused", "[model]") {
  CHECK_THROWS_WITH(read_scenario(R"({"family": "llama", "layers": 100000, "hidden": 2147483648, "heads": 1})"),
                    Contains("parameters") && Contains("1e15"));
  CHECK_THROWS_AS(read_scenario(R"({"family": "llama", "layers": 1, "hidden": 0, "heads": 1})"), InputError);
  CHECK_THROWS_AS(read_scenario(R"({"family": "llama", "layers": 1, "hidden": 4294967296, "heads": 1})"), InputError);
}

TEST_CASE("a short spec has its family's defaults", "[model]") {
  // LLaMA-2-7B by its three numbers: ffn 8/3 * 4096 = 10922, rounded up to 43 * 256 = 11008.
  auto const llama = read_scenario(R"({"family": "llama", "layers": 32, "hidden": 4096, "heads": 32})").model;
  CHECK(parameter_count(llama) == 6'738'415'616);
  auto const gpt2 = read_scenario(R"({"family": "gpt2", "layers": 12, "hidden": 768, "heads": 12})").model;
  CHECK(parameter_count(gpt2) == 124'439'808);
}

TEST_CASE("an MLP is given by its widths or by layers of one width", "[model]") {
  CHECK(std::get<Mlp>(read_scenario(R"({"family": "mlp", "layers": 3, "hidden": 8})").model).widths ==
        std::vector<std::int64_t>{8, 8, 8, 8});
  // 3 * 5 + 5 * 2
  CHECK(parameter_count(read_scenario(R"({"family": "mlp", "widths": [3, 5, 2]})").model) == 25);
  CHECK_THROWS_WITH(read_scenario(R"({"family": "mlp", "widths": [3]})"), Contains("names no layers"));
  CHECK_THROWS_WITH(read_scenario(R"({"family": "mlp", "widths": [3, 4], "layers": 2})"), Contains("/widths"));
}

TEST_CASE("a misspelt key or family of a short spec is answered with the near one", "[model]") {
  CHECK_THROWS_WITH(read_scenario(R"({"family": "llama", "layer": 2, "hidden": 64, "heads": 4})"), Contains("layers"));
  CHECK_THROWS_WITH(read_scenario(R"({"family": "lama", "layers": 2, "hidden": 64, "heads": 4})"), Contains("llama"));
  CHECK_THROWS_WITH(read_scenario(R"({"layers": 2})"), Contains("hf_config") && Contains("family"));
}

TEST_CASE("a configuration file that is not there is named", "[model]") {
  CHECK_THROWS_WITH(read_example("llama-9"), Contains("llama-9/config.json"));
}
