# What the library uses besides LLVM. Found here, once, so that the targets are visible in every directory.
find_package(Threads REQUIRED)
find_package(TBB REQUIRED)

# OpenBLAS in its serial build: large products are split over our own threads, and a second pool would fight them.
# Debian keeps the variants in directories of their own, and /etc/alternatives decides which one the plain name means,
# so the directory is named here and goes into the run path.
find_path(APSIS_OPENBLAS_INCLUDE cblas.h
          PATHS /usr/include/${CMAKE_CXX_LIBRARY_ARCHITECTURE}/openblas-serial
          PATH_SUFFIXES openblas-serial openblas NO_DEFAULT_PATH)
find_path(APSIS_OPENBLAS_INCLUDE cblas.h PATH_SUFFIXES openblas-serial openblas)
find_library(APSIS_OPENBLAS_LIBRARY openblas
             PATHS /usr/lib/${CMAKE_CXX_LIBRARY_ARCHITECTURE}/openblas-serial NO_DEFAULT_PATH)
find_library(APSIS_OPENBLAS_LIBRARY openblas)
if(NOT APSIS_OPENBLAS_INCLUDE OR NOT APSIS_OPENBLAS_LIBRARY)
  message(FATAL_ERROR "OpenBLAS was not found (package libopenblas-serial-dev)")
endif()

# OpenBLAS and KLU are opened when something of them is first called. Both are told by the names that a program linked with
# them would look for, and looked for in the directories they were found in.
function(apsis_outside_library name library)
  execute_process(COMMAND ${CMAKE_READELF} -d ${library} OUTPUT_VARIABLE dynamic ERROR_QUIET)
  if(NOT dynamic MATCHES "SONAME[^[]*\\[([^]]*)\\]")
    message(FATAL_ERROR "${library} is not a shared library, which ${name} has to be")
  endif()
  set(APSIS_${name}_FILE ${CMAKE_MATCH_1} PARENT_SCOPE)
  cmake_path(GET library PARENT_PATH directory)
  set(APSIS_${name}_DIRECTORY ${directory} PARENT_SCOPE)
endfunction()
apsis_outside_library(OPENBLAS ${APSIS_OPENBLAS_LIBRARY})

# KLU of SuiteSparse, for sparse LU. A build without it refuses linear::SparseLU, and does all else.
find_path(APSIS_KLU_INCLUDE klu.h PATH_SUFFIXES suitesparse)
find_library(APSIS_KLU_LIBRARY klu)
if(APSIS_KLU_INCLUDE AND APSIS_KLU_LIBRARY)
  apsis_outside_library(KLU ${APSIS_KLU_LIBRARY})
else()
  message(STATUS "KLU was not found (package libsuitesparse-dev): there will be no sparse LU")
endif()
