set(sim_io_sources
  io/document.cpp io/document_edit.cpp io/document_parse.cpp io/quantity.cpp)
set(sim_io_headers
  io/document.hpp io/document_value.hpp io/quantity.hpp)

twinstep_library(sim_io
  SOURCES ${sim_io_sources}
  HEADERS ${sim_io_headers}
  DEPENDS sim_base
  PRIVATE nlohmann_json::nlohmann_json)

# valijson takes 18 s to compile, so it stands alone.
find_package(valijson REQUIRED)
twinstep_library(sim_schema
  SOURCES io/schema.cpp
  HEADERS io/schema.hpp
  DEPENDS sim_base
  PRIVATE nlohmann_json::nlohmann_json valijson)
