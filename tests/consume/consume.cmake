# Builds tests/consume/project the given WAY (find_package or add_subdirectory) with COMPILER, and runs it.
set(work ${BUILD}/consume/${NAME})
file(REMOVE_RECURSE ${work})

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

if(WAY STREQUAL "find_package")
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/stage)
  # An install must stand wherever it is moved to.
  file(RENAME ${work}/stage ${work}/moved)
  set(arguments -DCMAKE_PREFIX_PATH=${work}/moved)
else()
  # With the flags of the build itself, so that the compiler cache serves both.
  set(arguments -DAPSIS_SOURCE=${SOURCE} -DAPSIS_WERROR=ON -DCMAKE_CXX_COMPILER_LAUNCHER=${CCACHE})
endif()
run(${CMAKE_COMMAND} -S ${SOURCE}/tests/consume/project -B ${work}/build -G ${GENERATOR} -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_CXX_COMPILER=${COMPILER} -DEXAMPLES=${EXAMPLES} ${arguments})
run(${CMAKE_COMMAND} --build ${work}/build)
run(${work}/build/consumer)
