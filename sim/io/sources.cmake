set(sim_io_sources
  io/document.cpp io/document_edit.cpp io/document_file.cpp io/document_parse.cpp io/document_text.cpp io/json_writer.cpp io/link_rates.cpp
  io/maker.cpp io/outputs.cpp io/program_json.cpp io/quantity.cpp io/scope_json.cpp io/timeline_json.cpp
  io/timeline_writer.cpp)
set(sim_io_headers
  io/change.hpp io/document.hpp io/document_text.hpp io/document_value.hpp io/json_text.hpp io/json_writer.hpp io/maker.hpp io/outputs.hpp
  io/program_json.hpp io/quantity.hpp io/scope_json.hpp io/timeline_json.hpp)

twinstep_library(sim_io
  SOURCES ${sim_io_sources}
  HEADERS ${sim_io_headers}
  DEPENDS sim_base sim_program sim_timeline)

# Configurations of other programs: yaml-cpp and toml11 stay behind one file each.
find_package(yaml-cpp REQUIRED)
find_package(toml11 REQUIRED)
twinstep_library(sim_io_formats ONCE_A_COMMAND
  SOURCES io/arguments.cpp io/foreign_tree.cpp io/toml.cpp io/yaml.cpp
  HEADERS io/foreign_tree.hpp io/other_formats.hpp
  DEPENDS sim_io
  PRIVATE yaml-cpp toml11::toml11)
