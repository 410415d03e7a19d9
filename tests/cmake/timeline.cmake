twinstep_test(unit_program_json
  SOURCES unit/program_json_test.cpp unit/timeline_json_test.cpp support/program_reader.cpp support/trace_import.cpp
  DEPENDS sim_io)
target_compile_definitions(unit_program_json PRIVATE TWINSTEP_GOLDEN="${CMAKE_CURRENT_SOURCE_DIR}/golden")
