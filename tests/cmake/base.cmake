twinstep_test(unit_base SOURCES unit/units_test.cpp unit/utf8_test.cpp DEPENDS sim_base)
