twinstep_test(unit_reports
  SOURCES unit/compare_test.cpp unit/intervals_test.cpp unit/memory_peak_test.cpp unit/summary_test.cpp
          unit/nccl_tests_table_test.cpp unit/table_test.cpp unit/page_files_test.cpp unit/page_html_test.cpp
          unit/page_text_test.cpp unit/read_back_test.cpp web/every_chart.cpp property/breakdown_test.cpp
  DEPENDS reports reports_render UPPER_FLOOR)
