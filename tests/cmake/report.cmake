twinstep_test(unit_report
  SOURCES golden/pages_test.cpp unit/question_test.cpp unit/report_joined_test.cpp unit/report_scaling_test.cpp unit/report_sections_test.cpp unit/report_sweep_test.cpp
  DEPENDS reports_pages explore_sweep UPPER_FLOOR)
