# The HTML page in a real browser.
add_executable(write_page web/write_page.cpp web/every_chart.cpp)
target_link_libraries(write_page PRIVATE twinstep_flags fmt::fmt reports)
