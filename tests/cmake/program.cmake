twinstep_test(unit_program
  SOURCES unit/builder_test.cpp unit/grid_test.cpp unit/matching_test.cpp unit/projection_test.cpp unit/races_test.cpp
          unit/step_program_test.cpp unit/well_formed_test.cpp property/races_test.cpp
  DEPENDS sim_program)

find_package(Python3 COMPONENTS Interpreter)
if(Python3_Interpreter_FOUND)
  add_test(NAME layers COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/check_layers.py ${PROJECT_SOURCE_DIR})
  add_test(NAME layers_checker COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/unit/check_layers_test.py)
  add_test(NAME documents COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/unit/docs_test.py)
else()
  twinstep_left_out("the checks of layers and documents: no Python 3 interpreter")
endif()
