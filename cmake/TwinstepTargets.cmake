# One library a folder; its link interface is the layer graph of cmake/layers.txt.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

find_program(TWINSTEP_CCACHE ccache)
if(TWINSTEP_CCACHE)
  # Paths below the source folder are taken relative, so that build folders share what is cached.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${TWINSTEP_CCACHE})
endif()

set(TWINSTEP_SANITIZE "" CACHE STRING "Sanitizers to build with: \"\", \"address,undefined\" or \"thread\"")
option(TWINSTEP_SANITIZE_ALL "With sanitizers also what only asks and words answers" OFF)
option(TWINSTEP_COVERAGE "Instrument for gcov" OFF)
option(TWINSTEP_WERROR "Treat warnings as errors" ON)

add_library(twinstep_flags INTERFACE)
target_include_directories(twinstep_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(twinstep_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow $<$<BOOL:${TWINSTEP_WERROR}>:-Werror>
  -Wno-missing-field-initializers
  -ffp-contract=off # every compiler gives the same bytes
  -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
if(TWINSTEP_SANITIZE)
  target_compile_options(twinstep_flags INTERFACE -fsanitize=${TWINSTEP_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  # Checks of every reference, which are a third of the code: AddressSanitizer stops at null as well.
  target_compile_options(twinstep_flags INTERFACE -fno-sanitize=null,alignment)
  target_link_options(twinstep_flags INTERFACE -fsanitize=${TWINSTEP_SANITIZE})
endif()
if(TWINSTEP_COVERAGE)
  target_compile_options(twinstep_flags INTERFACE --coverage)
  target_link_options(twinstep_flags INTERFACE --coverage)
endif()

# The standard library is read once a build, not once a file: that halves the time of small files. Headers are still
# checked to stand alone (all_verify_interface_header_sets). GCC takes the optimisation of the headers for that of the file,
# whatever the file's own options say: so there is one set of headers for each kind of library.
set(TWINSTEP_STANDARD_HEADERS <algorithm> <array> <cmath> <cstdint> <functional> <map> <memory> <optional> <span> <string>
    <string_view> <tuple> <utility> <variant> <vector>)
file(WRITE ${CMAKE_BINARY_DIR}/generated/precompiled.cpp "// carries the precompiled headers\n")
function(twinstep_precompile name)
  add_library(${name} STATIC ${CMAKE_BINARY_DIR}/generated/precompiled.cpp)
  target_link_libraries(${name} PRIVATE twinstep_flags)
  target_compile_options(${name} PRIVATE ${ARGN})
  target_precompile_headers(${name} PRIVATE ${TWINSTEP_STANDARD_HEADERS})
endfunction()
twinstep_precompile(twinstep_precompiled)

# What modules are made of. Hidden symbols cost no more than those of a program.
set(TWINSTEP_LOADABLE -fPIC -fvisibility=hidden)
twinstep_precompile(twinstep_precompiled_loadable ${TWINSTEP_LOADABLE})

# What reads options and files and words answers runs once a command; what simulates runs a million times. The first is
# optimised a little only: generating code is most of the time to compile it (-O1 takes a quarter less than -O3). Not at
# -O0: where both use one template of the standard library, the linker may keep the first one's code.
twinstep_precompile(twinstep_precompiled_once $<$<CONFIG:Release,RelWithDebInfo>:-O1>)
function(twinstep_runs_once_a_command target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-O1>)
  target_precompile_headers(${target} REUSE_FROM twinstep_precompiled_once)
endfunction()

# twinstep_library(NAME [ONCE_A_COMMAND] [LOADABLE] SOURCES … HEADERS … DEPENDS … PRIVATE …)
#   ONCE_A_COMMAND: see above; LOADABLE: a module may hold it, and it depends on nothing that is not; DEPENDS: libraries
#   whose headers this one's headers or sources include; PRIVATE: third parties behind its door.
function(twinstep_library name)
  cmake_parse_arguments(ARG "ONCE_A_COMMAND;LOADABLE" "" "SOURCES;HEADERS;DEPENDS;PRIVATE" ${ARGN})
  if(ARG_SOURCES)
    add_library(${name} STATIC ${ARG_SOURCES})
    set(scope PUBLIC)
    target_link_libraries(${name} PRIVATE fmt::fmt ${ARG_PRIVATE})
    if(ARG_LOADABLE)
      target_compile_options(${name} PRIVATE ${TWINSTEP_LOADABLE})
      target_precompile_headers(${name} REUSE_FROM twinstep_precompiled_loadable)
    elseif(ARG_ONCE_A_COMMAND)
      twinstep_runs_once_a_command(${name})
    else()
      target_precompile_headers(${name} REUSE_FROM twinstep_precompiled)
    endif()
  else()
    add_library(${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_sources(${name} ${scope} FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${ARG_HEADERS})
  target_link_libraries(${name} ${scope} twinstep_flags ${ARG_DEPENDS})
endfunction()

# twinstep_module(NAME SOURCES … PRIVATE …): a part of the program that stands on large libraries and is loaded where it is
# asked for (sim/base/module.hpp). It lies beside the program.
set_property(GLOBAL PROPERTY TWINSTEP_MODULES "")
function(twinstep_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PRIVATE" ${ARGN})
  add_library(${name} MODULE ${ARG_SOURCES})
  target_compile_options(${name} PRIVATE ${TWINSTEP_LOADABLE})
  target_link_libraries(${name} PRIVATE twinstep_flags fmt::fmt ${ARG_PRIVATE})
  set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/app)
  set_property(GLOBAL APPEND PROPERTY TWINSTEP_MODULES ${name})
endfunction()

set_property(GLOBAL PROPERTY TWINSTEP_LEFT_OUT "")

# twinstep_left_out("what: why"): something optional that this build does without, said at the end of configuring.
function(twinstep_left_out sentence)
  set_property(GLOBAL APPEND PROPERTY TWINSTEP_LEFT_OUT "${sentence}")
endfunction()

function(twinstep_print_summary)
  get_property(left_out GLOBAL PROPERTY TWINSTEP_LEFT_OUT)
  message(STATUS "twinstep ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE}")
  foreach(sentence IN LISTS left_out)
    message(STATUS "  left out: ${sentence}")
  endforeach()
endfunction()
