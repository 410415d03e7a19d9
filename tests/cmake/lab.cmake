find_package(Python3 COMPONENTS Interpreter)
if(Python3_Interpreter_FOUND AND NOT TWINSTEP_SANITIZE)
  add_test(NAME lab COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/lab/namespaces_test.py $<TARGET_FILE:twinstep>)
  # RUN_SERIAL: ranks have real-time priority, and two laboratories would share the cores.
  set_tests_properties(lab PROPERTIES SKIP_REGULAR_EXPRESSION "SKIPPED:" TIMEOUT 120 RUN_SERIAL ON)
elseif(NOT Python3_Interpreter_FOUND)
  twinstep_left_out("the test of the network laboratory (tests/lab): Python 3 not found")
endif()
