# Runs PROGRAM; it must succeed, and print what stands in EXPECTED where that file exists.
execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
if(EXISTS ${EXPECTED})
  file(READ ${EXPECTED} expected)
  if(NOT output STREQUAL expected)
    message(FATAL_ERROR "the page shows\n${expected}\nbut the program prints\n${output}")
  endif()
endif()
