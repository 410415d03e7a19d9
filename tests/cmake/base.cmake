twinstep_test(unit_base SOURCES unit/total_bytes_test.cpp unit/units_test.cpp unit/utf8_test.cpp DEPENDS sim_base)
