#include <algorithm>

#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep::tests;
using Catch::Contains;

TEST_CASE("the program starts without the libraries that few questions need", "[cli][start]") {
  // What `ldd` lists is loaded before main: today 14 lines, 48 with these libraries.
  auto const libraries = run_shell("ldd TWINSTEP");
  REQUIRE(libraries.exit_code == 0);
  CHECK_THAT(libraries.out, Contains("libstdc++"));
  for (auto const* heavy : {"ceres", "cholmod", "blas", "lapack", "libmpi", "gloo", "cuda", "nccl"}) {
    INFO(heavy << " in\n" << libraries.out);
    CHECK_THAT(libraries.out, !Contains(heavy));
  }
  CHECK(std::ranges::count(libraries.out, '\n') < 20);
}

TEST_CASE("a part that was not built is a line that names its packages, and exit code 3", "[cli][start]") {
  // A program alone in a folder is one that was built without any module.
  auto const folder = Scratch{};
  auto const alone = [&](std::string const& before, std::string const& arguments) {
    auto const program = folder.path("twinstep");
    return run_shell("cp TWINSTEP " + program + " && " + before + " " + program + " " + arguments);
  };
  CHECK(alone("", "simulate examples/llama-2-7b-4xh100.json").exit_code == 0);

  auto const gloo = alone("", "measure copy --backend gloo");
  CHECK(gloo.exit_code == 3);
  CHECK(gloo.err ==
        "twinstep: found no Gloo: this program was built without Gloo and OpenBLAS (libgloo-dev, "
        "libopenblas-dev); install it and build all again\n");
  auto const mpi = alone("OMPI_COMM_WORLD_SIZE=2", "sweep examples/sweep-nodes.json --out " + folder.path("r.sqlite"));
  CHECK(mpi.exit_code == 3);
  CHECK_THAT(mpi.err, Contains("MPI (libopenmpi-dev)"));
  auto const records = folder.write("records.json", R"([{"id": "ours", "system": "ours", "collective": "all_gather",
    "ranks": 16, "health": "healthy", "rows": [[1024, 40], [1048576, 43], [1073741824, 3186], [4294967296, 12623]]}])");
  auto const ceres = alone("", "calibrate dgx-h100-ndr --measurements " + records + " --out " + folder.path("c.json"));
  CHECK(ceres.exit_code == 3);
  CHECK_THAT(ceres.err, Contains("Ceres (libceres-dev)"));
}
