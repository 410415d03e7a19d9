# Says what a build is made of, each time it is built: cmake -D SOURCE=… -D TEMPLATE=… -D OUTPUT=… -P build_identity.cmake
#   the commit, with "+" where files differ from it, and a hash of all code and data that an answer rests on.
set(patterns)
foreach(folder sim strategies hw_profiles explore reports)
  foreach(ending cpp hpp json in)
    list(APPEND patterns ${SOURCE}/${folder}/*.${ending})
  endforeach()
endforeach()
file(GLOB_RECURSE files ${patterns})
list(SORT files)
set(hashes "")
foreach(file IN LISTS files)
  file(SHA256 ${file} hash)
  string(APPEND hashes ${hash})
endforeach()
string(SHA256 TWINSTEP_MODEL_HASH "${hashes}")
string(SUBSTRING ${TWINSTEP_MODEL_HASH} 0 12 TWINSTEP_MODEL_HASH)

set(TWINSTEP_COMMIT "")
find_program(git git)
if(git AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${git} -C ${SOURCE} rev-parse --short=12 HEAD OUTPUT_VARIABLE TWINSTEP_COMMIT
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${git} -C ${SOURCE} diff --quiet HEAD RESULT_VARIABLE differs ERROR_QUIET)
  if(TWINSTEP_COMMIT AND differs)
    string(APPEND TWINSTEP_COMMIT "+")
  endif()
endif()
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)  # writes only what changes
