# twinstep_npm_files(OUT_VARIABLE PACKAGE VERSION SHA256 FILES …): the folder that holds FILES of a package of the npm
# registry, or "" where npm is missing or cannot fetch it; WHY_OUT_VARIABLE then says why. SHA256 is that of the first
# file. Fetches once a build folder, with npm's own cache and configuration.
find_program(TWINSTEP_NPM npm)

function(twinstep_npm_files out package version sha256)
  set(folder ${CMAKE_BINARY_DIR}/npm/${package}-${version})
  list(GET ARGN 0 first)
  set(${out} "" CACHE INTERNAL "Folder of ${package} ${version}; empty if there is none")
  if(NOT EXISTS ${folder}/package/${first})
    if(NOT TWINSTEP_NPM)
      set(WHY_${out} "npm was not found, scripts/install_dependencies.sh installs it" PARENT_SCOPE)
      return()
    endif()
    file(MAKE_DIRECTORY ${folder})
    execute_process(
      COMMAND ${TWINSTEP_NPM} pack ${package}@${version} --silent --prefer-offline --fetch-retries=1 --fetch-timeout=60000
      WORKING_DIRECTORY ${folder} TIMEOUT 120 RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
    if(NOT status EQUAL 0)
      set(WHY_${out} "npm could not fetch ${package} ${version}, configure again when the network is there" PARENT_SCOPE)
      return()
    endif()
    list(TRANSFORM ARGN PREPEND package/ OUTPUT_VARIABLE members)
    execute_process(COMMAND ${CMAKE_COMMAND} -E tar xf ${package}-${version}.tgz ${members}
                    WORKING_DIRECTORY ${folder} COMMAND_ERROR_IS_FATAL ANY)
    file(REMOVE ${folder}/${package}-${version}.tgz)
  endif()
  file(SHA256 ${folder}/package/${first} found)
  if(NOT found STREQUAL sha256)
    message(FATAL_ERROR "${folder}/package/${first} has SHA-256 ${found}, expected ${sha256}")
  endif()
  set(${out} ${folder}/package CACHE INTERNAL "")
endfunction()
