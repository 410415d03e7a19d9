#include <fstream>
#include <sstream>

#include "strategies/model/model_spec.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/schema.hpp"

using namespace twinstep;
using namespace twinstep::strategies;

namespace {

/// Two layers, hidden 4, two heads of 3 with one key-value head, ffn 5, vocabulary 7.
Transformer tiny_llama() {
  auto model = Transformer{"tiny", 2, 4, 2, 1, 3, 5, 7};
  return model;
}

Transformer tiny_gpt2() {
  auto model = Transformer{"tiny", 2, 4, 2, 2, 2, 16, 7, 6, 6, Norm::kLayer, false, true, true, true, true, true, true};
  return model;
}

std::string schema() {
  auto file = std::ifstream{TWINSTEP_SOURCE_FOLDER "/strategies/model/schema/model.schema.json"};
  auto text = std::stringstream{};
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> names(UnitParameters const& unit) {
  auto out = std::vector<std::string>{};
  for (auto const& tensor : unit.tensors) out.push_back(tensor.name);
  return out;
}

}  // namespace

TEST_CASE("a Llama registers attention, MLP, then norms", "[model]") {
  auto const units = parameters_of(tiny_llama());
  REQUIRE(units.size() == 3);
  CHECK(units[1].count == 2);
  CHECK(names(units[1]) ==
        std::vector<std::string>{"self_attn.q_proj.weight", "self_attn.k_proj.weight", "self_attn.v_proj.weight",
                                 "self_attn.o_proj.weight", "mlp.gate_proj.weight", "mlp.up_proj.weight",
                                 "mlp.down_proj.weight", "input_layernorm.weight", "post_attention_layernorm.weight"});
  // [out, in]: queries of 2 heads of 3 from hidden 4, keys of 1 head.
  CHECK(units[1].tensors[0] == Tensor{"self_attn.q_proj.weight", 6, 4});
  CHECK(units[1].tensors[1] == Tensor{"self_attn.k_proj.weight", 3, 4});
  // q 24, k 12, v 12, o 24, three of 20, two norms of 4.
  CHECK(units[1].elements() == 24 + 12 + 12 + 24 + 60 + 8);
  // Embedding 28; two layers; norm 4 and head 28.
  CHECK(parameter_count(tiny_llama()) == 28 + 2 * 140 + 32);
}

TEST_CASE("a GPT-2 registers each norm before what it feeds, and its head shares the embedding", "[model]") {
  auto const units = parameters_of(tiny_gpt2());
  CHECK(names(units[0]) == std::vector<std::string>{"wte.weight", "wpe.weight"});
  CHECK(names(units[1]) == std::vector<std::string>{"ln_1.weight", "ln_1.bias", "attn.c_attn.weight",
                                                    "attn.c_attn.bias", "attn.c_proj.weight", "attn.c_proj.bias",
                                                    "ln_2.weight", "ln_2.bias", "mlp.c_fc.weight", "mlp.c_fc.bias",
                                                    "mlp.c_proj.weight", "mlp.c_proj.bias"});
  CHECK(names(units[2]) == std::vector<std::string>{"ln_f.weight", "ln_f.bias"});
}

TEST_CASE("untying the embeddings adds one matrix", "[model]") {
  auto model = tiny_gpt2();
  auto const tied = parameter_count(model);
  model.tied_embeddings = false;
  CHECK(parameter_count(model) == tied + 7 * 4);
}

TEST_CASE("listing parameters costs the same for any number of layers", "[model]") {
  auto model = tiny_llama();
  model.layers = 100'000;
  CHECK(parameters_of(model).size() == 3);
  CHECK(parameters_of(Mlp{"mlp", std::vector<std::int64_t>(1001, 8)}).size() == 1);
}

TEST_CASE("the layers of an MLP that differ are listed apart", "[model]") {
  auto const units = parameters_of(Mlp{"mlp", {3, 4, 4, 4, 2}});
  REQUIRE(units.size() == 3);
  CHECK(units[0].tensors.front() == Tensor{"weight", 4, 3});
  CHECK(units[1].count == 2);
  CHECK(units[2].tensors.front() == Tensor{"weight", 2, 4});
}

TEST_CASE("the model schema accepts what the reader accepts", "[model][schema]") {
  for (auto const* text :
       {R"({"hf_config": "llama-2-7b/config.json"})",
        R"({"family": "llama", "layers": 2, "hidden": 64, "heads": 4, "kv_heads": 2, "ffn": 100})",
        R"({"family": "gpt2", "layers": 2, "hidden": 64, "heads": 4, "dropout": false})",
        R"({"family": "mlp", "layers": 2, "hidden": 64})", R"({"family": "mlp", "widths": [1, 2]})",
        R"({"family": "cnn", "name": "resnet50"})",
        R"({"family": "cnn", "stages": [{"blocks": 2}, {"blocks": 2, "width": 128}], "image_size": 32})"}) {
    CAPTURE(text);
    CHECK(tests::schema_violations(text, schema()).empty());
  }
}

TEST_CASE("the model schema refuses what the reader refuses", "[model][schema]") {
  for (auto const* text : {R"({})", R"({"family": "llama", "layers": 0, "hidden": 64, "heads": 4})",
                           R"({"family": "bert", "layers": 2, "hidden": 64, "heads": 4})", R"({"family": "cnn"})",
                           R"({"family": "cnn", "stages": [{}]})", R"({"family": "mlp", "widths": [1]})",
                           R"({"family": "mlp", "widths": [1, 2], "layers": 1})",
                           R"({"family": "llama", "layers": 2, "hidden": 64, "heads": 4, "fnn": 100})"}) {
    CAPTURE(text);
    CHECK_FALSE(tests::schema_violations(text, schema()).empty());
  }
}
